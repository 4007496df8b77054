"""`corporeal retarget-hands`: what a person's hands did, as an episode of a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, print_result
from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError
from corporeal.teleoperation.hands import REACHED_M, follow_hands, write_episode
from corporeal.teleoperation.operator_input import read_inputs


def retarget_hands(
    source: Annotated[
        Path, typer.Argument(help="Hands of WebXR, Aria, HOT3D, EgoDex, Vision Pro, gloves.")
    ],
    out: Annotated[Path, option("The episode to write.", "--out", "-o")],
    robot: Annotated[str, option("The robot: built-in, or its URDF, MJCF or document.")] = "g1",
    rate_hz: Annotated[float, option("Rate of the episode.", "--rate", min=10.0, max=200.0)] = 50.0,
    task: Annotated[str | None, option("The task that was shown.")] = None,
    instruction: Annotated[str | None, option("What the person was asked to do.")] = None,
    operator: Annotated[str | None, option("Who it was; stored in the episode.")] = None,
    as_json: AsJson = False,
) -> None:
    """Turn hands that a headset or glasses saw into an episode of a robot.

    Arms follow the hands in true size, within all limits and clear of the robot's body; the robot
    stands where most of the hands' places are in reach. What was away for longer than 0.1 s is
    not made up: the arm waits, and the episode says so.

    Exit 1 when less than half of what was seen is within 2 cm.

    Example: [bold]corporeal retarget-hands capture.json -o take.h5 --task fold[/bold]
    """
    if out.exists():
        raise CorporealError(f"{out}: is there already. Name another --out.")
    facts = {"task": task, "instruction": instruction, "operator": operator}
    motion = follow_hands(list(read_inputs(source)), open_robot(robot), rate_hz=rate_hz)
    path = write_episode(
        motion, source, out, {name: value for name, value in facts.items() if value}
    )
    glitches = sum(track.glitches for track in motion.tracks.values())
    facts_told = {
        "episode": path,
        "frames": len(motion.joints),
        "duration_s": len(motion.joints) / rate_hz,
        "reached_share": motion.reached_share,
        "seen_share": motion.seen_share,
        "glitches": glitches,
    }
    sentence = (
        f"{path}: {len(motion.joints) / rate_hz:.1f} s; hands seen in "
        f"{100 * motion.seen_share:.0f} % of it, {100 * motion.reached_share:.0f} % of "
        f"that within {100 * REACHED_M:.0f} cm"
    )
    if glitches:
        sentence += f"; {glitches} samples that no hand can make left out"
    print_result(as_json, facts_told, f"{sentence}\nnext: corporeal check {path}")
    raise typer.Exit(0 if motion.reached_share >= 0.5 else 1)


COMMAND = Command(retarget_hands, panel="Retarget")
