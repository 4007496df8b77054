"""`corporeal robot`: what a robot is, and how two descriptions of one differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from corporeal.appearance import FittedMeshes, fit_meshes, keep_meshes
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.output import AsJson, console, emphasise, make_table, print_json, print_result
from corporeal.cli.workspaces import enter_workspace
from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.embodiment.comparison import compare, describe
from corporeal.embodiment.embodiment import Joint
from corporeal.words import byte_size, counted, some_of

_app = group("Show robots and compare them.")
_Robot = Annotated[str, argument("A built-in name, or a .urdf, .xml (MJCF) or .yaml file.")]


@_app.command("list")
def list_robots(as_json: AsJson = False) -> None:
    """List the built-in robots.

    Example: [bold]corporeal robot list[/bold]
    """
    robots = [open_robot(name) for name in robot_names()]
    values = {robot.name: {"maker": robot.maker, "joints": len(robot.joint_names),
                           "mass_kg": robot.mass} for robot in robots}  # fmt: skip
    table = make_table("name", "maker", "joints", "mass", "estimated", right=("joints", "mass"))
    for robot in robots:
        guess = f"{len(robot.estimated)} facts" if robot.estimated else "nothing"
        table.add_row(robot.name, robot.maker or "", str(len(robot.joint_names)),
                      f"{robot.mass:.1f} kg", guess)  # fmt: skip
    print_result(as_json, values, table)


@_app.command()
def show(robot: _Robot, as_json: AsJson = False) -> None:
    """Show a robot: ordered joints with limits, groups, end-effectors, feet, mass.

    With --json: the embodiment document that travels inside every episode and release.

    Example: [bold]corporeal robot show g1[/bold]
    """
    embodiment = open_robot(robot)
    values = embodiment.model_dump(mode="json", exclude_none=True)
    print_result(as_json, values, _page(embodiment))


@_app.command()
def diff(first: _Robot, second: _Robot, as_json: AsJson = False) -> None:
    """Say in words what differs: order, names, limits, mirrored axes. Exit 1 if anything does.

    Example: [bold]corporeal robot diff g1 my_g1.urdf[/bold]
    """
    differences = compare(open_robot(first), open_robot(second))
    if as_json:
        print_json(differences)
    else:
        console().print(f"A is {first}, B is {second}.", style="dim")
        console().print(describe(differences), soft_wrap=True, markup=False)
    if any(difference.severity == "differs" for difference in differences):
        raise typer.Exit(1)


@_app.command()
def meshes(
    robot: _Robot,
    path: Annotated[
        Path, argument("The robot's URDF or MJCF file, or the folder that has it and its meshes.")
    ],
    root: Annotated[
        Path | None,
        option("Keep them in this workspace; by default for you.", "--workspace", "-w"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let Studio draw a robot as its maker does: with the meshes of the description you have.

    STL, OBJ and COLLADA files are read, made light and kept once: for you, or with -w for everybody
    who works in a workspace. Nothing outside the folder is opened.

    Example: [bold]corporeal robot meshes g1 ~/unitree_ros/robots/g1_description[/bold]
    """
    fitted = fit_meshes(open_robot(robot), path)
    if root is None:
        kept, file = keep_meshes(fitted)
    else:
        with enter_workspace(root, "ingest") as (workspace, _):
            kept, file = keep_meshes(fitted, workspace.root)
    values = {
        "robot": kept.robot, "source": str(fitted.source), "hash": kept.hash, "file": str(file),
        "links": list(kept.links), "bare": list(fitted.bare), "moved": list(fitted.moved),
        "absent": list(fitted.absent), "notes": list(fitted.notes), "files": fitted.files,
        "triangles_read": fitted.read_triangles, "triangles": kept.triangles,
        "error_mm": round(1e3 * fitted.error_m, 3), "bytes": file.stat().st_size,
    }  # fmt: skip
    print_result(as_json, values, *_mesh_lines(fitted, file))


