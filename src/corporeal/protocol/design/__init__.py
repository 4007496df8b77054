"""Collection as a designed experiment: which episodes to collect, in which order."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
