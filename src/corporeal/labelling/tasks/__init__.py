"""Labels in the catalogue: tasks, every edit, agreement, and the labels that count."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
