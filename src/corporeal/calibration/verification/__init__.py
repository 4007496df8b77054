"""Whether a station's calibration still holds: its markers seen now, and where they were."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
