"""A simulated floor: people, stations and their faults, at work in a real workspace."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
