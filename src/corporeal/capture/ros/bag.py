"""Bags of robot messages: ROS 1 files, MCAP files, sqlite files and the folders of ROS 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from corporeal.capture.driver import DriverError
from corporeal.capture.ros.bag_record import BagRecord
from corporeal.capture.ros.mcap_file import read_mcap
from corporeal.capture.ros.ros1_file import read_ros1
from corporeal.capture.ros.sqlite_file import read_sqlite
from corporeal.capture.ros.unpacking import UnpackingError, unpack
from corporeal.errors import DocumentError
from corporeal.files import refuse_pointer
from corporeal.schema.markup import read_markup

_MOST_FILES = 10_000
_LONGEST_NAME = 255
_ZSTD = b"\x28\xb5\x2f\xfd"
SUFFIXES = (".bag", ".mcap", ".db3")


@dataclass(frozen=True)
class Bag:
    """The files of a bag in order, and what was found wrong before any message was read."""

    path: Path
    parts: tuple[Path, ...]
    problems: tuple[str, ...] = ()
    stated_count: int | None = None


def is_bag(path: Path) -> bool:
    """True for a file with a bag's ending and for a folder that holds such files."""
    if path.is_dir():
        return any(entry.suffix in SUFFIXES for entry in path.iterdir())
    return path.suffix in SUFFIXES


def open_bag(path: Path | str) -> Bag:
    """Look at a bag without reading its messages; DriverError when it is none."""
    path = Path(path)
    if path.is_dir():
        return _open_folder(path)
    if not path.is_file():
        raise DriverError(f"bag, got {str(path)!r}; expected a file or folder. Check the path.")
    if path.suffix not in SUFFIXES:
        raise DriverError(
            f"bag, got {path.name!r}; expected a name ending in {', '.join(SUFFIXES)}, "
            "or the folder of a ROS 2 bag. Check the path."
        )
    return Bag(path, (path,))


def _open_folder(path: Path) -> Bag:
    found = sorted(entry for entry in path.iterdir() if entry.suffix in (".mcap", ".db3"))
    stated = _metadata(path / "metadata.yaml")
    if stated is None:
        if not found:
            raise DriverError(
                f"bag, got the folder {str(path)!r}; expected files ending in .mcap or .db3. "
                "Give the folder that ros2 bag record made."
            )
        return Bag(path, tuple(found), ("The bag has no metadata.yaml: its files are read by "
                                        "name, and missing ones cannot be noticed.",))  # fmt: skip
    names = _stated_names(path / "metadata.yaml", stated)
    parts = [path / name for name in names if (path / name).is_file()]
    if not parts:
        raise DriverError(
            f"bag, got {str(path)!r}, of whose {len(names)} files none is here; expected at least "
            "one. Copy them beside metadata.yaml."
        )
    problems = _missing(names, parts, stated)
    extra = [entry.name for entry in found if entry.name not in names]
    if extra:
        problems.append(f"Files that metadata.yaml does not name are not read: {', '.join(extra)}.")
    if str(stated.get("compression_mode", "")).lower() == "file":
        raise DriverError(
            f"bag, got {str(path)!r}, whose files are compressed as a whole; expected plain ones. "
            "Unpack them with: zstd -d."
        )
    count = stated.get("message_count")
    return Bag(path, tuple(parts), tuple(problems), count if isinstance(count, int) else None)


def _metadata(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        content = read_markup(path).values
    except DocumentError as error:
        raise DriverError(f"{error} Remove it to read by name.") from None
    stated = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(stated, dict):
        raise DriverError(f"{path}: got no rosbag2_bagfile_information. Remove it to read by name.")
    return stated


def _stated_names(path: Path, stated: dict[str, Any]) -> list[str]:
    """The files of a bag by name, without their folders."""
    listed = stated.get("relative_file_paths") or []
    if not isinstance(listed, list) or len(listed) > _MOST_FILES:
        raise DriverError(
            f"{path}: relative_file_paths, got {type(listed).__name__}; expected a list of at most "
            f"{_MOST_FILES} names. Remove the file to read by name."
        )
    for name in listed:
        # Some versions of rosbag2 put whole paths there, of which only the end counts.
        if not isinstance(name, str) or len(name.rpartition("/")[2]) > _LONGEST_NAME:
            raise DriverError(
                f"{path}: relative_file_paths, got {str(name)[:40]!r}; expected names of files of "
                f"at most {_LONGEST_NAME} letters. Remove the file to read by name."
            )
    return [PurePosixPath(name).name for name in listed]


def _missing(names: list[str], parts: list[Path], stated: dict[str, Any]) -> list[str]:
    here = {part.name for part in parts}
    absent = [name for name in names if name not in here]
    if not absent:
        return []
    listed = stated.get("files")
    counts = {
        PurePosixPath(entry["path"]).name: entry.get("message_count")
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("path"), str)
    }
    known = [counts.get(name) for name in absent]
    sizes = [count for count in known if isinstance(count, int)]
    held = f" with {sum(sizes)} messages" if len(sizes) == len(absent) else ""
    listed = absent[0] if len(absent) == 1 else f"{absent[0]} to {absent[-1]}"
    return [
        f"{len(absent)} of {len(names)} files that metadata.yaml names are missing{held}: {listed}."
    ]


def records(bag: Bag, problems: list[str]) -> Iterator[BagRecord]:
    """Every message in the order of its file; what is found wrong on the way joins `problems`.

    A body that is itself packed with zstd, which only metadata.yaml would say, is unpacked.
    """
    packed: Counter[str] = Counter()
    count = 0
    readers = {".bag": read_ros1, ".mcap": read_mcap, ".db3": read_sqlite}
    for part in bag.parts:
        refuse_pointer(part)
        for record in readers[part.suffix](part, problems):
            count += 1
            # No CDR message starts so: its first byte is 0.
            if record.channel.encoding == "cdr" and record.data[:4] == _ZSTD:
                packed[record.channel.topic] += 1
                record = _unpack(record)
            yield record
    for topic, number in sorted(packed.items()):
        problems.append(
            f"Topic {topic}: {number} message bodies are packed with zstd, which the file itself "
            "does not say; they were unpacked."
        )
    if bag.stated_count is not None and bag.stated_count != count:
        problems.append(f"metadata.yaml states {bag.stated_count} messages; {count} were read.")


def _unpack(record: BagRecord) -> BagRecord:
    try:
        return BagRecord(record.channel, record.log_ns, unpack(record.data, "zstd"))
    except UnpackingError:
        # Handed on as it is: its topic then counts it among those it cannot read.
        return record
