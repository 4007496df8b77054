"""What has come into a folder, whether it is complete, and what was done with it before."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, Self

from corporeal.catalog.workspace import FILE
from corporeal.errors import CorporealError
from corporeal.exchange.format import formats
from corporeal.files import atomic_write

Condition = Literal["complete", "waiting", "refused"]
# Files that somebody is still writing, by how programs that write them call them.
_DRAFTS = (".partial", ".tmp", ".part", ".crdownload", ".journal", ".damaged", ".lock", ".active")
_NO_DATA = ("health.json", "thumbs.db", "desktop.ini")
# A file of these is whole by itself, whatever else is still to come into its folder.
_ALONE = (".h5", ".bag", ".mcap")
_DEEPEST = 6
_MOST_FILES = 200_000
_MOST_ATTEMPTS = 3
_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
          stat.S_IFBLK: "a device"}  # fmt: skip


@dataclass(frozen=True)
class FolderArrival:
    """One thing to take in: an episode, a bag or a dataset. `reason` says why it is not yet."""

    path: Path
    name: str
    condition: Condition
    fingerprint: str = ""
    reason: str = ""


@dataclass
class _Tree:
    """What the files of a path look like from outside, without opening one."""

    files: int = 0
    size: int = 0
    changed_ns: int = 0
    is_draft: bool = False
    trouble: str = ""
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def fingerprint(self) -> str:
        return f"{self.files}-{self.size}-{self.digest.hexdigest()[:24]}"


class FolderScan:
    """Looks at a folder again and again; what has not changed for `settle_s` is complete.

    Nothing is opened before it is settled, and never what is neither a file nor a folder.
    """

    def __init__(self, root: Path, settle_s: float) -> None:
        self.root = root.resolve()
        self._settle_s = settle_s
        self._seen: dict[str, tuple[str, float]] = {}
        self._formats: dict[tuple[str, str], str | None] = {}

    def arrivals(self) -> Iterator[FolderArrival]:
        """Everything that lies there now, in order of name."""
        yield from self._below(self.root, 0, is_settled=True)

    def _below(self, folder: Path, depth: int, *, is_settled: bool) -> Iterator[FolderArrival]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield self._refused(folder, f"cannot be read ({error.strerror})")
            return
        for entry in entries:
            path = Path(entry.path)
            if _is_passed_over(path):
                continue
            if entry.is_symlink():
                if not self._is_inside(path):
                    yield self._refused(path, "is a link out of the folder; expected the data")
            elif entry.is_dir():
                if (path / FILE).is_file():
                    continue  # A workspace: what is in it was taken already.
                yield from self._folder(path, depth + 1, is_settled=is_settled)
            elif not entry.is_file():
                kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
                what = _KINDS.get(kind, "no file")
                yield self._refused(path, f"is {what}; expected a file or a folder")
            elif is_settled or path.suffix.lower() in _ALONE:
                yield self._look(path)

    def _folder(self, path: Path, depth: int, *, is_settled: bool) -> Iterator[FolderArrival]:
        if depth > _DEEPEST:
            yield self._refused(path, f"lies more than {_DEEPEST} folders deep")
            return
        if is_rosbag(path) and not (path / "metadata.yaml").is_file():
            yield FolderArrival(path, self._name(path), "waiting",
                          reason="the bag has no metadata.yaml yet")  # fmt: skip
            return
        whole = self._look(path)
        if whole.condition == "complete":
            if is_rosbag(path) or self._format(path, whole.fingerprint) not in (None, "episodes"):
                yield whole
            else:
                yield from self._below(path, depth, is_settled=True)
        elif whole.condition == "refused" and self._format(path, whole.fingerprint) is not None:
            yield whole
        elif path.name != "corporeal" or is_settled:
            # More is still to come: only what is whole by itself can be taken.
            yield from self._below(path, depth, is_settled=False)

    def _look(self, path: Path) -> FolderArrival:
        tree = _Tree()
        self._walk(path, tree, 0)
        name, mark = self._name(path), tree.fingerprint
        if tree.trouble:
            return FolderArrival(path, name, "refused", mark, tree.trouble)
        if not tree.is_draft and self._is_settled(name, tree):
            return FolderArrival(path, name, "complete", mark)
        return FolderArrival(path, name, "waiting", mark, "it is still being written")

    def _is_settled(self, name: str, tree: _Tree) -> bool:
        mark, now_s = tree.fingerprint, time.monotonic()
        before = self._seen.get(name)
        if before is None or before[0] != mark:
            self._seen[name] = before = (mark, now_s)
        # The time of the last change counts as well, so that a first look can tell.
        age_s = time.time() - tree.changed_ns / 1e9
        return now_s - before[1] >= self._settle_s or age_s >= self._settle_s

    def _walk(self, path: Path, tree: _Tree, depth: int) -> None:
        try:
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            if kind == stat.S_IFDIR and depth <= _DEEPEST:
                for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
                    self._walk(Path(entry.path), tree, depth + 1)
                    if tree.files > _MOST_FILES:
                        tree.trouble = f"holds more than {_MOST_FILES:,} files"
                        return
                return
        except OSError as error:
            tree.trouble = f"cannot be read ({error.strerror})"
            return
        if kind == stat.S_IFLNK and not self._is_inside(path):
            tree.trouble = f"{path.name} in it is a link out of the folder; expected the data"
        elif kind in _KINDS:
            tree.trouble = f"{path.name} in it is {_KINDS[kind]}; expected files"
        tree.files += 1
        tree.size += status.st_size
        tree.is_draft |= depth > 0 and path.name.endswith(_DRAFTS)
        tree.changed_ns = max(tree.changed_ns, status.st_ctime_ns)
        tree.digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())

    def _format(self, path: Path, mark: str) -> str | None:
        key = (str(path), mark)
        if key not in self._formats:
            known = (
                name for name, each in formats().items() if each.read and each.recognises(path)
            )
            self._formats[key] = next(known, None)
        return self._formats[key]

    def _is_inside(self, path: Path) -> bool:
        try:
            return path.resolve(strict=True).is_relative_to(self.root)
        except (OSError, RuntimeError):
            return False

    def _refused(self, path: Path, reason: str) -> FolderArrival:
        return FolderArrival(path, self._name(path), "refused", "-", reason)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root))


def format_name(path: Path) -> str | None:
    """The format that a path is of; None for none, and for bags, which are recorded instead."""
    return next((name for name, each in formats().items() if each.read and each.recognises(path)),
                None)  # fmt: skip


def _is_passed_over(path: Path) -> bool:
    name = path.name.lower()
    return name.startswith(".") or name.endswith(_DRAFTS) or name in _NO_DATA


def is_rosbag(folder: Path) -> bool:
    """Whether the files are called as rosbag2 calls those of a bag, or it says it is one."""
    if (folder / "metadata.yaml").is_file():
        return True
    part = re.compile(rf"{re.escape(folder.name)}_\d+\.(mcap|db3)(\.zstd)?")
    with suppress(OSError), os.scandir(folder) as entries:
        return any(part.fullmatch(entry.name) for entry in entries)
    return False


class ArrivalLog:
    """What was done with every arrival, one line each, appended; it outlives a kill.

    `terms` are what a refusal depends on beside the data: under other terms it is tried again.
    """

    def __init__(self, path: Path, terms: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._terms = terms
        self._lock: IO[str] = path.with_suffix(".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise CorporealError(
                "this folder is being watched for this workspace already. End the other one first."
            ) from None
        self._entries = _read_lines(path)
        atomic_write(path, "".join(f"{json.dumps(entry)}\n" for entry in self._entries.values()))
        self._file = path.open("a", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.close()

    def is_done(self, arrival: FolderArrival) -> bool:
        """Whether it was taken as it is now, or refused under the same terms."""
        entry = self._entries.get(arrival.name)
        if entry is None or entry["fingerprint"] != arrival.fingerprint:
            return False
        if entry["status"] == "refused":
            return bool(entry.get("terms") == self._terms)
        return bool(entry["status"] == "taken")

    def was_taken(self, arrival: FolderArrival) -> bool:
        """Whether it was taken when it looked otherwise."""
        entry = self._entries.get(arrival.name)
        return entry is not None and entry["status"] == "taken"

    def begin(self, arrival: FolderArrival) -> bool:
        """Note an attempt; False when the ones before ended the whole program."""
        entry = self._entries.get(arrival.name)
        is_same = entry is not None and entry["fingerprint"] == arrival.fingerprint
        attempts = entry.get("attempts", 0) if entry is not None and is_same else 0
        if attempts >= _MOST_ATTEMPTS:
            return False
        self._write(arrival, "begun", attempts=attempts + 1)
        return True

    def withdraw(self, arrival: FolderArrival) -> None:
        """Somebody ended the program during an attempt, which therefore does not count."""
        attempts = self._entries[arrival.name].get("attempts", 1)
        self._write(arrival, "begun", attempts=attempts - 1)

    def end(
        self, arrival: FolderArrival, status: Literal["taken", "refused"], reason: str = ""
    ) -> None:
        """Note what became of it."""
        self._write(arrival, status, reason=reason, terms=self._terms)

    def _write(self, arrival: FolderArrival, status: str, **facts: Any) -> None:
        entry = {"name": arrival.name, "fingerprint": arrival.fingerprint, "status": status}
        self._entries[arrival.name] = entry | facts
        self._file.write(f"{json.dumps(entry | facts)}\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _read_lines(path: Path) -> dict[str, dict[str, Any]]:
    """The last line of every arrival; one that a kill has torn does not count."""
    entries: dict[str, dict[str, Any]] = {}
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    for line in text.splitlines():
        with suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and {"name", "fingerprint", "status"} <= entry.keys():
                entries[entry["name"]] = entry
    return entries
