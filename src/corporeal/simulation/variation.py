"""What differs between demonstrations: the scene, the operator's style, the fault, all seeded."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import cos, sin
from typing import Any

import numpy as np

from corporeal.errors import CorporealError, UnknownNameError


@dataclass(frozen=True)
class Style:
    """How an operator moves; `skill` 0..1 is the known rank for quality scores.

    `speed` multiplies that of the task, `tremor_m` is the size of the shake of the hand,
    `pause` the chance of stopping before a motion, `overshoot` the part of a motion that goes
    too far and is taken back, `aim_m` the spread of where the hand goes, `jerk` how much of the
    smooth start and stop is lost.
    """

    skill: float
    speed: float = 1.0
    tremor_m: float = 0.0
    pause: float = 0.0
    overshoot: float = 0.0
    aim_m: float = 0.0
    jerk: float = 0.0


STYLES: dict[str, Style] = {
    "careful": Style(0.95, speed=0.8, aim_m=0.001),
    "steady": Style(0.85, speed=1.0, aim_m=0.002),
    "hesitant": Style(0.55, speed=0.85, tremor_m=0.001, pause=0.6, aim_m=0.003),
    "hasty": Style(0.40, speed=1.4, tremor_m=0.001, overshoot=0.10, aim_m=0.004, jerk=0.3),
    "jerky": Style(
        0.20, speed=1.1, tremor_m=0.003, pause=0.3, overshoot=0.12, aim_m=0.004, jerk=0.7
    ),
}


Span = tuple[float, float]
Point = tuple[float, float, float]
Colour = tuple[float, float, float]

FAULTS = ("missed_grasp", "slip", "drop", "collision", "fall")
COLOURS: dict[str, Colour] = {
    "red": (0.80, 0.16, 0.14),
    "blue": (0.13, 0.32, 0.78),
    "green": (0.15, 0.58, 0.25),
    "yellow": (0.92, 0.76, 0.12),
    "purple": (0.48, 0.20, 0.62),
    "orange": (0.93, 0.47, 0.10),
}


@dataclass(frozen=True)
class Ranges:
    """Limits of the domain randomisation; each is (low, high) and drawn from once per run.

    `mass` multiplies an object's mass (drawn evenly in its logarithm), `friction` is the
    coefficient of the objects and of the floor, `light` multiplies the lamps, `light_angle_rad`
    tilts them, `texture` 0..1 says how far colours of room and robot may leave their usual ones.
    """

    mass: Span = (0.8, 1.25)
    friction: Span = (0.7, 1.2)
    light: Span = (0.8, 1.15)
    light_angle_rad: Span = (-0.2, 0.2)
    texture: Span = (0.0, 0.25)

    def __post_init__(self) -> None:
        for name, limits in LIMITS.items():
            low, high = getattr(self, name)
            if not limits[0] <= low <= high <= limits[1]:
                raise CorporealError(
                    f"range of {name}, got ({low}, {high}); expected low <= high within "
                    f"{limits[0]} to {limits[1]}. Narrow the range."
                )


LIMITS: dict[str, Span] = {
    "mass": (0.1, 10.0),
    "friction": (0.1, 2.0),
    "light": (0.05, 3.0),
    "light_angle_rad": (-1.2, 1.2),
    "texture": (0.0, 1.0),
}
FIXED = Ranges((1.0, 1.0), (0.9, 0.9), (1.0, 1.0), (0.0, 0.0), (0.0, 0.0))
WIDE = Ranges((0.1, 10.0), (0.1, 2.0), (0.3, 1.6), (-0.8, 0.8), (0.0, 1.0))


@dataclass(frozen=True)
class SceneObject:
    """An object that can be moved: `size` is its full extents (m), `position` its centre at rest.

    A cylinder's size is (diameter, diameter, height), a ball's has three equal numbers. A crate
    is a flat box with an upright handle on its left and right, which its height leaves out.
    """

    name: str
    shape: str
    size: Point
    position: Point
    yaw_rad: float
    colour: str
    mass_kg: float
    friction: float


@dataclass(frozen=True)
class SceneLayout:
    """What a task needs to stand in the room, as ranges to draw from."""

    table: bool = True
    shapes: tuple[str, ...] = ("box",)
    width_m: Span = (0.045, 0.06)
    height_m: Span = (0.09, 0.13)
    mass_kg: Span = (0.2, 0.4)
    ahead_m: Span = (0.31, 0.36)
    aside_m: Span = (0.10, 0.22)
    yaw_rad: Span = (-0.25, 0.25)
    goal_apart_m: Span = (0.08, 0.14)
    approaches: tuple[str, ...] = ("top", "side")
    hands: tuple[str, ...] = ("left", "right")
    distractors: tuple[int, int] = (0, 2)
    objects: bool = True
    goal_across: bool = False
    mark: bool = True


@dataclass(frozen=True)
class SceneWish:
    """What somebody asks of a run; what is None is drawn. `object_xy` is in metres."""

    hand: str | None = None
    approach: str | None = None
    object_xy: tuple[float, float] | None = None
    object_yaw_rad: float | None = None


@dataclass(frozen=True)
class Variation:
    """Everything that was drawn for one run; `hand`, `approach` and `goal` are the operator's.

    `mark` is whether the goal can be seen. `push_ns` is an impulse in N s at `push_time_s`.
    """

    seed: int
    style: str
    fault: str | None
    hand: str
    approach: str
    speed: float
    things: tuple[SceneObject, ...]
    goal: Point
    mark: bool
    table_height_m: float | None
    obstacle: Point | None
    floor_friction: float
    light: float
    light_angle_rad: float
    palette: tuple[Colour, ...]
    push_ns: tuple[float, float]
    push_time_s: float
    ranges: Ranges

    @property
    def operator(self) -> Style:
        """The parameters of the style."""
        return STYLES[self.style]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for an episode's metadata, the skill of the style included."""
        return {**asdict(self), "skill": self.operator.skill}


