"""What a robot is to follow of a person: the size of both, contacts, places and rotations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
