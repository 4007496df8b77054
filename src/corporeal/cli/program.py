"""The program `corporeal`: finds its commands, runs one, turns errors into one line and a code."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Annotated

import typer

from corporeal import __version__
from corporeal.cli.command import LazyGroup, option
from corporeal.errors import CorporealError
from corporeal.trust import asking
from corporeal.words import show_plainly

MISUSE = 2
INTERRUPTED = 130


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"corporeal {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    _wants_version: Annotated[
        bool, option("Print the version.", "--version", callback=_version, is_eager=True)
    ] = False,
    trust: Annotated[
        bool, option("Trust the hosts that the workspace names, from now on.", "--trust")
    ] = False,
) -> None:
    """Demonstrations of humanoid robots in, training datasets people can trust out."""
    context.with_resource(asking(partial(_trusts, trust)))


def _trusts(is_said: bool, hosts: tuple[str, ...], where: str) -> bool:
    """Whether the user trusts hosts: said on the command line, or asked where one can answer."""
    if is_said or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return is_said
    words = f"{where} would connect you to {', '.join(hosts)}. Do you trust this?"
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


def main() -> None:
    """Run; exit 0 for good, 1 when the data is not, 2 for misuse or unreadable input."""
    # Our matrices are small: threads of BLAS that wait for each other double the work of `check`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        program()()
    except CorporealError as error:
        sys.stderr.write(f"corporeal: {show_plainly(str(error))}\n")
        sys.exit(MISUSE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has left (head, less); nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