def vary(
    layout: SceneLayout,
    seed: int,
    *,
    style: str | None = None,
    fault: str | None = None,
    ranges: Ranges | None = None,
    wish: SceneWish | None = None,
) -> Variation:
    """Draw one variation of a layout; the same arguments give the same variation.

    What `wish` asks for is done instead of drawn: the hand is the one on the object's side where
    only the object's place is asked for, and no ball lies there for a hand from the side.
    """
    if style is not None and style not in STYLES:
        raise UnknownNameError("operator style", style, STYLES)
    if fault is not None and fault not in FAULTS:
        raise UnknownNameError("fault", fault, FAULTS)
    ranges = ranges or Ranges()
    rng = np.random.default_rng([seed, 1])
    # The look has its own numbers: a brighter lamp must not move the box.
    look = np.random.default_rng([seed, 2])
    # Drawn even when it is given: the same scene for every style of the same seed.
    drawn = tuple(STYLES)[rng.integers(len(STYLES))]
    chosen = style or drawn
    hand = layout.hands[rng.integers(len(layout.hands))]
    approach = layout.approaches[rng.integers(len(layout.approaches))]
    if wish is not None:
        layout, hand, approach = _as_wished(layout, wish, hand, approach)
    height = float(rng.uniform(0.66, 0.70)) if layout.table else None
    things = _things(layout, rng, ranges, hand, height) if layout.objects else ()
    if things and wish is not None:
        things = (_moved(things[0], wish), *things[1:])
    if things and things[0].shape == "ball":
        # A ball lies too low for a hand from the side.
        approach = "top"
    goal = _goal(layout, rng, things, hand, height)
    angle = rng.uniform(0.0, 2 * np.pi)
    variation = Variation(
        seed=seed, style=chosen, fault=fault, hand=hand, approach=approach,
        speed=float(rng.uniform(0.9, 1.1)), things=things, goal=goal, mark=layout.mark,
        table_height_m=height,
        obstacle=None, floor_friction=float(rng.uniform(*ranges.friction)),
        light=float(look.uniform(*ranges.light)),
        light_angle_rad=float(look.uniform(*ranges.light_angle_rad)),
        palette=_palette(look, float(look.uniform(*ranges.texture))),
        push_ns=(0.0, 0.0), push_time_s=float(rng.uniform(2.0, 4.0)), ranges=ranges,
    )  # fmt: skip
    return _with_fault(variation, float(angle), rng)


def _as_wished(
    layout: SceneLayout, wish: SceneWish, hand: str, approach: str
) -> tuple[SceneLayout, str, str]:
    """The layout, hand and approach of a wish; raises UnknownNameError for what no task has."""
    if wish.object_xy is not None and layout.objects and wish.hand is None:
        side = "left" if wish.object_xy[1] >= 0 else "right"
        hand = side if side in layout.hands else hand
    if wish.hand is not None and wish.hand not in layout.hands:
        raise UnknownNameError("hand of this task", wish.hand, layout.hands)
    if wish.approach is not None and wish.approach not in layout.approaches:
        raise UnknownNameError("approach of this task", wish.approach, layout.approaches)
    if wish.approach == "side":
        shapes = tuple(shape for shape in layout.shapes if shape != "ball")
        layout = replace(layout, shapes=shapes or layout.shapes)
    return layout, wish.hand or hand, wish.approach or approach


def _moved(thing: SceneObject, wish: SceneWish) -> SceneObject:
    x, y = wish.object_xy if wish.object_xy is not None else thing.position[:2]
    yaw = thing.yaw_rad if wish.object_yaw_rad is None else wish.object_yaw_rad
    return replace(thing, position=(x, y, thing.position[2]), yaw_rad=yaw)


