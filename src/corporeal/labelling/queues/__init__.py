"""Queues of label tasks: asked for, built, offered, and who takes what next."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
