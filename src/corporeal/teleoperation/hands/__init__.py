"""A whole recording of hands: tracked, followed by a robot, kept as an episode."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
