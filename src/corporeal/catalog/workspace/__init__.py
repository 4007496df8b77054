"""A workspace: made, opened, brought up to date, carried elsewhere, written as Parquet."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
