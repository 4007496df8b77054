"""Operators at work: their training with its evidence, and what tiredness does to episodes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
