"""Small rigs and drivers made on the spot, so that no test needs a robot."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from corporeal.capture.driver import Driver, RecordingSource, Rig
from corporeal.capture.recorder import CardSource, Recorder, RecorderSettings
from corporeal.capture.rig import TeamDocuments
from corporeal.capture.trigger import Trigger
from corporeal.schema import Schema

# For what tests share with each other and with the benchmarks.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.capture.small_rig import STREAMS, Items, Options

# Files are synced to disk, which takes as long as it takes.
settings.register_profile("files", deadline=None)
settings.load_profile("files")


@pytest.fixture(scope="session")
def small_schema() -> Schema:
    """Two signals, a tiny camera, and words."""
    return Schema.model_validate(
        {"document": "schema", "name": "small", "version": "1.0.0", "streams": STREAMS}
    )


@pytest.fixture
def make_driver(small_schema: Schema) -> Callable[..., Driver]:
    """A driver of a function without arguments that yields samples and marks."""

    def make(read: Callable[[], Items], *, is_live: bool = False) -> Driver:
        rig = Rig(small_schema)
        return Driver(Options, lambda _: rig, lambda _: read(), is_live=is_live)

    return make


@pytest.fixture
def recorder(make_driver: Callable[..., Driver], tmp_path: Path) -> Callable[..., Recorder]:
    """A recorder of such a function, into `tmp_path / "out"`."""

    def make(
        read: Callable[[], Items],
        *,
        is_live: bool = False,
        trigger: Trigger | None = None,
        on_health: Any = None,
        team: TeamDocuments | None = None,
        cards: CardSource | None = None,
        **more: Any,
    ) -> Recorder:
        facts = {"session": "s"} if team is not None else {"task": "t", "session": "s"}
        chosen = RecorderSettings(tmp_path / "out", metadata=facts, **more)
        driver = make_driver(read, is_live=is_live)
        source = RecordingSource("rig", driver, Options())
        return Recorder([source], chosen, team=team, trigger=trigger, on_health=on_health,
                        cards=cards)  # fmt: skip

    return make


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    """Fails a test that leaves a thread of the recorder running."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        left = [one.name for one in set(threading.enumerate()) - before if "hung" not in one.name]
        if not left:
            return
        time.sleep(0.01)
    pytest.fail(f"threads left: {left}")
