"""Where cameras sit on a robot or beside it: pairs, one solve, and what is wrong in them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
