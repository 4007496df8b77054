"""Opens the workspace that a command works in, and says who is at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from corporeal.catalog.permission import Action, Actor
    from corporeal.catalog.workspace import Workspace

WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace", "-w", help="The workspace; by default the one here, or $CORPOREAL_WORKSPACE."
    ),
]


@contextmanager
def entered(root: Path | None, action: Action) -> Iterator[tuple[Workspace, Actor]]:
    """The workspace and who works in it; raises when they may not do this."""
    from corporeal.catalog.accounts import current_actor
    from corporeal.catalog.permission import require
    from corporeal.catalog.workspace import open_workspace

    with open_workspace(root) as workspace:
        with workspace.database.read() as connection:
            actor = current_actor(connection)
        require(actor, action)
        yield workspace, actor