def _things(
    layout: SceneLayout, rng: np.random.Generator, ranges: Ranges, hand: str, height: float | None
) -> tuple[SceneObject, ...]:
    top = height or 0.0
    side = 1.0 if hand == "left" else -1.0
    colours = [str(name) for name in rng.permutation(list(COLOURS))]
    friction = float(rng.uniform(*ranges.friction))
    factor = float(np.exp(rng.uniform(*np.log(ranges.mass))))
    shape = layout.shapes[rng.integers(len(layout.shapes))]
    size = _size(shape, layout, rng)
    place = (rng.uniform(*layout.ahead_m), side * rng.uniform(*layout.aside_m))
    things = [
        SceneObject(
            "object", shape, size, (float(place[0]), float(place[1]), top + size[2] / 2),
            (0.0 if shape == "crate" else -0.3 * side) + float(rng.uniform(*layout.yaw_rad)),
            colours[0],
            float(rng.uniform(*layout.mass_kg)) * factor, friction,
        )
    ]  # fmt: skip
    for number in range(int(rng.integers(layout.distractors[0], layout.distractors[1] + 1))):
        kind = ("box", "cylinder", "ball")[rng.integers(3)]
        extent = float(rng.uniform(0.05, 0.08))
        where = (float(rng.uniform(0.56, 0.68)), float(rng.uniform(-0.45, 0.45)), top + extent / 2)
        things.append(
            SceneObject(
                f"distractor_{number}",
                kind,
                (extent,) * 3,
                (where[0], 0.2 * (2 * number - 1) + where[1] / 5, where[2]),
                0.0,
                colours[1 + number],
                0.2,
                friction,
            )
        )
    return tuple(things)


def _size(shape: str, layout: SceneLayout, rng: np.random.Generator) -> Point:
    width = float(rng.uniform(*layout.width_m))
    height = float(rng.uniform(*layout.height_m))
    if shape == "ball":
        return (width, width, width)
    if shape == "crate":
        return (0.6 * width, width, height)
    return (width, width, height)


def _goal(
    layout: SceneLayout,
    rng: np.random.Generator,
    things: tuple[SceneObject, ...],
    hand: str,
    height: float | None,
) -> Point:
    side = 1.0 if hand == "left" else -1.0
    if not things:
        where = (rng.uniform(*layout.ahead_m), side * rng.uniform(*layout.aside_m))
        return (float(where[0]), float(where[1]), (height or 0.75) + float(rng.uniform(0.1, 0.3)))
    start = things[0].position
    if layout.goal_across:
        return (float(rng.uniform(0.31, 0.35)), -side * float(rng.uniform(0.12, 0.20)), start[2])
    apart = float(rng.uniform(*layout.goal_apart_m))
    # Towards whichever side keeps the goal in front of the arm that carries.
    inward = abs(start[1]) - apart > 0.09
    aside = min(abs(start[1]) + (-apart if inward else apart), 0.27)
    ahead = float(np.clip(start[0] + rng.uniform(-0.03, 0.03), 0.31, 0.36))
    return (ahead, side * aside, start[2])


def _palette(rng: np.random.Generator, strength: float) -> tuple[Colour, ...]:
    # Floor, wall, table, robot light, robot dark.
    usual = np.array(
        [[0.62, 0.58, 0.52], [0.82, 0.83, 0.80], [0.66, 0.48, 0.32], [0.86, 0.87, 0.88],
         [0.20, 0.21, 0.23]]
    )  # fmt: skip
    mixed = (1 - strength) * usual + strength * rng.uniform(0.05, 0.95, usual.shape)
    return tuple((float(r), float(g), float(b)) for r, g, b in mixed)


def _with_fault(variation: Variation, angle: float, rng: np.random.Generator) -> Variation:
    if variation.fault == "fall":
        # Two to four times what the balance controller can catch in the weakest direction.
        push = float(rng.uniform(28.0, 45.0))
        return replace(variation, push_ns=(push * cos(angle), push * sin(angle)))
    if variation.fault == "slip" and variation.things:
        first = replace(variation.things[0], friction=float(rng.uniform(0.1, 0.13)))
        return replace(variation, things=(first, *variation.things[1:]))
    if variation.fault == "collision" and variation.things:
        # A post on the way: the object far out, the mark far in, the post just past halfway.
        thing, sign = variation.things[0], 1.0 if variation.hand == "left" else -1.0
        x, height = thing.position[0], thing.position[2]
        moved = replace(thing, position=(x, 0.22 * sign, height))
        return replace(
            variation,
            things=(moved, *variation.things[1:]),
            goal=(x, 0.0, height),
            obstacle=(x, 0.09 * sign, (variation.table_height_m or 0.0)),
        )
    return variation
