"""The object store: files by the hash of their content; episodes read where they lie."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
