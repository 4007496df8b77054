"""Where output goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to standard output, alone.")]


def console() -> Console:
    """For results that people read. A pipe gets room enough not to cut names short."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def stderr() -> Console:
    """For progress and messages."""
    return Console(stderr=True, highlight=False)


def print_json(values: Any) -> None:
    """The result as JSON, alone on standard output."""
    sys.stdout.write(json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
