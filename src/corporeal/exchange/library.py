"""Asks the library that people read a format with what it finds in a dataset."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from corporeal.errors import CorporealError
from corporeal.exchange.format import Consumer
from corporeal.exchange.json_text import read_json
from corporeal.schema.document import first_problem

SCRIPTS = Path(__file__).parent / "conformance"
ANSWER = "answer.json"
_TAIL_BYTES = 1 << 16
_SENTENCE = 300
# Its standard input is a pipe from us: when we are gone, however that came, it ends too.
_LAUNCHER = """
import json, os, pathlib, runpy, signal, sys, threading

def end_with_the_asker():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_the_asker, daemon=True).start()
script, request, folder = map(pathlib.Path, sys.argv[1:])
answer, samples = runpy.run_path(script)["main"](json.loads(request.read_text("utf-8")))
if samples:
    import numpy
    numpy.savez(folder / "samples.npz", **samples)
(folder / "answer.json").write_text(json.dumps(answer), "utf-8")
"""
# A library that is asked for its version answers from its metadata, without being imported.
_VERSION = "import sys, importlib.metadata as m; sys.stdout.write(m.version(sys.argv[1]))"


def variable_of(consumer: Consumer) -> str:
    """The environment variable that names the Python which has the library."""
    return f"CORPOREAL_{consumer.module.replace('.', '_').upper()}_PYTHON"


def find_python(consumer: Consumer, *, python: str | None = None) -> str | None:
    """The interpreter that has the library; None when nobody has it.

    The one given, else the one that $CORPOREAL_<MODULE>_PYTHON names, else this one if it has it.
    """
    named = python or os.environ.get(variable_of(consumer))
    if named:
        return named
    top = consumer.module.partition(".")[0]
    return sys.executable if importlib.util.find_spec(top) is not None else None


@contextmanager
def run_script(
    consumer: Consumer, request: Mapping[str, Any], *, python: str, timeout_s: float, what: str
) -> Iterator[Path]:
    """Run the script and give the folder with its answer, which is gone afterwards.

    Its `main(request)` returns the answer and the samples, arrays by "n|label". `what` is what
    the library was asked to do ("read OUT"), for the error when it could not.
    """
    python = _runnable(python)
    with tempfile.TemporaryDirectory(prefix="corporeal-") as scratch:
        folder = Path(scratch) / "answer"
        folder.mkdir()
        asked = Path(scratch) / "request.json"
        asked.write_text(json.dumps(request), "utf-8")
        script = SCRIPTS / (consumer.script.removesuffix(".py") + ".py")
        # Isolated: neither the folder of the script nor a caller's PYTHONPATH may stand in for
        # the library. The scripts are named like the libraries that they import.
        isolated = [python, "-I", "-X", "utf8", "-c", _LAUNCHER]
        command = [*isolated, str(script), str(asked), str(folder)]
        code, text = _run(command, Path(scratch), timeout_s)
        if code is None:
            raise CorporealError(
                f"{_named(consumer, python)} could not {what} within {timeout_s:g} s. "
                "Ask it for less, or give it more time."
            )
        if code or not (folder / ANSWER).is_file():
            reason = _last_line(text) or f"its process ended with {code} and no answer"
            raise CorporealError(f"{_named(consumer, python)} cannot {what}: {reason}")
        yield folder


def _runnable(python: str) -> str:
    """The absolute path of an interpreter; links are kept, for an environment is told by one."""
    found = shutil.which(python)
    if found is None:
        raise CorporealError(
            f"the Python {python!r} cannot be run; expected a program. Name the Python of an "
            "environment that has the library."
        )
    return os.path.abspath(found)  # noqa: PTH100 (Path.resolve would follow the link)


def _run(command: list[str], scratch: Path, timeout_s: float) -> tuple[int | None, str]:
    """The exit code (None when the time was over) and the end of what the process said."""
    output = scratch / "output"
    # Threads that wait by spinning starve each other on a busy machine: five times the work.
    environment = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, "TMPDIR": str(scratch)}
    # Nothing is asked of a hub, nor left in anybody's home.
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(scratch / "huggingface")}
    environment.pop("PYTHONPATH", None)
    with output.open("wb") as sink:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=sink, stderr=subprocess.STDOUT,
                cwd=scratch, env=environment, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise CorporealError(
                f"the Python {command[0]!r} cannot be run: {error.strerror}. Name another one."
            ) from None
        try:
            code: int | None = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - _TAIL_BYTES))
        return code, stream.read().decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing that the script started outlives the question."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _last_line(text: str) -> str:
    """The error of the last traceback, also when warnings came after it: one short sentence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [number for number, line in enumerate(lines) if _is_error(line)]
    line = lines[errors[-1]] if errors else "".join(lines[-1:])
    if errors and line.endswith(":"):
        line = " ".join(lines[errors[-1] : errors[-1] + 2])
    text = "".join(char if char.isprintable() else " " for char in line)
    return text if len(text) <= _SENTENCE else f"{text[:_SENTENCE]}..."


