"""Labels: what they mean, where their boundaries lie, who agrees, and what a machine proposes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
