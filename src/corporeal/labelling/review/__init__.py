"""Work that is handed in, accepted or given back; what was said of it and happened to it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
