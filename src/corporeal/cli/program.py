"""The program `corporeal`: finds its commands, runs one, turns errors into one line and a code."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from functools import partial
from typing import Annotated, Any, NoReturn

import typer

from corporeal import __version__
from corporeal.cli import completion
from corporeal.cli.command import LazyGroup, option
from corporeal.errors import CorporealError, MissingExtraError
from corporeal.trust import asking
from corporeal.words import show_plainly

MISUSE = 2
FAULT = 70
INTERRUPTED = 130
_LONGEST = 300
EXTRAS = {
    "anyio": ("anyio", "server"),
    "botocore": ("botocore", "server"),
    "coal": ("coal", "robot"),
    "cv2": ("opencv-contrib-python-headless", "vision"),
    "cyclonedds": ("cyclonedds", "live"),
    "daqp": ("daqp", "robot"),
    "fastapi": ("fastapi", "server"),
    "h11": ("h11", "server"),
    "huggingface_hub": ("huggingface_hub", "hub"),
    "itsdangerous": ("itsdangerous", "server"),
    "mlflow": ("mlflow", "track"),
    "mujoco": ("mujoco", "robot"),
    "obstore": ("obstore", "server"),
    "onnxruntime": ("onnxruntime", "vision"),
    "OpenGL": ("pyopengl", "robot"),
    "ortools": ("ortools", "plan"),
    "pinocchio": ("pin", "robot"),
    "psycopg": ("psycopg[binary]", "server"),
    "pyrealsense2": ("pyrealsense2", "realsense"),
    "ray": ("ray", "scale"),
    "requests": ("requests", "track"),
    "rerun": ("rerun-sdk", "viz"),
    "segno": ("segno", "server"),
    "starlette": ("starlette", "server"),
    "torch": ("torch", "train"),
    "uvicorn": ("uvicorn", "server"),
    "websockets": ("websockets", "live"),
}
"""The package of every module that the core does without, and the extra that brings it."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"corporeal {__version__}")
        raise typer.Exit


def _read_commands() -> Any:
    return typer.main.get_command(program())


def _show_completion(shell: str | None) -> None:
    if shell:
        typer.echo(completion.shell_script(shell), nl=False)
        raise typer.Exit


def _install_completion(shell: str | None) -> None:
    if shell:
        file = completion.install(shell, _read_commands)
        typer.echo(f"Tab completes corporeal in every new {shell}, as {file} says now")
        raise typer.Exit


def _root(
    context: typer.Context,
    _wants_version: Annotated[
        bool, option("Print the version.", "--version", callback=_version, is_eager=True)
    ] = False,
    trust: Annotated[
        bool, option("Trust the hosts that the workspace names, from now on.", "--trust")
    ] = False,
    _install: Annotated[
        str | None,
        option("Let Tab complete: bash, zsh or fish.", "--install-completion",
               callback=_install_completion, is_eager=True, metavar="SHELL"),
    ] = None,
    _show: Annotated[
        str | None,
        option("Print what that shell is to run for it.", "--show-completion",
               callback=_show_completion, is_eager=True, metavar="SHELL"),
    ] = None,
) -> None:  # fmt: skip
    """Demonstrations of humanoid robots in, training datasets people can trust out."""
    context.with_resource(asking(partial(_trusts, trust)))


def _trusts(is_said: bool, hosts: tuple[str, ...], where: str) -> bool:
    """Whether the user trusts hosts: said on the command line, or asked where one can answer."""
    if is_said or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return is_said
    words = f"{where} would have you use {', '.join(hosts)}. Do you trust this?"
    return typer.confirm(show_plainly(words), err=True)


def program() -> typer.Typer:
    """The whole command tree: every file in `cli/commands` is a command."""
    app = typer.Typer(
        cls=LazyGroup,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    return app


def _complain(error: CorporealError) -> NoReturn:
    sys.stderr.write(f"corporeal: {show_plainly(str(error))}\n")
    sys.exit(MISUSE)


def main() -> None:
    """Run; exit 0 for good, 1 when the data is not, 2 for misuse or bad input, 70 for a bug."""
    # Our matrices are small: threads of BLAS that wait for each other double the work of `check`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if completion.VARIABLE in os.environ:
        sys.stdout.write(completion.answer(sys.argv[1:], _read_commands))
        return
    try:
        program()()
    except CorporealError as error:
        _complain(error)
    except ModuleNotFoundError as error:
        top = str(error.name).partition(".")[0]
        if top not in EXTRAS:
            _report_fault(error)
        _complain(MissingExtraError(*EXTRAS[top]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has left (head, less); nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:  # Whatever it is: people get a line, and we get what it takes.
        _report_fault(error)


def _report_fault(error: Exception) -> NoReturn:
    what = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
    sys.stderr.write(
        f"corporeal: this is a fault of ours: {show_plainly(what)}. {_write_fault(error)}\n"
    )
    sys.exit(FAULT)


def _write_fault(error: Exception) -> str:
    """Where the details are, in a sentence; they name options and not what they were given."""
    options = [word.partition("=")[0] for word in sys.argv[2:] if word.startswith("-")]
    head = f"corporeal {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n"
    head += f"corporeal {' '.join([*sys.argv[1:2], *options])}\n\n"
    try:
        handle, name = tempfile.mkstemp(prefix="corporeal-fault-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(head + "".join(traceback.format_exception(error)))
    except OSError as failed:
        return f"The details could not be written: {failed.strerror or failed}."
    return f"Details for a report are in {name}."
