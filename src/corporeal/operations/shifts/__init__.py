"""Shifts of a floor: who works when, where and on what, within rules that protect people."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
