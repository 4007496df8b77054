"""How far annotators agree: on one episode, and over all pairs of the catalogue."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
