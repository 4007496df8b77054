"""`corporeal studio`: see a workspace in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.text import Text

from corporeal.catalog.workspace import open_workspace
from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, console, print_json
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.errors import CorporealError
from corporeal.studio.settings import StudioSettings


def studio(
    workspace: Annotated[Path | None, argument("The workspace, as -w names it.")] = None,
    root: WorkspaceOption = None,
    host: Annotated[str, option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("Port; 0 takes a free one.", min=0, max=65535)] = 8700,
    recorder: Annotated[
        list[str] | None,
        option("Show the health of the recorder at HOST:PORT; by default of all on this machine."),
    ] = None,
    name: Annotated[
        list[str] | None, option("A name that Studio may be opened by, such as that of a proxy.")
    ] = None,
    read_only: Annotated[bool, option("Nothing can be changed.")] = False,
    open_browser: Annotated[bool, option("Open it in the browser.", "--open")] = False,
    as_json: AsJson = False,
) -> None:
    """Look at every episode of a workspace, its streams and its verdicts, in the browser.

    Stays until Ctrl-C. It listens on this machine alone unless --host says otherwise; for others
    to reach it, the workspace needs accounts: corporeal account add.

    Example: [bold]corporeal studio -w demo --open[/bold]
    """
    import webbrowser

    from corporeal.studio.server import serve

    if workspace is not None and root is not None:
        raise CorporealError("a workspace beside -w; expected one of them. Name it once.")
    settings = StudioSettings(
        host=host,
        port=port,
        read_only=read_only,
        recorders=tuple(recorder or ()),
        names=tuple(name or ()),
    )

    with open_workspace(workspace or root) as opened:

        def ready(address: str) -> None:
            if as_json:
                print_json({"address": address, "workspace": str(opened.root)})
            else:
                console().print(Text.assemble("Studio: ", (address, "bold"), "  (Ctrl-C ends it)"))
            if open_browser:
                webbrowser.open(address)

        serve(opened, settings, on_ready=ready)


COMMAND = Command(studio, panel="Start")
