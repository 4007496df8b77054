"""Asks the library that people read a format with what it finds in a dataset."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.exchange.conformance.process import ANSWER, find_python, run_script
from corporeal.exchange.format import Consumer
from corporeal.exchange.json_text import read_json, whole

__all__ = ["MAX_BYTES", "MAX_ROWS", "LibraryAnswer", "UnsuitedError", "ask", "find_python"]

MAX_ROWS = 1024
MAX_BYTES = 1 << 31
_MAX_EPISODES = 10_000_000
_MAX_TEXT = 10_000
_HEADER_BYTES = 1 << 12


class UnsuitedError(CorporealError):
    """The release of the library that is there is not one for this format."""


@dataclass(frozen=True, eq=False)
class LibraryAnswer:
    """What a library found: its episodes, its statistics, and the rows that were asked for.

    An episode has `length` and `instructions` (texts, or None when the library has none).
    `samples[n, label]` is the column or picture of the n-th row, where the library has one.
    """

    library: str
    version: str
    episodes: tuple[Mapping[str, Any], ...]
    statistics: Mapping[str, Mapping[str, NDArray[np.float64]]]
    samples: Mapping[tuple[int, str], NDArray[Any]]
    python: str


def ask(
    consumer: Consumer,
    path: Path,
    rows: Sequence[tuple[int, int]],
    keys: Sequence[str],
    cameras: Sequence[str],
    *,
    python: str,
    timeout_s: float = 600,
) -> LibraryAnswer:
    """Let the library read the dataset in a process of its own and hand over some rows.

    `rows` are (episode, row); `keys` and `cameras` are the labels by which the library knows the
    columns. Raises CorporealError when the library cannot read it, or answers nonsense, and
    UnsuitedError when it is a release that is not made for it (`unsuited` in the answer says why).
    """
    if len(rows) > MAX_ROWS:
        raise CorporealError(
            f"{len(rows)} rows asked of {consumer.module}; expected at most {MAX_ROWS}. "
            "Ask for fewer."
        )
    request = {
        "path": str(path.resolve()),
        "rows": [[int(episode), int(row)] for episode, row in rows],
        "keys": list(keys),
        "cameras": list(cameras),
    }
    with run_script(
        consumer, request, python=python, timeout_s=timeout_s, what=f"read {path}"
    ) as folder:
        answer = _object(read_json(folder / ANSWER), "an answer")
        if "unsuited" in answer:
            reason = _text(answer["unsuited"], "unsuited")
            raise UnsuitedError(f"{path}: {reason}. Use another one: {consumer.install}.")
        names = {
            f"{n}|{label}": (n, label) for n in range(len(rows)) for label in (*keys, *cameras)
        }
        samples = _samples(folder / "samples.npz", names, frozenset(cameras))
    return LibraryAnswer(
        library=_text(answer.get("library"), "library"),
        version=_text(answer.get("version"), "version"),
        episodes=tuple(_episodes(answer.get("episodes"))),
        statistics=_statistics(answer.get("statistics") or {}),
        samples=samples,
        python=python,
    )


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _nonsense(f"{what} is {type(value).__name__}", "an object")
    return value


def _nonsense(got: str, expected: str) -> CorporealError:
    return CorporealError(
        f"a consumer's script answered nonsense: {got}; expected {expected}. Mend the script."
    )


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise _nonsense(f"{what} is {type(value).__name__}", f"a text of at most {_MAX_TEXT}")
    return value


def _episodes(listed: Any) -> list[dict[str, Any]]:
    if not isinstance(listed, list) or len(listed) > _MAX_EPISODES:
        raise _nonsense(f"episodes is {type(listed).__name__}", "a list of them")
    found = []
    for number, entry in enumerate(listed):
        episode = _object(entry, f"episode {number}")
        length, texts = whole(episode.get("length")), episode.get("instructions")
        if length < 0:
            raise _nonsense(f"episode {number} has length {episode.get('length')!r}", "a count")
        if texts is not None and not isinstance(texts, list):
            raise _nonsense(f"episode {number} has instructions {texts!r}", "a list of texts")
        instructions = None if texts is None else [_text(text, "an instruction") for text in texts]
        found.append({"length": length, "instructions": instructions})
    return found


def _statistics(stated: Any) -> dict[str, dict[str, NDArray[np.float64]]]:
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for label, figures in _object(stated, "statistics").items():
        found[label] = {}
        for name, values in _object(figures, f"the statistics of {label}").items():
            try:
                found[label][name] = np.asarray(values, np.float64)
            except (TypeError, ValueError):
                raise _nonsense(f"{name} of {label} is not numbers", "an array") from None
    return found


def _samples(
    path: Path, names: Mapping[str, tuple[int, str]], cameras: frozenset[str]
) -> dict[tuple[int, str], NDArray[Any]]:
    """The arrays of an .npz file, each checked before memory is taken for it."""
    if not path.exists():
        return {}
    found: dict[tuple[int, str], NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > MAX_BYTES or len(members) > len(names):
                raise _nonsense(
                    f"{len(members)} arrays of {size} bytes",
                    f"at most {len(names)} of {MAX_BYTES} bytes together",
                )
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name not in names:
                    raise _nonsense(f"an array {name!r}", "one for each row and label")
                with archive.open(member) as stream:
                    array = _array(stream, name, member.file_size)
                if names[name][1] in cameras:
                    _check_picture(array, name)
                found[names[name]] = array
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, ValueError,
            NotImplementedError, RuntimeError) as error:  # fmt: skip
        raise _nonsense(f"samples.npz cannot be read ({error})", "arrays") from None
    return found


def _array(stream: IO[bytes], name: str, size: int) -> NDArray[Any]:
    version = np.lib.format.read_magic(stream)
    read_header = (np.lib.format.read_array_header_1_0 if version == (1, 0)
                   else np.lib.format.read_array_header_2_0)  # fmt: skip
    shape, columns_first, dtype = read_header(stream, _HEADER_BYTES)
    bytes_wanted = math.prod(shape) * dtype.itemsize
    if dtype.kind not in "biuf" or bytes_wanted > size:
        raise _nonsense(f"array {name!r} of {dtype} and shape {shape}", "numbers that are there")
    data = stream.read(bytes_wanted)
    if len(data) < bytes_wanted:
        raise _nonsense(f"array {name!r} ends after {len(data)} bytes", f"{bytes_wanted}")
    values = np.frombuffer(data, dtype)
    return values.reshape(shape, order="F" if columns_first else "C")


def _check_picture(array: NDArray[Any], name: str) -> None:
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3:
        raise _nonsense(f"picture {name!r} of {array.dtype} and shape {array.shape}",
                        "(height, width, 3) of uint8")  # fmt: skip
