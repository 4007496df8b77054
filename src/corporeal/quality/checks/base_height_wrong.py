"""The base is as high above the ground as its legs carry it."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.base_and_feet import Footing, footing_of
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.track import Array, Track

UNITS = {100.0: "centimetres", 1000.0: "millimetres", 1 / 0.0254: "inches", 1 / 0.3048: "feet"}
# How high the base of a robot on its feet is, beside that of a standing one.
UPRIGHT = (0.65, 1.15)
# Part of the frames in which a robot that jumps or climbs is on the ground at least.
COMES_DOWN = 0.05


def find(subject: Subject, *, max_offset_m: float = 0.03, max_ratio: float = 1.6) -> Findings:
    """Yield a base that is too high or low to stand, or whose soles miss the ground.

    The ground is where a retargeted episode says, else z = 0; frames in which the episode says that
    nothing touches it do not count.
    With legs in the data the soles tell the offset, to `max_offset_m`; soles that come down to the
    ground at times are those of a robot that jumps or climbs. Without legs the height is held
    against the standing robot's: over `max_ratio` times as high throughout, or below the ground.
    A unit is named, and the episode fails, where a standing robot of that height fits it.

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
    lowest = float(np.quantile(height, COMES_DOWN))
    if lowest > max_ratio * standing.height or middle < 0:
        yield _implausible(track, middle, standing.height, max_ratio)
        return
    footing = attempt(footing_of, subject)
    offset = 0.0 if footing is None else footing.ground - footing.floor
    if footing is not None and abs(offset) > max_offset_m and not _lands(footing):
        side = "below" if offset < 0 else "above"
        yield Finding(
            f"the soles stand {abs(offset):.3f} m {side} the ground by {track.label}: its "
            f"height is off by a constant.",
            stream=track.label,
            value=offset,
            limit=max_offset_m,
            evidence=_curve(track),
        )


def _implausible(track: Track, middle: float, standing: float, max_ratio: float) -> Finding:
    fits = (
        name for gain, name in UNITS.items() if UPRIGHT[0] < middle / standing / gain < UPRIGHT[1]
    )
    unit = next(fits, "")
    guess = f": it is in {unit}" if unit else ""
    return Finding(
        f"the base in {track.label} is {middle:.3g} m high where the robot stands at "
        f"{standing:.3g} m{guess}.",
        stream=track.label,
        value=middle,
        limit=max_ratio * standing if middle > 0 else 0.0,
        evidence=_curve(track),
        severity="fail" if unit or middle < 0 else None,
    )


def _lands(footing: Footing) -> bool:
    """Whether soles that are above the ground most of the time come down to it at times."""
    lower = np.nanmin(footing.lowest, axis=1) - footing.floor
    down = float(np.nanquantile(lower, COMES_DOWN))
    offset = footing.ground - footing.floor
    return offset > 0 and down < offset / 2


def _curve(track: Track) -> dict[str, Array]:
    return drawn_whole(track.seconds, {"height_m": track.values[:, track.names.index("z")]})


CHECK = Check(
    find,
    topic="frames",
    severity="quarantine",
    rests_on=("robot",),
    unit="m",
    explains=(
        "foot_below_ground",
        "base_jumps",
    ),
    formerly=("base_height",),
)
