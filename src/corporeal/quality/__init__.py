"""Gates and scores: what is wrong with an episode or a batch, where, and what follows."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
