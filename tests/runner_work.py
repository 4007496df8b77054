"""Work for the tests of runners, in a file that a worker imports quickly."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from corporeal.errors import CorporealError, DocumentError, MissingExtraError, Problem


def square(_: None, item: int) -> int:
    return item * item


def place(pid: int, item: int) -> tuple[int, int]:
    """Where the worker was prepared, and where it works."""
    return pid, os.getpid()


def stubborn(_: None, item: int) -> int:
    if item % 3 == 1:
        raise DocumentError("rig.yaml", [Problem(2, "name", "is missing")])
    if item % 3 == 2:
        raise MissingExtraError("ray", "scale")
    return item


def stumble(_: None, item: int) -> int:
    if item == 3:
        raise ZeroDivisionError("by the item")
    return item


def die_once(marker: Path, _: None, item: int) -> int:
    if item == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def die_always(_: None, item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def unsendable(_: None, item: int) -> Callable[[], int]:
    return lambda: item


def refuse() -> None:
    raise CorporealError("the dataset is not there.")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dawdle(folder: Path, _: None, item: int) -> int:
    (folder / str(os.getpid())).touch()
    time.sleep(0.2)
    return item
