"""Import, export, training views: episodes in and out of the formats that people use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
