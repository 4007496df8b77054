"""What the catalogue holds of episodes: put in, looked up, moved from state to state."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
