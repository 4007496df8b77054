"""An episode file as a whole: in numbers, on one page, and whether its bytes are what they were."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
