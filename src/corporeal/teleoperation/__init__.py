"""Operator input to safe commands of a robot: clutch, kinematics, safety filter, states."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
