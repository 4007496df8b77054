"""Human motion becomes the motion of a robot: clips as files, or live."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
