"""`corporeal triangulate`: a person in space from several cameras' keypoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, print_result
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.files import atomic_write
from corporeal.protocol import Calibration
from corporeal.retargeting.person import read_picture_keypoints, triangulate


def triangulate_files(
    keypoints: Annotated[
        list[str],
        typer.Argument(metavar="CAMERA=PATH...", help="Keypoints of each camera, by its name."),
    ],
    calibration: Annotated[Path, option("The calibration document with all cameras.")],
    out: Annotated[Path, option("The keypoints in space to write (JSON).", "--out", "-o")],
    fps: Annotated[
        float | None, option("Pictures a second, where the files do not say.", min=1)
    ] = None,
    max_off_px: Annotated[float, option("A camera farther off is left out.", min=0.1)] = 20.0,
    min_confidence: Annotated[
        float, option("Sightings less sure count nothing.", min=0, max=1)
    ] = 0.2,
    as_json: AsJson = False,
) -> None:
    """Make keypoints in space of those of two cameras or more, for `corporeal retarget`.

    PATH is a folder of OpenPose's files, COCO's list of results, or JSON with fps, names and
    frames. All cameras begin with the same picture. A sighting that agrees with no others is left
    out; a point that fewer than two cameras see is not made up.

    Exit 1 when less than half of the points are known.

    Example: [bold]corporeal triangulate left=left_json right=right_json --calibration lab.yaml
    --fps 30 -o person.json[/bold]
    """
    if out.exists():
        raise CorporealError(f"{out}: is there already. Name another --out.")
    known = {camera.name: camera for camera in Calibration.load(calibration).cameras}
    seen = {}
    for given in keypoints:
        name, sign, path = given.partition("=")
        if not sign or name in seen:
            raise CorporealError(f"keypoints {given!r}; expected CAMERA=PATH, each camera once.")
        if name not in known:
            raise UnknownNameError("camera of the calibration", name, known)
        seen[name] = read_picture_keypoints(Path(path))
    rates = {each.rate_hz for each in seen.values() if each.rate_hz is not None} | (
        {fps} if fps is not None else set()
    )
    if len(rates) != 1:
        said = ", ".join(f"{rate:g}" for rate in sorted(rates)) or "none"
        raise CorporealError(f"pictures a second, got {said}; expected one rate. Name --fps.")
    made = triangulate(known, seen, max_off_px=max_off_px, min_confidence=min_confidence)
    rows = np.concatenate([made.points, made.confidence[..., None]], axis=2)
    frames = [[None if np.isnan(point[0]) else [round(float(v), 5) for v in point]
               for point in frame] for frame in rows]  # fmt: skip
    atomic_write(out, json.dumps({"fps": rates.pop(), "names": made.names, "frames": frames}))
    counts = sorted({len(each.pixels) for each in seen.values()})
    values = {
        "keypoints": out, "frames": len(made.points), "points": len(made.names),
        "known_share": made.known_share, "off_px": made.off_px, "dropped": made.dropped,
    }  # fmt: skip
    lines = [
        f"{out}: {len(made.points)} frames, {made.known_share:.0%} of the points known",
        *(f"  {name}: {made.off_px[name]:.1f} px off, {made.dropped[name]:.0%} left out"
          for name in seen),
    ]  # fmt: skip
    if len(counts) > 1:
        lines.append(
            f"  lengths differ ({counts[0]} to {counts[-1]} pictures): the rest is left out"
        )
    print_result(as_json, values, "\n".join(lines) + f"\nnext: corporeal retarget {out}")
    raise typer.Exit(0 if made.known_share >= 0.5 else 1)


COMMAND = Command(triangulate_files, panel="Retarget")
