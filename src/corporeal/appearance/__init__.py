"""What a robot looks like: the visual meshes of the description that people have."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