def _mesh_lines(fitted: FittedMeshes, file: Path) -> list[Text]:
    dressed = len(fitted.links)
    lines = [
        f"{fitted.robot.name} has the meshes of {fitted.source}: {counted(dressed, 'link')} of "
        f"{len(fitted.robot.links)}, {counted(fitted.files, 'file')}, "
        f"{fitted.read_triangles} triangles made {fitted.triangles}.",
        f"Kept: {file} ({byte_size(file.stat().st_size)}). "
        f"Studio draws {fitted.robot.name} so now.",
    ]
    for words, names in (
        ("no mesh, left out", fitted.bare),
        ("mesh files that are not there", fitted.absent),
        ("joint lies elsewhere in that file, mesh moved with it", fitted.moved),
    ):
        if names:
            lines.append(f"! {words}: {some_of(names)}")
    return [
        Text(line, style="yellow" if line.startswith("!") else "")
        for line in (*lines, *(f"! not read: {note}" for note in fitted.notes))
    ]


def _page(robot: Embodiment) -> Group:
    return Group(_head(robot), _joints(robot), *_notes(robot))


def _head(robot: Embodiment) -> Panel:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    if robot.description:
        grid.add_row("what", robot.description)
    stands = f", stands {robot.standing.height:.3f} m high" if robot.standing else ""
    shapes = sum(len(link.collision) for link in robot.links)
    grid.add_row("base", f"{robot.base}, {'floating' if robot.floating else 'fixed'}{stands}")
    grid.add_row("mass", f"{robot.mass:.3f} kg in {len(robot.links)} links")
    grid.add_row("shapes", f"{shapes} collision primitives" if shapes else "none")
    for title, places in (("end-effectors", robot.end_effectors), ("feet", robot.feet)):
        grid.add_row(title, ", ".join(f"{key}: {place}" for key, place in places.items()) or "none")
    grid.add_row("frames", ", ".join(frame.name for frame in robot.frames) or "none")
    grid.add_row("sources", "\n".join(robot.sources) or "none")
    grid.add_row("hash", robot.hash[:19])
    heading = emphasise(robot.name, f" {robot.version}  {robot.maker or ''}")
    return Panel(grid, title=heading, title_align="left", border_style="cyan")


def _joints(robot: Embodiment) -> Table:
    figures = ("lower", "upper", "velocity", "effort")
    table = make_table("#", "joint", "group", *figures, "axis", right=("#", *figures), wrap=False)
    numbers = {name: str(number) for number, name in enumerate(robot.joint_names)}
    for joint in robot.joints:
        turns = joint.type == "revolute"
        table.add_row(
            Text(numbers.get(joint.name, "-"), style="dim"),
            joint.name + _follows(joint),
            robot.group_of(joint.name) or "",
            _number(joint.lower, "rad" if turns else "m"),
            _number(joint.upper, "rad" if turns else "m"),
            _number(joint.velocity, "rad/s" if turns else "m/s"),
            _number(joint.effort, "N m" if turns else "N"),
            " ".join(f"{component:.4g}" for component in joint.axis),
        )
    return table


def _follows(joint: Joint) -> str:
    if joint.mimic is not None:
        return f"  (follows {joint.mimic.joint} x {joint.mimic.multiplier:.4g})"
    return "" if joint.actuated else "  (no motor)"


def _number(value: float | None, unit: str) -> Text:
    if value is None:
        return Text("not stated", style="dim")
    return Text.assemble(f"{value:.4g}", (f" {unit}", "dim"))


def _notes(robot: Embodiment) -> list[Text]:
    notes = [f"! estimated, not public: {fact}" for fact in robot.estimated]
    if robot.missing_meshes:
        some = ", ".join(robot.missing_meshes[:3])
        notes.append(
            f"! {len(robot.missing_meshes)} meshes are not here ({some}, ...): kinematics and "
            "inertia do not need them, collision uses the primitive shapes alone"
        )
    return [Text(note, style="yellow") for note in notes]


COMMAND = Command(_app, panel="Robots and documents")
