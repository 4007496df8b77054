"""How sure a camera's pixels are, and where: in figures and on one page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
