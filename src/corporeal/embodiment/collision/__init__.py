"""Distances between a robot's own links, and how far its shapes reach."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
