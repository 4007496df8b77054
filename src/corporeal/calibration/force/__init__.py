"""A force and torque sensor from poses at rest, and whether those and the result are good."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
