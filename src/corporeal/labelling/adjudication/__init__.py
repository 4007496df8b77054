"""Two people's work on one episode: what they differ in, and how a lead decides."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
