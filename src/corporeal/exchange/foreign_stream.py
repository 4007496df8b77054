"""Foreign data as streams: an episode while it is read, and what each of its columns is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import are_joints, match_joints, matched_share
from corporeal.episode.facts import ASSUMED, STREAM_RATES
from corporeal.episode.recording import (
    INDEX_WRONG,
    ArraySignal,
    Defect,
    DefectCheck,
    ImageSequence,
    ItemKind,
    Ledger,
    Recording,
    Signal,
    SourceItem,
    VideoFile,
    left_out,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.description import NAME, DatasetDescription, EpisodeDescription
from corporeal.schema import Stream, roles
from corporeal.schema.stream import Group
from corporeal.signal.grid import even_stamps
from corporeal.signal.recognition import (
    imu_columns,
    imu_units,
    is_action_label,
    joint_role,
    sensor_name,
)
from corporeal.units import SECOND_NS
from corporeal.words import listed, some_of

_PLAINLY_JOINTS = re.compile(r"(robot\d_)?(joint_\w+|qpos|qvel)")
_UNITS = {
    roles.JOINT_POSITION: "rad",
    roles.JOINT_POSITION_TARGET: "rad",
    roles.JOINT_VELOCITY: "rad/s",
    roles.JOINT_TORQUE: "N m",
}
_OTHER = {roles.JOINT_POSITION: roles.STATE, roles.JOINT_POSITION_TARGET: roles.ACTION}


@dataclass
class EpisodeReading:
    """One episode while it is read: every column and camera of the source goes through here.

    A stream is what `description` says of it, if Corporeal wrote the dataset and the values fit.
    `rate_hz` is 0 where every stream has its own, which its stamps tell.
    """

    index: int
    rate_hz: float = 0.0
    robot: Embodiment | None = None
    description: DatasetDescription | None = None
    signals: dict[str, Signal] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)
    items: list[SourceItem] = field(default_factory=list)
    """What the source has under another name than a signal's, and what is not taken of it."""
    assumed: dict[str, str] = field(default_factory=dict)
    """What the source does not say and had to be assumed, and why, by field."""
    kind: ItemKind = "array"

    def take_numbers(
        self,
        label: str,
        values: NDArray[Any],
        time_ns: NDArray[np.int64],
        *,
        role: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """Numbers (T, ...) in the role that their label, or the word `role`, and names give."""
        values = to_storable(values)
        spec = self.described_column(label, values)
        if spec is None:
            rate_hz = self._rate_of(time_ns)
            spec = array_stream(
                role or label, values, rate_hz=rate_hz, names=names, robot=self.robot
            )
        self.signals[label] = ArraySignal(spec, time_ns, values)

    def take_stream(
        self,
        label: str,
        values: NDArray[Any],
        time_ns: NDArray[np.int64],
        *,
        name: str,
        group: Group = "observations",
        names: Sequence[str] | None = None,
        unit: str | Sequence[str] = "1",
        frame: str | None = None,
    ) -> None:
        """Numbers as the stream that they are known to be; names that do not fit are left out."""
        values = to_storable(values)
        shape = values.shape[1:]
        spec = Stream(
            name=name,
            group=group,
            dtype=values.dtype.name,
            shape=shape,
            rate_hz=self._rate_of(time_ns),
            components=tuple(names) if names is not None and shape == (len(names),) else None,
            unit=unit if isinstance(unit, str) else tuple(unit),
            frame=frame,
        )
        self.signals[label] = ArraySignal(spec, time_ns, values)

    def take_pictures(
        self,
        label: str,
        pictures: Any,
        time_ns: NDArray[np.int64],
        *,
        size: Sequence[int] | None = None,
        name: str | None = None,
    ) -> None:
        """A camera, of the size that the first of its pictures has if nothing states it."""
        height, width = size or (0, 0)
        spec = picture_stream(
            name or label, height=height, width=width, rate_hz=self._rate_of(time_ns)
        )
        if size is None and len(pictures):
            first = ImageSequence(spec, time_ns, pictures)[0]
            spec = spec.model_copy(update={"shape": first.shape})
        if self.description is not None:
            spec = self.description.camera(label, spec)
        self.signals[label] = ImageSequence(spec, time_ns, pictures)

    def take_movie(
        self,
        label: str,
        path: Path,
        time_ns: NDArray[np.int64],
        *,
        size: tuple[int, int],
        first: int = 0,
        count: int | None = None,
    ) -> None:
        """A camera whose pictures are a movie, or `count` of it from the `first` on."""
        rate_hz = self._rate_of(time_ns)
        spec = picture_stream(label, height=size[0], width=size[1], rate_hz=rate_hz)
        self.signals[label] = VideoFile(spec, time_ns, partial(str, path), first, count)

    def row_stamps(self, count: int, time_ns: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The stamps of rows: those that are known, if they are as many, else even ones."""
        if time_ns is not None and len(time_ns) == count:
            return time_ns
        return even_stamps(count, self.rate_hz)

    def described_column(self, label: str, values: Any) -> Stream | None:
        """What is said of a column, if it is said of values of this shape and type."""
        if self.description is None:
            return None
        return self.description.column(label, tuple(values.shape[1:]), values.dtype)

    def _rate_of(self, time_ns: NDArray[np.int64]) -> float | None:
        if self.rate_hz:
            return self.rate_hz
        self.assumed[STREAM_RATES] = "what the stamps of each come to: the source states none"
        span = int(time_ns.max() - time_ns.min()) if len(time_ns) else 0
        return round((len(time_ns) - 1) * SECOND_NS / span, 3) if span else None

    def account(
        self,
        name: str,
        *taken_as: str,
        samples: int | None = None,
        kind: ItemKind | None = None,
    ) -> None:
        """Say what holds an item of the source: streams by their path, or fields of metadata."""
        self.items.append(SourceItem(name, kind or self.kind, samples, taken_as))

    def leave_out(
        self,
        name: str,
        reason: str,
        *,
        samples: int | None = None,
        kind: ItemKind | None = None,
        lost: bool = False,
    ) -> None:
        """Say why an item of the source is not taken; `lost` if nothing else says the same."""
        self.items.append(left_out(name, kind or self.kind, reason, samples=samples, lost=lost))

    def ledger(self) -> Ledger:
        """Every signal under its label, and every item that was accounted for."""
        elsewhere = {path for item in self.items for path in item.taken_as}
        own = (
            SourceItem(
                label,
                "camera" if signal.spec.kind in ("video", "depth") else self.kind,
                len(signal),
                (signal.spec.path,),
            )
            for label, signal in self.signals.items()
            if signal.spec.path not in elsewhere
        )
        return Ledger((*own, *self.items))

    def complain(
        self,
        check: DefectCheck,
        message: str,
        label: str | None = None,
        found: float | None = None,
        wanted: float | None = None,
    ) -> None:
        """Say what is wrong with this episode."""
        self.defects.append(Defect(check, message, self.index, label, found, wanted))

    def check_lengths(self) -> None:
        """Complain, once, of streams that have another number of samples than the rows.

        How fast those were taken nobody says, so that they promise no rate.
        """
        counts = {label: len(signal) for label, signal in self.signals.items()}
        rows = self._row_count(counts)
        strays = [label for label, count in counts.items() if count != rows]
        if not strays:
            return
        for label in strays:
            signal = self.signals[label]
            if isinstance(signal, ArraySignal):
                spec = signal.spec.model_copy(update={"rate_hz": None})
                self.signals[label] = replace(signal, spec=spec)
        first = counts[strays[0]]
        message = f"{strays[0]} has {first} samples, the other streams {rows}"
        if len(strays) > 1:
            lengths = listed(map(str, sorted({counts[label] for label in strays})))
            message = (
                f"{some_of(strays, most=2)} have {lengths} "
                f"samples, the other streams {rows}: which belong together is not known"
            )
        self.complain(INDEX_WRONG, message, strays[0], float(first), float(rows))

    def _row_count(self, counts: Mapping[str, int]) -> int:
        """How many rows there are: as many as state or action has, whichever most streams have."""
        known = (*roles.MEASURED, *roles.COMMANDED)
        main = {counts[label] for label, each in self.signals.items() if each.spec.name in known}
        given = list(counts.values())
        return max(main or set(given), key=given.count, default=0)

    def to_recording(
        self,
        episode_id: str,
        source: Path,
        metadata: Mapping[str, Any],
        *,
        described: EpisodeDescription | None = None,
        time_ns: NDArray[np.int64] | None = None,
        **more: Any,
    ) -> Recording:
        """All of it; `described` is what Corporeal says of an episode with rows at `time_ns`."""
        if described is not None:
            episode_id = described.id
            metadata = {**metadata, **described.to_metadata()}
            more |= {"epoch_ns": described.epoch_ns, "labels": described.labels}
            told = described.instruction_signal(time_ns) if time_ns is not None else {}
            self.signals |= told
            paths = (signal.spec.path for signal in told.values())
            self.account(NAME, "metadata", *paths, kind="document")
        if self.assumed:
            metadata = {**metadata, ASSUMED: dict(self.assumed)}
        return Recording(
            id=episode_id,
            source=source,
            index=self.index,
            signals=self.signals,
            embodiment=self.robot,
            metadata=metadata,
            defects=tuple(self.defects),
            ledger=self.ledger(),
            **more,
        )


def described_reading(
    description: DatasetDescription, index: int, robot: Embodiment | None
) -> EpisodeReading:
    """The reading of an episode that Corporeal wrote; `robot` takes the place of its own."""
    return EpisodeReading(index, description.rate_hz, robot or description.robot, description)


def stream_name(label: str) -> str:
    """A label as the name of a stream: lower case, digits and underscores."""
    plain = re.sub(r"^(observations?|obs)[./]", "", label)
    plain = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")[:64]
    return plain if re.match(r"[a-z]", plain) else f"stream_{plain}"[:64]


def array_stream(
    label: str,
    values: NDArray[Any],
    *,
    rate_hz: float | None,
    names: Sequence[str] | None = None,
    robot: Embodiment | None = None,
    joints: Sequence[str | None] | None = None,
) -> Stream:
    """What numbers (T, ...) of any origin are, by their label and the names of their columns.

    `joints` gives the robot's joint of every column where the reader knows it better than names.
    """
    width = values.shape[-1] if values.ndim == 2 else 0
    named = tuple(names) if names is not None and len(names) == width and width else None
    columns = named or tuple(f"{number}" for number in range(width))
    role = joint_role(label, stream_name(label))
    is_action = is_action_label(label)
    if robot is None or (joints is not None and len(joints) != width):
        joints = None
    elif joints is None and role is not None:
        joints = match_joints(columns, robot)
    share = matched_share(columns, joints) if joints is not None else 0.0
    plain = are_joints(named) if named else bool(_PLAINLY_JOINTS.fullmatch(stream_name(label)))
    is_joint = role is not None and (share >= 0.5 or plain)
    name = role if role is not None and is_joint else _OTHER.get(role or "", stream_name(label))
    components: tuple[str, ...] | None = named
    unit: str | tuple[str, ...] = "1"
    if is_joint and joints is not None and robot is not None:
        components, unit = _claimed(columns, joints, robot, name)
    elif is_joint and named is None and width:
        # So that they are not taken for the nameless columns of another stream, such as actions.
        components = tuple(f"joint_{number}" for number in range(width))
    measured = imu_columns(named) if named and role is None and not is_action else None
    if measured is not None:
        name, components = sensor_name(stream_name(label), None, roles.IMU), measured
        unit = imu_units(measured, values)
    if name == roles.BASE_POSE and components != roles.POSE:
        name = "base_pose_given"
    try:
        return Stream(
            name=name,
            group="actions" if is_action else "observations",
            dtype=values.dtype.name,
            shape=values.shape[1:],
            rate_hz=rate_hz,
            unit=unit,
            components=components,
        )
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).splitlines()[0].removeprefix("Value error, ")
        raise EpisodeError(f"{label[:100]}: cannot be a stream: {reason}.") from None


def picture_stream(
    label: str, *, height: int, width: int, rate_hz: float | None, group: Group = "observations"
) -> Stream:
    """A camera of a foreign dataset; its pictures may have an odd size, which ours may not."""
    return Stream.model_construct(
        name=stream_name(label.replace("images.", "")),
        group=group,
        kind="video",
        dtype="uint8",
        shape=(height, width, 3),
        rate_hz=rate_hz,
        unit="1",
    )


def to_storable(values: NDArray[Any]) -> NDArray[Any]:
    """The values in a type that streams have, with at least one axis beside time."""
    if values.dtype == np.float16 or (values.dtype.kind == "f" and values.dtype.itemsize > 8):
        values = values.astype(np.float64)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return values.reshape(len(values), 1) if values.ndim == 1 else values


def _claimed(
    columns: tuple[str, ...], joints: Sequence[str | None], robot: Embodiment, name: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and units of the columns of a robot's joints.

    Sliding joints stay unmatched: public sets store a gripper's opening as a share, not in metres.
    """
    turning = {joint.name for joint in robot.actuated if joint.type == "revolute"}
    components, units = [], []
    for column, joint in zip(columns, joints, strict=True):
        known = joint is not None and joint in turning
        own = f"{column}_given" if column in robot.joint_names else column
        components.append(joint if known and joint is not None else own)
        units.append(_UNITS[name] if known else "1")
    return tuple(components), tuple(units)
