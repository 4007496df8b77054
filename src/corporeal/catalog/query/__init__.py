"""The query language: `task = pick_place and score > 0.8`, read, spelled out, and asked as SQL."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
