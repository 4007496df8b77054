"""Linear algebra in one thread: for small matrices a second one costs more than it does."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """While the block runs, BLAS works in the thread that calls it; other cores stay free."""
    found: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return found


@cache
def _controller() -> ThreadpoolController:
    """What knows the libraries that are loaded; looking for them takes milliseconds."""
    return ThreadpoolController()
