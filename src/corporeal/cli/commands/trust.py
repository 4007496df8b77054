"""`corporeal trust`: what the files of others may do for you."""

from __future__ import annotations

from typing import Annotated

from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, make_table, print_result
from corporeal.errors import UnknownNameError
from corporeal.trust import Trust, read_trust, trust_file, write_trust


def trust(
    variable: Annotated[
        list[str] | None, option("Let workspaces send this environment variable.")
    ] = None,
    forget: Annotated[list[str] | None, option("Trust this host or variable no more.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the hosts and variables that workspaces may use in your name; add or forget some.

    Hosts are added when a command asks about them, or with: corporeal --trust COMMAND.

    Example: [bold]corporeal trust --forget https://hooks.lab[/bold]
    """
    known = read_trust()
    wanted = Trust(known.hosts, tuple(dict.fromkeys((*known.variables, *(variable or ())))))
    for name in forget or ():
        if name not in (*wanted.hosts, *wanted.variables):
            raise UnknownNameError("trusted host or variable", name[:80],
                                   (*wanted.hosts, *wanted.variables))  # fmt: skip
        wanted = Trust(
            tuple(host for host in wanted.hosts if host != name),
            tuple(each for each in wanted.variables if each != name),
        )
    if wanted != known:
        write_trust(wanted)
    table = make_table("trusted", "")
    for host in wanted.hosts:
        table.add_row(host, "host")
    for each in wanted.variables:
        table.add_row(each, "variable")
    empty = f"nothing is trusted yet; answers are kept in {trust_file()}"
    print_result(as_json, wanted, table if wanted != Trust() else empty)


COMMAND = Command(trust, panel="Workspace")
