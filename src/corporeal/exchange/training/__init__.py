"""Rows for training programs, without any conversion, and a few steps of training as a test."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
