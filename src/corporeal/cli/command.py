"""What a command file ends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer


@dataclass(frozen=True)
class Command:
    """A function with typer's annotations, or a group of them."""

    run: Callable[..., Any] | typer.Typer
    panel: str = "Data"


def group(help_text: str) -> typer.Typer:
    """An empty group of subcommands."""
    return typer.Typer(help=help_text, no_args_is_help=True, rich_markup_mode="rich")
