"""An episode as stages see it, whatever it was read from, and what became of its source."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
