"""Queues of label tasks: asked for, made in the background, listed for leads and annotators."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
