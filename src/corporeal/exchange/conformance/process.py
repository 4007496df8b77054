"""Runs a script of `exchange/consumers` in a throw-away process of the Python that can run it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corporeal.errors import CorporealError
from corporeal.exchange.format import Consumer

SCRIPTS = Path(__file__).parent / "scripts"
ANSWER = "answer.json"
_TAIL_BYTES = 1 << 16
_SENTENCE = 300
# Its standard input is a pipe from us: when we are gone, however that came, it ends too.
_LAUNCHER = """
import os, runpy, signal, sys, threading

def end_with_the_asker():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_the_asker, daemon=True).start()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
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

    `what` is what the library was asked to do ("read OUT"), for the error when it could not.
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
