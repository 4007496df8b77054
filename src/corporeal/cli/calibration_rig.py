"""`corporeal calibrate rig` and `simulate`: a whole station at once, and one to practise on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from corporeal.calibration.board import open_board
from corporeal.calibration.rig import (
    RigLimits,
    RigSolution,
    calibrate_rig,
    describe_part,
    find_recordings,
    simulated_rig,
    write_looks,
    write_recordings,
)
from corporeal.calibration.rig import write_report as write_rig_report
from corporeal.cli.calibration_outcome import KeepOption, Outcome, OutOption, halves_values
from corporeal.cli.command import argument, option
from corporeal.cli.output import AsJson, console, emphasise, print_json, show_progress
from corporeal.errors import CorporealError
from corporeal.words import counted

# What a station's cameras are put through before it is looked at again.
_Bump = Annotated[
    list[str] | None, option("Knock a camera: CAMERA=MM, or CAMERA=MM,DEGREES.", "--bump")
]


def rig(
    recordings: Annotated[Path, argument("A document of kind recordings, or a folder with one.")],
    out: OutOption = None,
    keep_anyway: KeepOption = False,
    report: Annotated[Path | None, option("All pictures in one file: .pdf.")] = None,
    max_rms: Annotated[float, option("Largest rms of a lens in px.", min=0)] = 0.3,
    max_uncertainty: Annotated[float, option("Largest mean uncertainty in px.", min=0)] = 0.5,
    max_position_mm: Annotated[float, option("Largest spread of a place in mm.", min=0)] = 2.0,
    max_rotation_deg: Annotated[float, option("Largest spread of a turn.", min=0)] = 0.5,
    as_json: AsJson = False,
) -> None:
    """Solve a whole station from recordings: lenses, places of cameras, force sensors.

    Exit 1 when a part is not as good as asked, or a mistake in the data is found; then nothing is
    written unless --keep-anyway says so.

    Example: [bold]corporeal calibrate rig practice -o cell.yaml --report rig.pdf[/bold]
    """
    if report is not None and report.suffix != ".pdf":
        raise CorporealError(f"--report, got {report}; expected a name that ends in .pdf.")
    document, folder = find_recordings(recordings)
    limits = RigLimits(max_rms, max_uncertainty, max_position_mm / 1e3,
                       float(np.radians(max_rotation_deg)))  # fmt: skip
    with show_progress("looking for the board") as bar:
        solution = calibrate_rig(document, folder, limits, bar.advance)
    problems = solution.problems()
    outcome = Outcome(out, report, is_good=not problems, keep_anyway=keep_anyway)
    if outcome.is_written:
        assert out is not None
        solution.keep(out)
    if report is not None:
        write_rig_report(solution, report)
    if as_json:
        print_json({**_values(solution), "problems": problems, **outcome.values()})
    else:
        _show(solution, problems)
        outcome.show()
    outcome.end()


def simulate(
    folder: Annotated[Path, argument("The folder to write into.")],
    seed: Annotated[int, option("Which station; the same number gives the same one.", min=0)] = 0,
    board: Annotated[str, option("The board: a built-in name, or a document.")] = "charuco_a4",
    bump: _Bump = None,
    warm_min: Annotated[float, option("Minutes that the cameras have run.", min=0)] = 0.0,
    look: Annotated[
        str | None, option("Only look at the markers, into a folder of this name.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Record a simulated station to practise on: four cameras, an arm, a force sensor, markers.

    The truth is beside the recordings. With --look only its markers are looked at again, after
    what --bump and --warm-min did.

    Example: [bold]corporeal calibrate simulate practice[/bold]
    Example: [bold]corporeal calibrate simulate practice --look later --bump head_left=4[/bold]
    """
    if bump and look is None:
        raise CorporealError("--bump, got no --look; expected a name for what is seen afterwards.")
    if look is not None and not look.replace("_", "").isalnum():
        raise CorporealError(f"--look, got {look!r}; expected letters and digits.")
    station = simulated_rig(open_board(board), seed).warmed(warm_min)
    for text in bump or ():
        name, shift_m, turn_rad = _knock(text)
        station = station.bumped(name, shift_m, turn_rad)
    document = None
    with show_progress("taking pictures"):
        if look is None:
            document = write_recordings(station, folder, seed=seed)
        # Another noise each time, the same for the same call.
        moment = sum(map(ord, look or "")) + 7919 * seed
        looks = write_looks(station, folder, seed=moment, name=look or "look")
    if as_json:
        print_json({"recordings": document, "looks": looks,
                    "truth": None if document is None else folder / "truth.yaml"})  # fmt: skip
        return
    if document is not None:
        console().print(f"wrote {document} and the truth, {folder / 'truth.yaml'}")
        console().print(f"next: corporeal calibrate rig {folder} -o cell.yaml --report rig.pdf")
    console().print(f"wrote {counted(len(looks), 'look')} at the markers: {looks[0].parent}")


def _knock(text: str) -> tuple[str, float, float]:
    name, _, rest = text.partition("=")
    shift, _, turn = rest.partition(",")
    try:
        values = float(shift), float(turn or 0)
    except ValueError:
        values = np.nan, np.nan
    if not name or not np.isfinite(values).all() or abs(values[0]) > 200 or abs(values[1]) > 45:
        raise CorporealError(
            f"--bump, got {text!r}; expected CAMERA=MM or CAMERA=MM,DEGREES, such as head_left=4."
        )
    return name, values[0] / 1e3, float(np.radians(values[1]))


def _values(solution: RigSolution) -> dict[str, object]:
    cameras = [{
        "name": part.name, "rms_px": part.solution.rms_px, "views": len(part.seen.views),
        "uncertainty_px": part.stated.mean_px, "distance_m": part.stated.distance_m,
        "halves": halves_values(part.halves),
        "frame": part.frame or None, "pose": None if part.pose is None else part.pose.tolist(),
        "sigma": None if part.sigma is None else part.sigma.tolist(),
        "left_out_m": None if part.hand is None else part.hand.left_out.rms_m,
        "left_out_rad": None if part.hand is None else part.hand.left_out.rms_rad,
        "beside": None if part.together is None else part.together.first,
    } for part in solution.cameras]  # fmt: skip
    forces = [{"name": each.name, "mass_kg": each.solution.mass_kg,
               "centre_m": each.solution.centre_m.tolist(), "left_out_n": each.left_out[0],
               "wrong_rests": [vars(rest) for rest in each.wrong]}
              for each in solution.forces]  # fmt: skip
    return {"recordings": solution.name, "cameras": cameras, "force_sensors": forces}


def _show(solution: RigSolution, problems: list[str]) -> None:
    for part in solution.cameras:
        console().print(describe_part(part))
    for force in solution.forces:
        console().print(f"{force.name}: {force.solution.mass_kg * 1e3:.1f} g; a rest left out to "
                        f"{force.left_out[0]:.3f} N")  # fmt: skip
    for problem in problems:
        console().print(problem, style="yellow")
    style = "red" if problems else "green"
    console().print(emphasise("not good enough" if problems else "good", style=style))
