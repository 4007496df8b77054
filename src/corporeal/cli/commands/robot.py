"""`corporeal robot`: what a robot is, and how two descriptions of one differ."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from corporeal.cli.command import Command, argument, group
from corporeal.cli.output import AsJson, console, emphasise, make_table, print_json, print_result
from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.embodiment.comparison import compare, describe
from corporeal.embodiment.embodiment import Joint

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
