"""The people who demonstrate: operators, certificates, the practice partition, and privacy."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
