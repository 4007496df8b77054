"""Alerts as lines of JSON at the end of a file, which is turned over when it is full."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path

from corporeal.operations.alert import Alert, AlertError, ChannelKind, ChannelSettings, Send


def open_file(setting: ChannelSettings) -> Send:
    """`path` below the workspace; at most `max_bytes` in it and in each of `keep` older ones."""
    name = setting.text("path", "alerts.jsonl")
    root = setting.root.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or path == root:
        raise setting.wrong("path", "a file inside the workspace")
    max_bytes = int(setting.number("max_bytes", 1 << 20, lowest=1024, highest=1 << 40))
    keep = int(setting.number("keep", 3, lowest=0, highest=1000))

    def send(alerts: Sequence[Alert]) -> None:
        # Escaped: some readers also break lines at letters that are not in ASCII.
        lines = [json.dumps(each.to_json()) + "\n" for each in alerts]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for line in lines:
                _append(path, line.encode(), max_bytes, keep)
        except OSError as error:
            raise AlertError(
                f"{setting.where} {name} cannot be written ({error.strerror}). Check the folder."
            ) from None

    return send


def _append(path: Path, line: bytes, max_bytes: int, keep: int) -> None:
    """Add one line in one write, alone among the processes that do so."""
    while True:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Another process may have turned it over while this one waited.
            if not path.exists() or not os.path.samestat(os.fstat(handle), path.stat()):
                continue
            size = os.fstat(handle).st_size
            if size and size + len(line) > max_bytes:
                _turn_over(path, keep)
                continue
            os.write(handle, line)
            return
        finally:
            os.close(handle)


def _turn_over(path: Path, keep: int) -> None:
    """Move the file to `.1`, `.1` to `.2` and so on; the oldest goes."""
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, keep + 1))]
    names[-1].unlink(missing_ok=True)
    for newer, older in zip(reversed(names[:-1]), reversed(names[1:]), strict=True):
        if newer.exists():
            newer.replace(older)


CHANNEL = ChannelKind(open_file, options=("path", "max_bytes", "keep"))
