"""One place that knows every episode: index, ingest, query, accounts, audit, object store."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
