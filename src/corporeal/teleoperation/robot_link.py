"""The robot's side of a session: its state is read, a command sent, and what was sent is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.geometry import Array
from corporeal.registry import plugins
from corporeal.schema import Part, Stream
from corporeal.teleoperation.clearance import Obstacle
from corporeal.teleoperation.operator_input import Side
from corporeal.teleoperation.session import BodyState, Tick


@dataclass(frozen=True, eq=False)
class SentCommand:
    """What a robot was really told: all joints (J,), openings in its own unit, base velocity.

    A joint that it was told nothing of is NaN.
    """

    joints: Array
    openings: Mapping[Side, float]
    velocity: Array


@dataclass(frozen=True)
class TaskResult:
    """How a demonstration ended by the judge of its task; `measures` are what it looked at."""

    success: bool
    failure: str | None = None
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class NearbyThing:
    """An object: `form` box, ball or cylinder, `size` extents (m), `pose` (7,) in the world."""

    name: str
    form: str
    size: tuple[float, float, float]
    colour: str
    pose: Array


class RobotLink(Protocol):
    """A robot that is driven. One thread calls all but `picture`, which another one may.

    `told` are the columns of the joints that it is told of. `streams` are those that `measure`
    gives values of, in the same order of time as `read`. `picture_size` is height and width,
    `kneels` whether it follows a tick that kneels,
    `opening_m` how far a hand opens, in the unit of its stream (0: it has none). `obstacles` are
    what its arms must not touch, in the world of its base.
    """

    robot: Embodiment
    told: tuple[int, ...]
    obstacles: tuple[Obstacle, ...]
    streams: tuple[Stream, ...]
    cameras: tuple[str, ...]
    picture_size: tuple[int, int]
    opening_m: float
    instruction: str
    walks: bool
    kneels: bool
    facts: Mapping[str, Any]

    def read(self, now_ns: int) -> BodyState:
        """The state, now."""
        ...

    def send(self, tick: Tick) -> SentCommand:
        """Give a command; the robot has a control tick to follow it."""
        ...

    def measure(self) -> Mapping[str, Any]:
        """What all its sensors say, by the path of their streams."""
        ...

    def picture(self, camera: str) -> NDArray[np.uint8]:
        """What a camera sees: (height, width, 3); always from the same thread."""
        ...

    def things(self) -> Sequence[NearbyThing]:
        """The objects that its side knows of, from any thread."""
        ...

    def begin_task(self) -> None:
        """A demonstration begins."""
        ...

    def judge_task(self) -> TaskResult | None:
        """How the demonstration that began has ended; None where nobody can tell."""
        ...

    def put_back(self) -> bool:
        """Put the scene back for the next demonstration; False where people have to."""
        ...

    def release_cameras(self) -> None:
        """Give the cameras back, from the thread that asked for pictures."""
        ...

    def close(self) -> None:
        """Let the robot go, standing."""
        ...


class LinkOptions(Part):
    """What a link is opened with: the simulation looks at its scene, a robot at its network.

    `cameras` are wanted beside those that it shows anyway; one that it does not have is left out.
    """

    robot: str = "g1"
    interface: str = "lo"
    domain: int = 0
    task: str = "pick_place"
    seed: int = 0
    walking_policy: Path | None = None
    height: int = 480
    width: int = 640
    cameras: tuple[str, ...] = ()


@dataclass(frozen=True)
class RobotDriver:
    """A plugin: a kind of link. `robots` are the robots that it can drive.

    What `is_hardware` may hurt somebody: it is opened only where that was said to be meant.
    """

    open: Callable[[LinkOptions], RobotLink]
    robots: tuple[str, ...]
    is_hardware: bool = False


def robot_drivers() -> dict[str, RobotDriver]:
    """All kinds of links by name."""
    return plugins("corporeal.teleoperation.robots", "ROBOT", RobotDriver)
