"""`corporeal calibrate volume`: a mocap volume by a wand, and its drift against a reference."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from corporeal.calibration.files import keep_volume
from corporeal.calibration.verification import (
    KeptDistance,
    MarkerRest,
    VolumeDrift,
    VolumeShape,
    WandResult,
    measure_drift,
    measure_wand,
    volume_shape,
)
from corporeal.cli.command import argument, option
from corporeal.cli.output import AsJson, console, emphasise, make_table, print_json
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.protocol import Calibration
from corporeal.retargeting.motion import Markers
from corporeal.retargeting.person import AXES, METRES
from corporeal.retargeting.reader import read_markers
from corporeal.words import counted


def volume(
    wand: Annotated[
        Path | None, argument("A clip of a wand: C3D, Motive or Vicon CSV.", metavar="WAND_CLIP")
    ] = None,
    wand_mm: Annotated[float | None, option("The wand's true length.", min=0)] = None,
    compare: Annotated[Path | None, option("A clip whose drift is asked for.")] = None,
    reference: Annotated[
        Path | None, option("The session's reference: a clip, or the station's document.")
    ] = None,
    markers: Annotated[
        str | None, option("The wand's two ends, as LABEL,LABEL; found where not said.")
    ] = None,
    floor: Annotated[
        str | None, option("Markers that lie on the floor: LABEL,LABEL,LABEL and more.")
    ] = None,
    unit: Annotated[
        str | None, option(f"Unit of the clips: {', '.join(METRES)}; theirs if not said.")
    ] = None,
    up: Annotated[
        str | None, option(f"What is up in the clips that are compared: {', '.join(AXES)}.")
    ] = None,
    cell_mm: Annotated[
        float | None, option("Edge of a part of the volume; twice the wand's length.", min=50)
    ] = None,
    min_coverage: Annotated[
        float, option("Least part of the volume that the wand was in.", min=0, max=1)
    ] = 0.25,
    max_rms_mm: Annotated[float, option("Largest rms of the wand's length.", min=0)] = 0.5,
    max_scale_percent: Annotated[float, option("Largest error of scale.", min=0)] = 0.1,
    out: Annotated[
        Path | None,
        option("The calibration document to write; made where there is none.", "--out", "-o"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How true a mocap volume is, by a wand; or what has moved since a reference.

    Exit 1 when it is not as good as asked, or something moved by more than noise explains.

    Example: [bold]corporeal calibrate volume wand.c3d --wand-mm 500 -o station.yaml[/bold]
    Example: [bold]corporeal calibrate volume --reference first.c3d --up z -o station.yaml[/bold]
    Example: [bold]corporeal calibrate volume --compare last.c3d --reference station.yaml[/bold]
    """
    if wand is not None:
        if wand_mm is None or compare is not None or reference is not None:
            raise CorporealError(
                "calibrate volume, got a wand's clip without --wand-mm, or with --compare or "
                "--reference; expected WAND_CLIP --wand-mm 500. Give one or the other."
            )
        clip = _read(wand, unit)
        result = measure_wand(
            clip.positions, clip.labels, wand_mm / 1e3, ends=_ends(markers),
            floor=_named(floor), edge_m=None if cell_mm is None else cell_mm / 1e3,
            min_coverage=min_coverage,
        )  # fmt: skip
        problems = result.problems(max_rms_mm / 1e3, max_scale_percent / 100)
        if out is not None:
            keep_volume(out, _kept_wand(result))
        _tell_wand(result, problems, out, as_json)
    else:
        problems = _drift(compare, reference, unit, up, out, as_json)
    if problems:
        raise typer.Exit(1)


