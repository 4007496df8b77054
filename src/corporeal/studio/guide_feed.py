"""What a guided calibration shows to pages and is asked by them: a thread on one side, sockets on
the other. Nothing waits for a page: one that is slow sees the latest."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from corporeal.capture.thumbnail import framed, jpeg

GuideCommand = Literal["take", "skip", "undo", "finish"]
COMMANDS: tuple[GuideCommand, ...] = get_args(GuideCommand)
_PICTURE_WIDTH = 960
_MOST_WAITING = 32


@dataclass(frozen=True)
class GuideNews:
    """What is new since a version: how far the capture is, and what the camera sees now."""

    version: int
    progress_version: int
    progress: str | None
    sight: bytes | None


class GuideFeed:
    """Safe for many threads; made by who captures, and given to Studio."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = self._progress_version = 0
        self._progress = "{}"
        self._sight: bytes | None = None
        self._commands: list[GuideCommand] = []
        self._watchers = 0

    @property
    def is_watched(self) -> bool:
        """Whether a page looks."""
        return self._watchers > 0

    def publish(self, progress: Mapping[str, Any]) -> None:
        """Say how far the capture is."""
        text = json.dumps(progress, allow_nan=False)
        with self._changed:
            self._version += 1
            self._progress, self._progress_version = text, self._version
            self._changed.notify_all()

    def show(self, sight: Mapping[str, Any], picture: Any) -> None:
        """Show what the camera sees, and how it stands to what was asked for."""
        message = framed(dict(sight), jpeg(picture, width=_PICTURE_WIDTH))
        with self._changed:
            self._version += 1
            self._sight = message
            self._changed.notify_all()

    def wait(self, version: int, progress_version: int, timeout_s: float) -> GuideNews | None:
        """What is newer than these; None where nothing came in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._version > version, timeout_s):
                return None
            is_new = self._progress_version > progress_version
            return GuideNews(self._version, self._progress_version,
                             self._progress if is_new else None, self._sight)  # fmt: skip

    def watch(self, *, begins: bool) -> None:
        """A page begins, or ends, to look."""
        with self._changed:
            self._watchers += 1 if begins else -1

    def ask(self, command: GuideCommand) -> None:
        """What somebody pressed."""
        with self._changed:
            if len(self._commands) < _MOST_WAITING:
                self._commands.append(command)

    def take_commands(self) -> list[GuideCommand]:
        """What was pressed since the last time."""
        with self._changed:
            commands, self._commands = self._commands, []
            return commands
