"""What checks look at: one recording, with everything several checks need computed once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import Kinematics, Poses
from corporeal.episode.recording import ImageSequence, Recording, VideoFile
from corporeal.errors import CorporealError, NotAssessed
from corporeal.geometry import continuous_quaternions
from corporeal.schema import roles
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array, Track, track_of

# Ends of the roles of which it is known what they hold; anything else may leap or stand by nature.
UNDERSTOOD_ENDS = (
    roles.JOINT_VELOCITY, roles.JOINT_TORQUE, roles.BASE_VELOCITY, roles.IMU, roles.WRENCH,
    roles.TACTILE, roles.GRIPPER, roles.GRIPPER_TARGET, roles.ANY_POSE, roles.HAND_POSITION,
)  # fmt: skip

# Encoders step: positions are smoothed by so much before their rate is taken.
_SMOOTH_S = 0.02

Trait = Literal[
    "state", "action", "joints", "robot", "base", "cameras", "imu", "forces", "torques", "grippers",
    "own_clocks", "protocol",
]  # fmt: skip
"""What a source can have that checks look at. `own_clocks`: not a table with one row of stamps."""

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class JointPosture:
    """The robot's joints on one clock, in the robot's own order.

    `present` marks the joints that the data has; the others stand as the robot does at rest.
    `base` is the pelvis in the world (T, 7) as x y z qw qx qy qz, where that was recorded.
    """

    label: str
    time_ns: NDArray[np.int64]
    q: Array
    present: Flags
    base: Array | None

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, eq=False)
class Subject:
    """One recording under the checks. A property that cannot be had raises NotAssessed."""

    recording: Recording
    protocol: Any = None
    detector: Any = None
    """Learnt from good episodes of the task; see `corporeal.quality.anomaly.detector`."""
    unreadable: dict[str, str] = field(default_factory=dict, repr=False)
    """Why a stream could not be read, by label; filled as streams are read."""
    computed: dict[object, Any] = field(default_factory=dict, repr=False)
    """What was worked out of it; see `once_per_subject`."""

    @property
    def robot(self) -> Embodiment:
        """The robot's model."""
        if self.recording.embodiment is None:
            raise NotAssessed("the robot is not known; name it with --robot")
        return self.recording.embodiment

    def track(self, *names: str) -> Track:
        """The first signal that has one of these roles (`spec.name`), as numbers."""
        track = self.find_track(*names)
        if track is None:
            raise NotAssessed(f"no {' or '.join(names)} stream")
        return track

    def find_track(self, *names: str) -> Track | None:
        """The same; None where there is no such signal."""
        labels = (self.recording.named(role) or "" for role in names)
        return next((self.tracks[label] for label in labels if label in self.tracks), None)

    @property
    def joint_tracks(self) -> list[Track]:
        """State and action, as far as there are."""
        tracks = (self.find_track(*roles.MEASURED), self.find_track(*roles.COMMANDED))
        return [track for track in tracks if track is not None]

    @cached_property
    def tracks(self) -> dict[str, Track]:
        """Every array stream with at most one axis, by label; those that cannot be read are left
        out and named in `unreadable`."""
        found: dict[str, Track] = {}
        for label, signal in self.recording.signals.items():
            if signal.spec.kind == "array" and len(signal.spec.shape) <= 1:
                try:
                    found[label] = track_of(label, signal)
                except (CorporealError, ValueError) as error:
                    self.unreadable[label] = str(error)
        return found

    @property
    def understood(self) -> dict[str, Track]:
        """The tracks whose role says what they hold, by label."""
        return {
            label: track
            for label, track in self.tracks.items()
            if track.spec.name in (*roles.MEASURED, *roles.COMMANDED)
            or track.spec.name.endswith(UNDERSTOOD_ENDS)
        }

    @property
    def state(self) -> Track:
        """Where the robot is: joint positions, or whatever the source calls its state."""
        return self.track(*roles.MEASURED)

    @property
    def action(self) -> Track:
        """What the robot was told: joint targets, or whatever the source calls its action.

        Targets of velocities or torques are none that the positions could be held against; see
        `command_and_answer`.
        """
        others = self.find_track(*roles.OTHER_TARGETS)
        if others is not None and self.find_track(*roles.COMMANDED) is None:
            raise NotAssessed(
                f"the action is {others.spec.name}, which positions cannot be held against"
            )
        return self.track(*roles.COMMANDED)

    @cached_property
    def command_and_answer(self) -> tuple[Track, Track]:
        """What the robot was told, and the stream that should follow it: the same quantity.

        Targets of positions and where the joints are; without any, targets of velocities and how
        fast the joints turn (the rate of their positions where nothing measures it), or targets of
        torques and the torques.
        """
        others = self.find_track(*roles.OTHER_TARGETS)
        if others is None or self.find_track(*roles.COMMANDED) is not None:
            return self.action, self.state
        if others.spec.name == roles.JOINT_TORQUE_TARGET:
            return others, self.track(roles.JOINT_TORQUE)
        velocity = self.find_track(roles.JOINT_VELOCITY)
        if velocity is not None:
            return others, velocity
        position = self.track(roles.JOINT_POSITION)
        return others, replace(position, values=position.smooth(_SMOOTH_S).rate)

    @cached_property
    def footage(self) -> dict[str, VideoFile | ImageSequence]:
        """Every camera by label."""
        signals = self.recording.signals
        return {
            label: s for label, s in signals.items() if isinstance(s, VideoFile | ImageSequence)
        }

    def ending_in(self, suffix: str) -> dict[str, Track]:
        """Every track whose role ends so, such as `_imu` or `_wrench`."""
        return {
            label: track for label, track in self.tracks.items() if track.spec.name.endswith(suffix)
        }

    def joint_columns(self, track: Track) -> dict[str, int]:
        """Column of every joint of the robot that the track has, by the joint's name."""
        known = set(self.robot.joint_names)
        return {name: column for column, name in enumerate(track.names) if name in known}

    @cached_property
    def kinematics(self) -> Kinematics:
        """Forward kinematics of the robot."""
        return model_of(self.robot, Kinematics)

    @cached_property
    def posture(self) -> JointPosture:
        """The joints in the robot's order, and its base where that is known."""
        state = self.track(roles.JOINT_POSITION)
        columns = self.joint_columns(state)
        if not columns:
            raise NotAssessed(f"no column of {state.label} is a joint of {self.robot.name}")
        names = self.robot.joint_names
        standing = self.robot.standing
        rest = standing.posture if standing is not None else {}
        q = np.empty((len(state), len(names)))
        present = np.zeros(len(names), bool)
        for number, name in enumerate(names):
            present[number] = name in columns
            q[:, number] = state.values[:, columns[name]] if name in columns else rest.get(name, 0)
        # An infinite angle has no sine; as a hole it stays a hole.
        q[~np.isfinite(q)] = np.nan
        return JointPosture(state.label, state.time_ns, q, present, self._base(state))

    def _base(self, state: Track) -> Array | None:
        track = self.find_track(roles.BASE_POSE)
        if track is None or not len(track) or not set(roles.POSE) <= set(track.names):
            return None
        pose = track.values[:, [track.names.index(name) for name in roles.POSE]]
        # Between q and -q, the same rotation, a straight line would pass through another one.
        pose[~np.isfinite(pose)] = np.nan
        pose[:, 3:] = continuous_quaternions(pose[:, 3:])
        base = replace(track, values=pose).at(state.time_ns)
        length = np.linalg.norm(base[:, 3:], axis=1, keepdims=True)
        base[:, 3:] /= np.where(length > 0, length, 1.0)
        return base

    @cached_property
    def link_poses(self) -> Poses:
        """Every link on the state's clock, in the world where the base is known."""
        posture = self.posture
        return self.kinematics.link_poses(posture.q, posture.base)

    @property
    def traits(self) -> frozenset[Trait]:
        """What the source has, by the roles of its streams; no sample is read for it."""
        signals = self.recording.signals
        names = {signal.spec.name for signal in signals.values()}
        ends = {signal.spec.name for signal in signals.values() if signal.spec.kind == "array"}
        stamps = {
            (len(signal), int(signal.time_ns[0]), int(signal.time_ns[-1]))
            for signal in signals.values()
            if len(signal) and signal.spec.rate_hz is not None
        }
        present: dict[Trait, bool] = {
            "state": not names.isdisjoint(roles.MEASURED),
            "action": not names.isdisjoint(roles.COMMANDED),
            "joints": not names.isdisjoint((roles.JOINT_POSITION, roles.JOINT_POSITION_TARGET)),
            "robot": self.recording.embodiment is not None,
            "base": roles.BASE_POSE in names,
            "cameras": bool(self.footage),
            "imu": any(name.endswith(roles.IMU) for name in ends),
            "forces": any(name.endswith(roles.WRENCH) for name in ends),
            "torques": roles.JOINT_TORQUE in names,
            "grippers": any(name.endswith(roles.GRIPPER) for name in ends),
            "own_clocks": len(stamps) > 1,
            "protocol": self.protocol is not None,
        }
        return frozenset(name for name, there in present.items() if there)

    @property
    def task(self) -> str | None:
        """What was demonstrated."""
        return self.recording.facts.task


@dataclass(frozen=True)
class Judgement:
    """The checks that a policy needs of an episode, and why checks could not run."""

    needed: Collection[str]
    not_assessed: Mapping[str, str]


def once_per_subject(
    compute: Callable[Concatenate[Subject, Given], Result],
) -> Callable[Concatenate[Subject, Given], Result]:
    """Make a function compute its evidence once for a subject and its other arguments.

    That it cannot be assessed is remembered as well.
    """

    @wraps(compute)
    def remember(subject: Subject, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        key = (compute, args, tuple(sorted(kwargs.items())))
        if key not in subject.computed:
            try:
                subject.computed[key] = compute(subject, *args, **kwargs)
            except NotAssessed as reason:
                subject.computed[key] = _Missing(str(reason))
        result: Result | _Missing = subject.computed[key]
        if isinstance(result, _Missing):
            raise NotAssessed(result.reason)
        return result

    return remember


def attempt(evidence: Callable[[Subject], Result], subject: Subject) -> Result | None:
    """The evidence, or None where it cannot be assessed."""
    try:
        return evidence(subject)
    except NotAssessed:
        return None


@dataclass(frozen=True)
class _Missing:
    """Why there is no evidence."""

    reason: str
