"""Options that a command takes as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from corporeal.cli.command import spread_options


@dataclass(frozen=True)
class Choices:
    """Two options, one of them needed."""

    size: Annotated[int, typer.Option("--size", "-s", min=1)]
    name: str = "wave"


def test_the_fields_of_a_value_are_options_and_come_back_as_one() -> None:
    received: list[tuple[Choices, bool]] = []

    @spread_options
    def measure(choices: Choices, loud: bool = False) -> None:
        """Measure."""
        received.append((choices, loud))

    app = typer.Typer(add_completion=False)
    app.command()(measure)
    assert CliRunner().invoke(app, ["-s", "3", "--loud"]).exit_code == 0
    assert received == [(Choices(3), True)]
    assert CliRunner().invoke(app, []).exit_code == 2
    assert CliRunner().invoke(app, ["-s", "0"]).exit_code == 2
