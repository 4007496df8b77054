"""The Rerun library, which is large and optional."""

from __future__ import annotations

from typing import Any

from corporeal.errors import MissingExtraError


def rerun() -> Any:
    """The library; MissingExtraError says how to install it."""
    try:
        import rerun as library
        import rerun.blueprint
    except ImportError:
        raise MissingExtraError("rerun-sdk", "viz") from None
    return library
