"""The base is as high above the ground as its legs carry it."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.base_and_feet import footing_of
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.track import Array, Track

UNITS = {100.0: "centimetres", 1000.0: "millimetres", 1 / 0.0254: "inches", 1 / 0.3048: "feet"}


def find(subject: Subject, *, max_offset_m: float = 0.03, max_ratio: float = 1.6) -> Findings:
    """Yield a base that is too high or low to stand, or whose soles miss the ground z = 0.

    With legs in the data the soles tell the offset, to `max_offset_m`. Without them the height is
    held against the standing robot's: over `max_ratio` times as high, or below the ground.

    Why: a height in other units, or from another floor, makes every pose in the world wrong.
    Fix: convert the units, or subtract the height of the floor.
    """
    track = subject.track(roles.BASE_POSE)
    if "z" not in track.names:
        raise NotAssessed(f"{track.label} has no column z")
    height = track.values[:, track.names.index("z")]
    height = height[np.isfinite(height)]
    standing = subject.robot.standing
    if not height.size or standing is None:
        raise NotAssessed(f"{track.label} has no height" if standing else "no standing height")
    middle = float(np.median(height))
    ratio = middle / standing.height
    if ratio > max_ratio or ratio < 0:
        yield _implausible(track, middle, standing.height, max_ratio)
        return
    footing = attempt(footing_of, subject)
    if footing is not None and abs(footing.ground) > max_offset_m:
        side = "below" if footing.ground < 0 else "above"
        yield Finding(
            f"the soles stand {abs(footing.ground):.3f} m {side} the ground by {track.label}: its "
            f"height is off by a constant.",
            stream=track.label,
            value=footing.ground,
            limit=max_offset_m,
            evidence=_curve(track),
        )


def _implausible(track: Track, middle: float, standing: float, max_ratio: float) -> Finding:
    unit = next((name for gain, name in UNITS.items() if 0.6 < middle / standing / gain < 1.4), "")
    guess = f": it is in {unit}" if unit else ""
    return Finding(
        f"the base in {track.label} is {middle:.3g} m high where the robot stands at "
        f"{standing:.3g} m{guess}.",
        stream=track.label,
        value=middle,
        limit=max_ratio * standing if middle > 0 else 0.0,
        evidence=_curve(track),
        severity="fail",
    )


def _curve(track: Track) -> dict[str, Array]:
    return drawn_whole(track.seconds, {"height_m": track.values[:, track.names.index("z")]})


CHECK = Check(find, topic="frames", severity="quarantine", unit="m", formerly=("base_height",))
