"""A whole station from recordings by one solve, and a simulated one whose truth is known."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
