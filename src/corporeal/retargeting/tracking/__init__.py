"""A motion tried in physics: followed by a network, or with help at the base."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