def _drift(
    compare: Path | None, reference: Path | None, unit: str | None, up: str | None,
    out: Path | None, as_json: bool,
) -> list[str]:  # fmt: skip
    """Keep a reference, compare a clip with one, or both; what moved, in words."""
    if reference is None or (compare is None and out is None):
        raise CorporealError(
            "calibrate volume, got no clip to work on; expected WAND_CLIP --wand-mm 500, "
            "--reference CLIP -o station.yaml, or --compare CLIP --reference CLIP_OR_STATION."
        )
    shape = _reference(reference, unit, up)
    if len(shape.distances) < 3:
        raise CorporealError(
            f"{reference}: {counted(len(shape.distances), 'segment')} that keep their length; "
            "expected three or more. Give a clip of a person, or calibrate volume --reference."
        )
    if out is not None:
        keep_volume(out, {
            "rests": [asdict(each) for each in shape.rests],
            "distances": [asdict(each) for each in shape.distances],
        })  # fmt: skip
    drift = None
    if compare is not None:
        clip = _upright(compare, unit, up)
        drift = measure_drift(clip.positions, clip.labels, clip.rate_hz, shape)
    found = [] if drift is None else drift.findings()
    if as_json:
        print_json({
            "reference": reference, "rests": len(shape.rests), "segments": len(shape.distances),
            "compare": compare, "drift": None if drift is None else asdict(drift),
            "moved": found, "is_good": not found, "out": out,
        })  # fmt: skip
        return found
    console().print(f"reference: {counted(len(shape.distances), 'segment')} that keep their "
                    f"length, {counted(len(shape.rests), 'rest')} of feet")  # fmt: skip
    if drift is not None:
        _tell_drift(drift, found)
    if out is not None:
        console().print(f"wrote {out}")
    return found


def _reference(path: Path, unit: str | None, up: str | None) -> VolumeShape:
    if path.suffix not in (".yaml", ".yml"):
        clip = _upright(path, unit, up)
        return volume_shape(clip.positions, clip.labels, clip.rate_hz)
    kept = Calibration.load(path).volume
    if kept is None or not kept.distances:
        raise CorporealError(
            f"{path}: holds no reference of a volume; expected one. Write it with corporeal "
            f"calibrate volume --reference CLIP -o {path}."
        )
    return VolumeShape(
        tuple(MarkerRest(each.label, each.xyz) for each in kept.rests),
        tuple(KeptDistance(each.first, each.second, each.length_m, each.sigma_m)
              for each in kept.distances),
    )  # fmt: skip


def _read(path: Path, unit: str | None) -> Markers:
    """The markers of a clip in metres, in its own axes."""
    if unit is not None and unit not in METRES:
        raise UnknownNameError("unit", unit, METRES)
    markers = read_markers(path)
    stated = unit or markers.unit
    if stated not in METRES:
        raise CorporealError(
            f"{path}, got no unit that is known ({stated}); expected one of {', '.join(METRES)}. "
            "Give --unit."
        )
    if not (np.isfinite(markers.rate_hz) and markers.rate_hz > 0):
        raise CorporealError(f"{path}: has no rate of its frames; expected one. Export it again.")
    if not np.isfinite(markers.positions).any():
        raise CorporealError(f"{path}: no marker is seen in any frame; expected some. Export it "
                             "again.")  # fmt: skip
    return replace(markers, positions=markers.positions * METRES[stated], unit="m")


def _upright(path: Path, unit: str | None, up: str | None) -> Markers:
    """The same with z up. Programs often write the sign wrongly: markers are above the floor."""
    if up is not None and up not in AXES:
        raise UnknownNameError("axis", up, AXES)
    markers = _read(path, unit)
    axis = up or markers.up
    if axis not in AXES:
        raise CorporealError(f"{path}: does not say which axis is up; expected one of "
                             f"{', '.join(AXES)}. Give --up.")  # fmt: skip
    turned = np.roll(markers.positions, 2 - "xyz".index(axis[-1]), axis=2)
    below = axis.startswith("-") if up else bool(np.nanmedian(turned[..., 2]) < 0)
    return replace(markers, positions=turned * [1.0, -1.0, -1.0] if below else turned)