def _is_error(line: str) -> bool:
    name = line.partition(":")[0]
    return name.replace(".", "").isidentifier() and name.endswith(("Error", "Exception", "Exit"))


def _named(consumer: Consumer, python: str) -> str:
    asked = [python, "-I", "-c", _VERSION, consumer.module]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return consumer.module
    version = done.stdout.strip() if done.returncode == 0 else ""
    return f"{consumer.module} {version[:40]}".strip()


MAX_ROWS = 1024
MAX_BYTES = 1 << 31
_MAX_EPISODES = 10_000_000
_MAX_TEXT = 10_000
_HEADER_BYTES = 1 << 12


class UnsuitedError(CorporealError):
    """The release of the library that is there is not one for this format."""


Text = Annotated[str, Field(max_length=_MAX_TEXT)]
Figures = Annotated[NDArray[np.float64], PlainValidator(lambda each: np.asarray(each, np.float64))]


class LibraryEpisode(BaseModel):
    """An episode as a library counts it; `instructions` is None when the library has none."""

    length: int = Field(ge=0)
    instructions: list[Text] | None = None


class LibraryAnswer(BaseModel):
    """What a library found: its episodes, its statistics, and the rows that were asked for.

    `samples[n, label]` is the column or picture of the n-th row, where the library has one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: Text
    version: Text
    episodes: list[LibraryEpisode] = Field(max_length=_MAX_EPISODES)
    statistics: dict[str, dict[str, Figures]] = Field(default_factory=dict)
    samples: dict[tuple[int, str], Any] = Field(default_factory=dict)


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
        answer = read_json(folder / ANSWER)
        if isinstance(answer, dict) and "unsuited" in answer:
            reason = str(answer["unsuited"])[:_MAX_TEXT]
            raise UnsuitedError(f"{path}: {reason}. Use another one: {consumer.install}.")
        names = {
            f"{n}|{label}": (n, label) for n in range(len(rows)) for label in (*keys, *cameras)
        }
        samples = _samples(folder / "samples.npz", names, frozenset(cameras))
    try:
        return LibraryAnswer.model_validate(answer).model_copy(update={"samples": samples})
    except ValidationError as error:
        raise _nonsense(first_problem(error), "what a library answers") from None


def _nonsense(got: str, expected: str) -> CorporealError:
    return CorporealError(
        f"a consumer's script answered nonsense: {got}; expected {expected}. Mend the script."
    )


def _samples(
    path: Path, names: Mapping[str, tuple[int, str]], cameras: frozenset[str]
) -> dict[tuple[int, str], NDArray[Any]]:
    """The arrays of an .npz file, each checked before memory is taken for it."""
    if not path.exists():
        return {}
    samples: dict[tuple[int, str], NDArray[Any]] = {}
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
                is_picture = array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 3
                if names[name][1] in cameras and not is_picture:
                    raise _nonsense(
                        f"picture {name!r} of {array.dtype} and shape {array.shape}",
                        "(height, width, 3) of uint8",
                    )
                samples[names[name]] = array
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, ValueError,
            NotImplementedError, RuntimeError) as error:  # fmt: skip
        raise _nonsense(f"samples.npz cannot be read ({error})", "arrays") from None
    return samples


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
