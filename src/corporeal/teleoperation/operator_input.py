"""What an operator does at one instant, whatever device saw it: one schema for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.geometry import Array
from corporeal.registry import plugins

Side = Literal["left", "right"]
SIDES: Final[tuple[Side, Side]] = ("left", "right")
Tracker = Literal["controller", "hand"]

_FINGERS = ("index_finger", "middle_finger", "ring_finger", "pinky_finger")
_BONES = ("metacarpal", "phalanx_proximal", "phalanx_intermediate", "phalanx_distal", "tip")
# A recording lasts as long as a wait and its samples, however slow the device.
LONGEST_GAP_NS: Final = 600_000_000_000
SLOWEST_NS: Final = 1_000_000_000
HAND_JOINTS: Final = (
    "palm",
    "wrist",
    *(f"thumb_{bone}" for bone in _BONES if bone != "phalanx_intermediate"),
    *(f"{finger}_{bone}" for finger in _FINGERS for bone in _BONES),
)
"""The 26 joints of OpenXR in its order; a WebXR hand has all but the palm."""
BUTTONS: Final = ("trigger", "squeeze", "touchpad", "stick", "a_or_x", "b_or_y", "thumbrest")
"""The first buttons of WebXR's xr-standard mapping; a device may have more."""
AXES: Final = ("touchpad_x", "touchpad_y", "stick_x", "stick_y")
"""The axes of WebXR's xr-standard mapping; a stick pushed ahead is negative."""

PALM = HAND_JOINTS.index("palm")
WRIST = HAND_JOINTS.index("wrist")
THUMB_TIP = HAND_JOINTS.index("thumb_tip")
INDEX_TIP = HAND_JOINTS.index("index_finger_tip")


class InputError(CorporealError):
    """The operator's input cannot be read."""


@dataclass(frozen=True, slots=True)
class InputTimes:
    """When an input was made, as far as anybody knows.

    `device_ns`, `predicted_ns` and `sent_ns` are on the device's clock, whatever its epoch:
    when its frame began, the instant for which it predicted its poses (None: it does not say), and
    when it sent them. `received_ns` is on the host's clock.
    """

    device_ns: int
    received_ns: int
    predicted_ns: int | None = None
    sent_ns: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OperatorHand:
    """One hand or the controller in it.

    `pose` (7,) is x y z qw qx qy qz in the operator's room, x ahead, y left, z up: of a
    controller its grip, of a hand its wrist; None while it is not tracked. `is_emulated` says that
    its place is a guess of the device. `source` changes when the device hands over a new object.
    `buttons` and `axes` are values 0..1 and -1..1 in the order of BUTTONS and AXES, `pressed` says
    which buttons are down. `joints` (26, 8) are pose and radius of HAND_JOINTS, NaN where not
    known; without a `pose` they are relative to the wrist, as gloves have them. `confidence` (26,)
    is how sure of each the device is, 0 to 1, where it says so. `clutch` is whether the operator
    holds the clutch, where the device says so.
    """

    tracker: Tracker
    source: int
    pose: Array | None = None
    is_emulated: bool = False
    buttons: Array = field(default_factory=lambda: np.zeros(0))
    pressed: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    axes: Array = field(default_factory=lambda: np.zeros(0))
    joints: Array | None = None
    clutch: bool | None = None
    confidence: Array | None = None

    @property
    def is_tracked(self) -> bool:
        """Whether its pose was seen, and not only guessed."""
        return self.pose is not None and not self.is_emulated

    def button(self, name: str) -> float:
        """How far a button is down, 0 to 1; 0 for one that the device does not have."""
        number = BUTTONS.index(name)
        return float(self.buttons[number]) if number < len(self.buttons) else 0.0

    def is_pressed(self, name: str) -> bool:
        """Whether a button is down."""
        number = BUTTONS.index(name)
        return bool(self.pressed[number]) if number < len(self.pressed) else False

    def axis(self, name: str) -> float:
        """Where a stick or touchpad is, -1 to 1; 0 for one that the device does not have."""
        number = AXES.index(name)
        return float(self.axes[number]) if number < len(self.axes) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class OperatorInput:
    """Everything that is known of the operator at one instant.

    `sequence` counts the messages of one connection. `is_visible` is False while the page is in
    the background or a menu lies over it; `origin` counts how often the operator's room was
    recentred. `head` (7,) is a pose as those of the hands. `base_velocity` (3,) is what sticks or
    pedals ask of the legs: ahead and left in m/s, turning left in rad/s. `joints` are the streams
    of leader arms and exoskeletons: by the name of the stream, its joints in rad (n,).
    """

    sequence: int
    times: InputTimes
    is_visible: bool = True
    origin: int = 0
    head: Array | None = None
    left: OperatorHand | None = None
    right: OperatorHand | None = None
    base_velocity: Array | None = None
    joints: Mapping[str, Array] = field(default_factory=dict)

    def hand(self, side: Side) -> OperatorHand | None:
        """The hand of a side; None where there is none."""
        return self.left if side == "left" else self.right


@dataclass(frozen=True)
class InputSource:
    """A plugin: a way to read inputs from a file; `read` yields them in order of reception.

    Stamps count from any epoch: whoever plays them keeps their distances. `streams` are the joint
    streams of a file by name, their joints by the robot's names.
    """

    read: Callable[[Path], Iterator[OperatorInput]]
    accepts: Callable[[Path], bool]
    streams: Callable[[Path], Mapping[str, tuple[str, ...]]] | None = None


def input_sources() -> dict[str, InputSource]:
    """All ways to read recorded input, by name."""
    return plugins("corporeal.teleoperation.inputs", "INPUT", InputSource)


def input_streams(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The joint streams in a file by name, with the robot's names of their joints; often none."""
    source = next((each for each in input_sources().values() if each.accepts(path)), None)
    return {} if source is None or source.streams is None else source.streams(path)


def read_inputs(path: Path) -> Iterator[OperatorInput]:
    """The inputs in a file of any kind that is known; raises InputError for another.

    As well for stamps that are farther apart than so many samples can be: who follows them works
    through the time between.
    """
    if not path.is_file():
        raise InputError(f"input {path}, got no such file; expected a recording. Check the path.")
    known = input_sources()
    for source in known.values():
        if source.accepts(path):
            return _within_time(source.read(path), path)
    raise InputError(
        f"input {path}, got a file of no known kind; expected one of: {', '.join(known)}. "
        "Record hands with a headset, glasses or gloves, or give a robot's motion."
    )


def _within_time(inputs: Iterator[OperatorInput], path: Path) -> Iterator[OperatorInput]:
    first: InputTimes | None = None
    for count, given in enumerate(inputs):
        first = first or given.times
        room_ns = LONGEST_GAP_NS + count * SLOWEST_NS
        for now_ns, then_ns in ((given.times.device_ns, first.device_ns),
                                (given.times.received_ns, first.received_ns)):  # fmt: skip
            if abs(now_ns - then_ns) > room_ns:
                raise InputError(
                    f"input {path}, got sample {count + 1} {(now_ns - then_ns) / 1e9:.6g} s after "
                    f"the first; expected at most {room_ns / 1e9:.0f} s. A clock was set "
                    "meanwhile, or these are two recordings: cut it there."
                )
        yield given