def _named(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _ends(text: str | None) -> tuple[str, str] | None:
    names = _named(text)
    if text is None:
        return None
    if len(names) != 2 or names[0] == names[1]:
        raise CorporealError(f"--markers, got {text!r}; expected two labels, as LABEL,LABEL.")
    return names[0], names[1]


def _kept_wand(result: WandResult) -> dict[str, Any]:
    return {"wand_m": result.length_m, "rms_m": round(result.rms_m, 7),
            "scale": round(result.scale, 7), "scale_sigma": round(result.scale_sigma, 7),
            "extent_m": [round(each, 3) for each in result.extent_m]}  # fmt: skip


def _tell_wand(result: WandResult, problems: list[str], out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(result), "problems": problems, "is_good": not problems, "out": out})
        return
    say = console().print
    place = ", ".join(f"{each:.2f}" for each in result.worst_at_m)
    ends = " to ".join(result.markers)
    say(f"wand {ends} in {counted(result.frames, 'frame')}: "
        f"rms {result.rms_m * 1e3:.2f} mm, "
        f"worst {result.worst_m * 1e3:+.2f} mm at {place} m")  # fmt: skip
    if result.left_out:
        say(f"{counted(result.left_out, 'frame')} with a length that is no wand's left out")
    size = " x ".join(f"{each:.1f}" for each in result.extent_m)
    say(f"scale {result.scale:+.3%}, one sigma {result.scale_sigma:.3%}; "
        f"{100 * result.coverage:.0f} % of {size} m covered")  # fmt: skip
    if result.floor is not None:
        flat = result.floor
        say(f"floor {flat.height_m * 1e3:+.1f} mm, tilted by {np.degrees(flat.tilt_rad):.2f} "
            f"degrees, flat to {flat.rms_m * 1e3:.2f} mm")  # fmt: skip
    table = make_table("x m", "y m", "z m", "frames", "mm", "one sigma",
                       right=("x m", "y m", "z m", "frames", "mm", "one sigma"))  # fmt: skip
    for cell in sorted(result.cells, key=lambda each: -abs(each.error_m))[:8]:
        table.add_row(*(f"{each:.1f}" for each in cell.corner_m), str(cell.frames),
                      f"{cell.error_m * 1e3:+.2f}", f"{cell.sigma_m * 1e3:.2f}")  # fmt: skip
    say(table)
    for problem in problems:
        say(problem, style="yellow")
    style = "red" if problems else "green"
    say(emphasise("not good enough" if problems else "good", style=style))
    if out is not None:
        say(f"wrote {out}")


def _tell_drift(drift: VolumeDrift, found: list[str]) -> None:
    say = console().print
    if drift.floor is None:
        say("floor: not known, too few feet rest in both")
    else:
        floor = drift.floor
        say(f"floor {floor.height_m * 1e3:+.1f} mm (one sigma {floor.height_sigma_m * 1e3:.1f}), "
            f"slope {floor.tilt_rad[0] * 1e3:+.1f} and {floor.tilt_rad[1] * 1e3:+.1f} mm in a "
            f"metre (one sigma {floor.tilt_sigma_rad[0] * 1e3:.1f} and "
            f"{floor.tilt_sigma_rad[1] * 1e3:.1f})")  # fmt: skip
    say(f"scale {drift.scale:+.3%} (one sigma {drift.scale_sigma:.3%}) of "
        f"{counted(len(drift.segments), 'segment')}")  # fmt: skip
    table = make_table("segment", "mm", "one sigma", right=("mm", "one sigma"))
    for each in sorted(drift.segments, key=lambda each: -abs(each.change_m) / each.sigma_m)[:8]:
        table.add_row(f"{each.first} to {each.second}", f"{each.change_m * 1e3:+.1f}",
                      f"{each.sigma_m * 1e3:.1f}")  # fmt: skip
    say(table)
    for finding in found:
        say(finding, style="yellow")
    say(emphasise("moved" if found else "nothing moved by more than noise",
                  style="red" if found else "green"))  # fmt: skip
