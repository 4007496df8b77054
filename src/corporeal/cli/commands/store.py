"""`corporeal store`: is every object of a workspace still what was put in?"""

from __future__ import annotations

from typing import Annotated

import typer

from corporeal.cli.command import Command, group, option
from corporeal.cli.output import AsJson, console, emphasise, print_json, show_progress
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.release.lineage import StoreReport, check_store

app = group("Look after the object store of a workspace.")
_MOST = 20
_INTERRUPTED = 130


# One command alone would take the name of the group.
@app.callback()
def _group() -> None:
    """Look after the object store of a workspace."""


@app.command("verify")
def verify(
    root: WorkspaceOption = None,
    start: Annotated[
        str | None,
        option("Go on from this object (sha256:...), as an interrupted run says.", "--from"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read every byte of every object; exit 1 if one is lost or changed, 130 if interrupted.

    Says which episodes and releases are hit, and what to do next.

    Example: [bold]corporeal store verify[/bold]
    """  # fmt: skip
    with enter_workspace(root, "verify") as (workspace, _):
        with show_progress("reading objects") as bar:
            report = check_store(workspace, start=start, on_start=bar.start, on_object=bar.advance)
        if as_json:
            print_json(report)
        else:
            _show(report, str(workspace.root))
    if report.following is not None:
        raise typer.Exit(_INTERRUPTED)
    raise typer.Exit(1 if report.damaged else 0)


def _show(report: StoreReport, root: str) -> None:
    page = console()
    for each in report.damaged[:_MOST]:
        use = each.use
        subject = f"episode {use.episode}" if use.episode else use.kind
        page.print(emphasise(subject, f" ({each.digest[:19]}...): {each.reason}", style="red"))
        if use.releases:
            page.print(f"  in {', '.join(use.releases)}")
        page.print(f"  {each.remedy}")
    if len(report.damaged) > _MOST:
        page.print(f"and {len(report.damaged) - _MOST} more; all of them: --json")
    page.print(report.words)
    if report.following is not None:
        page.print(f"interrupted; go on with: corporeal store verify --from {report.following} "
                   f"--workspace {root}")  # fmt: skip
    elif report.damaged:
        page.print(f"after mending: corporeal store verify --workspace {root}")


COMMAND = Command(app, panel="Workspace")
