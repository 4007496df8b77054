"""`corporeal calibrate force`: a force sensor from rests, which to take, and whether it creeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from corporeal.calibration.files import (
    force_record,
    keep_force,
    read_standing_forces,
    read_static_poses,
)
from corporeal.calibration.force import (
    USUAL_RESTS,
    ZEROED_S,
    ForceLimits,
    ForceSolution,
    find_wrong_rests,
    force_problems,
    leave_out_force,
    next_rests,
    solve_force,
    standing_drift,
)
from corporeal.calibration.rig import plot_force
from corporeal.cli.calibration_outcome import (
    KeepOption,
    NameOption,
    Outcome,
    OutOption,
    ReportOption,
)
from corporeal.cli.command import argument, option
from corporeal.cli.output import (
    AsJson,
    check_picture,
    console,
    make_table,
    print_json,
    save_picture,
)
from corporeal.errors import CorporealError
from corporeal.geometry import Array

# A condition beyond this says no more than that directions are missing.
_TOLD_BELOW = 100.0


def force(
    poses: Annotated[
        Path | None, argument("Poses at rest: .csv with qw qx qy qz fx fy fz tx ty tz.")
    ] = None,
    guide: Annotated[
        int | None,
        option(f"Say so many poses to take ({USUAL_RESTS}), after those given.", min=1, max=20),
    ] = None,
    standing: Annotated[
        Path | None, option("A tool that hangs still for a while: .csv with t fx fy fz.")
    ] = None,
    max_force_n: Annotated[
        float, option("Largest rms force of a pose that is left out, in N.", min=0)
    ] = 0.6,
    max_mass_percent: Annotated[
        float, option("Largest spread of the tool's mass, in percent of it.", min=0)
    ] = 2.0,
    max_rotation_deg: Annotated[
        float, option("Largest spread of the mounting, in degrees.", min=0)
    ] = 2.0,
    max_drift_n: Annotated[
        float,
        option(
            "Largest change of the force between two equal poses, or in 3 minutes, in N.", min=0
        ),
    ] = 0.5,
    name: NameOption = None,
    out: OutOption = None,
    keep_anyway: KeepOption = False,
    report: ReportOption = None,
    as_json: AsJson = False,
) -> None:
    """A force sensor from poses at rest: tool, bias, mounting and sign, each with its spread.

    Exit 1 when a pose does not belong to the others, the sensor drifted between the first pose and
    the same one taken last, creeps while it stands still, or is not as sure as asked; then nothing
    is written unless --keep-anyway says so.

    Example: [bold]corporeal calibrate force rests.csv --name right_wrist_wrench -o cell.yaml[/bold]
    Example: [bold]corporeal calibrate force --guide 12[/bold]
    Example: [bold]corporeal calibrate force --standing still.csv[/bold]
    """
    if report is not None:
        check_picture(report)
    if standing is not None:
        if any(each is not None for each in (poses, guide, name, out, report)):
            raise CorporealError("--standing, got more beside it; expected --max-drift-n at most.")
        _judge_standing(standing, max_drift_n, as_json=as_json)
        return
    if poses is None:
        _show_rests(np.zeros((0, 3, 3)), guide, as_json=as_json)
        return
    given = read_static_poses(poses)
    if guide is not None:
        _show_rests(given.rotations, guide, as_json=as_json)
        return
    solution = solve_force(given)
    left_out = leave_out_force(given)
    called = name or poses.stem
    record = force_record(called, solution, left_out)
    limits = ForceLimits(max_force_n, max_mass_percent / 100, float(np.radians(max_rotation_deg)),
                         max_drift_n)  # fmt: skip
    wrong = find_wrong_rests(given)
    problems = force_problems(solution, left_out, wrong, limits)
    outcome = Outcome(out, report, is_good=not problems, keep_anyway=keep_anyway)
    if outcome.is_written:
        assert out is not None
        keep_force(out, record)
    if report is not None:
        save_picture(plot_force(given, solution, left_out, called), report)
    if as_json:
        print_json({
            "sensor": record.model_dump(mode="json", exclude_none=True),
            "sigma": solution.sigma.tolist(), "condition": solution.condition,
            "sign_margin": solution.sign_margin, "drift_n": solution.drift_n,
            "wrong_rests": [vars(rest) for rest in wrong], "problems": problems,
            **outcome.values(),
        })  # fmt: skip
    else:
        _show_force(solution, left_out, len(given))
        for problem in problems:
            console().print(problem, style="yellow")
        outcome.show()
    outcome.end()


def _judge_standing(path: Path, max_drift_n: float, *, as_json: bool) -> None:
    drift = standing_drift(*read_standing_forces(path), max_drift_n=max_drift_n)
    if as_json:
        print_json({"seconds": drift.seconds, "drift_n": drift.drift_n.tolist(),
                    "sigma_n": drift.sigma_n, "alarm_s": drift.alarm_s,
                    "is_good": drift.alarm_s is None})  # fmt: skip
    else:
        parts = ", ".join(f"{value:.2f}" for value in drift.drift_n)
        console().print(
            f"in {drift.seconds:.0f} s at rest the force moved by {drift.worst_n:.2f} N ({parts}; "
            f"+- {drift.sigma_n:.2f} N)"
        )
        if drift.alarm_s is None:
            console().print("good: no creep beyond its noise and the limit")
        else:
            console().print(
                f"it creeps, certain after {drift.alarm_s:.0f} s: beyond {max_drift_n:g} N in "
                f"{ZEROED_S / 60:.0f} minutes. Let it warm up, and zero it before every episode",
                style="yellow",
            )  # fmt: skip
    if drift.alarm_s is not None:
        raise typer.Exit(1)


def _show_rests(taken: Array, guide: int | None, *, as_json: bool) -> None:
    asked = next_rests(taken, guide or USUAL_RESTS)
    if as_json:
        print_json({"next": [{"words": each.words, "quaternion": each.quaternion.tolist()}
                             for each in asked]})  # fmt: skip
        return
    for number, each in enumerate(asked, 1):
        even = f" (condition {each.condition:.1f})" if each.condition < _TOLD_BELOW else ""
        console().print(f"{number}: {each.words}{even}")
    console().print("stand still for 2 s in each; take the first one again at the end")


def _show_force(solution: ForceSolution, left_out: tuple[float, float], count: int) -> None:
    sigma = solution.sigma
    console().print(f"{count} poses at rest")
    table = make_table("", "value", "one sigma")
    table.add_row("mass", f"{solution.mass_kg * 1e3:.1f} g", f"{sigma[0] * 1e3:.1f} g")
    for label, values, spread, unit, factor in (
        ("middle of mass", solution.centre_m, sigma[7:10], "mm", 1e3),
        ("bias of the force", solution.force_bias, sigma[4:7], "N", 1.0),
        ("bias of the torque", solution.torque_bias, sigma[10:13], "N m", 1.0),
    ):
        shown = ", ".join(f"{value * factor:.3f}" for value in values)
        unsure = ", ".join(f"{value * factor:.3f}" for value in spread)
        table.add_row(label, f"{shown} {unit}", f"{unsure} {unit}")
    console().print(table)
    _, off = solution.nearest_mounting()
    reports = "on the tool" if solution.sign > 0 else "by the tool"
    console().print(
        f"the mounting is {np.degrees(off):.2f} degrees off a turn by right angles; the sensor "
        f"reports the force {reports} ({solution.sign_margin:.0f} times more likely)"
    )
    console().print(
        f"a pose that is left out is told to {left_out[0]:.3f} N and {left_out[1]:.4f} N m"
    )
    if solution.drift_n is not None:
        console().print(
            f"first and last pose, which are the same, differ by {solution.drift_n:.2f} N"
        )
