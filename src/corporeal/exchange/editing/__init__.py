"""A dataset made of others: merged, split, with other names or the joints of a robot."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
