"""Campaigns: a protocol with its plan of episodes, handed out card by card, and how far it is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
