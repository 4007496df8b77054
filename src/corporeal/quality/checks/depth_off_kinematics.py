"""Depth pictures show the robot where its joints say it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification import camera_of, camera_pose, lens_of, rays_of
from corporeal.embodiment.kinematics import Poses
from corporeal.episode.recording import Signal
from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.calibrated_camera import links_and_camera, read_calibration
from corporeal.quality.evidence.shape_rays import MovingShape, distances_along, moving_shapes
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array
from corporeal.words import listed

# So many pictures are looked at, each along so many rays across and down.
PICTURES, ACROSS, DOWN = 16, 128, 96
# Nearer to each other than this, measurement and robot are taken for the same surface.
SAME_M = 0.12
# Neighbouring rays that differ by more lie on an edge, where a pixel more or less is everything.
_EDGE_M = 0.03
# Fewer rays on the robot than this tell nothing.
_FEWEST = 150
_METRES = {"mm": 1e-3, "m": 1.0}


def find(subject: Subject, *, max_off_m: float = 0.03, max_through: float = 0.2) -> Findings:
    """Yield depth cameras that see the robot off by `max_off_m`, or look through `max_through`.

    Rays of a few pictures are followed to the shapes of the robot that its description has, with
    the joints of that instant and the lens and place of the camera in the episode's calibration.
    Where the depth is farther than the robot, the picture looks through it: the camera, the joints
    or their order are not what they are said to be. Nearer is no fault: a thing may be in front.

    Why: a cloud that does not fit the joints teaches a policy to reach beside what it sees.
    Fix: verify the station and calibrate the camera again; check the scale of the depth.
    """
    calibration = read_calibration(subject)
    signals = {label: signal for label, signal in subject.recording.signals.items()
               if signal.spec.kind == "depth"}  # fmt: skip
    if not signals:
        raise NotAssessed("no depth camera")
    known = {camera.name for camera in calibration.cameras}
    reasons, looked = [], False
    for label, signal in signals.items():
        if signal.spec.name not in known:
            reasons.append(f"the calibration has no camera {signal.spec.name}")
            continue
        try:
            seen = _look(subject, calibration, signal)
        except (CorporealError, NotAssessed) as error:
            reasons.append(f"{label}: {error}")
            continue
        looked = True
        yield from _judge(label, seen, max_off_m, max_through)
    if not looked:
        raise NotAssessed(reasons[0])


@dataclass(frozen=True)
class _Seen:
    """Rays that end on the robot: depth as measured and as expected (N,), and whose link it is."""

    measured: Array
    expected: Array
    link: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def is_through(self) -> NDArray[np.bool_]:
        return np.asarray(self.measured > self.expected + SAME_M)

    @property
    def is_same(self) -> NDArray[np.bool_]:
        return np.asarray(np.abs(self.measured - self.expected) <= SAME_M)


def _judge(label: str, seen: _Seen, max_off_m: float, max_through: float) -> Findings:
    off = seen.measured - seen.expected
    through = float(seen.is_through.sum() / (seen.is_through | seen.is_same).sum())
    if through > max_through:
        worst = [name for number, name in enumerate(seen.names)
                 if (mine := seen.link == number).sum() >= 20
                 and seen.is_through[mine].mean() > 0.5]  # fmt: skip
        whose = f": {listed(worst[:4])}" if worst else ""
        yield Finding(
            f"{label} looks through the robot on {100 * through:.0f} % of the rays that should end "
            f"on it{whose}. The camera is not where its calibration says, or the joints are not.",
            stream=label, value=through, limit=max_through,
        )  # fmt: skip
        return
    middle = float(np.median(off[seen.is_same]))
    if abs(middle) > max_off_m:
        share = middle / float(np.median(seen.expected[seen.is_same]))
        yield Finding(
            f"{label} sees the robot {abs(middle) * 1e3:.0f} mm too "
            f"{'far' if middle > 0 else 'near'} ({100 * share:+.0f} % of the distance).",
            stream=label, value=abs(middle), limit=max_off_m,
        )  # fmt: skip


def _look(subject: Subject, calibration: Calibration, signal: Signal) -> _Seen:
    camera = camera_of(calibration, signal.spec.name)
    stated = str(signal.spec.unit or "an unstated unit")
    if stated not in _METRES:
        raise NotAssessed(f"depth in {stated}; expected mm or m")
    times = np.asarray(signal.time_ns)
    posture = subject.posture
    inside = np.flatnonzero((times >= posture.time_ns[0]) & (times <= posture.time_ns[-1]))
    numbers = inside[np.unique(np.linspace(0, len(inside) - 1, PICTURES).astype(int))
                     ] if len(inside) else inside  # fmt: skip
    if not len(numbers):
        raise NotAssessed("no depth picture while joints were recorded")
    links, places = links_and_camera(subject, camera, times[numbers])
    shapes = moving_shapes(subject, camera.frame)
    parts = list(_rays_on_robot(signal, numbers, camera, links, places, shapes, _METRES[stated]))
    measured, expected, link = (np.concatenate(each) for each in zip(*parts, strict=True))
    told = (measured > expected + SAME_M) | (np.abs(measured - expected) <= SAME_M)
    if told.sum() < _FEWEST:
        raise NotAssessed(f"{signal.spec.name} hardly sees the robot")
    return _Seen(measured, expected, link, links.names)


def _rays_on_robot(
    signal: Signal, numbers: NDArray[np.int64], camera: CameraCalibration, links: Poses,
    places: Array, shapes: tuple[MovingShape, ...], unit: float,
) -> Iterator[tuple[Array, Array, NDArray[np.int64]]]:  # fmt: skip
    """For each picture: depth measured and expected of the rays inside the robot's outline."""
    for row, number in enumerate(numbers):
        picture = np.asarray(signal[int(number)], np.float64) * unit
        height, width = picture.shape
        down = np.unique(np.linspace(0, height - 1, min(DOWN, height)).astype(int))
        across = np.unique(np.linspace(0, width - 1, min(ACROSS, width)).astype(int))
        columns, rows = np.meshgrid(across, down)
        # The middle of the first pixel is at 0, in the stored picture as in the calibrated one.
        share = np.array([lens_of(camera).width / width, lens_of(camera).height / height])
        pixels = (np.column_stack([columns.ravel(), rows.ravel()]) + 0.5) * share - 0.5
        along = rays_of(camera, pixels)[1] @ camera_pose(camera)[:3, :3]
        distance, link = distances_along(along, places[row], links, row, shapes)
        expected = (distance * along[:, 2]).reshape(columns.shape)
        measured = picture[rows, columns]
        kept = _within(expected) & (measured > 0) & np.isfinite(measured)
        yield measured[kept], expected[kept], link.reshape(columns.shape)[kept]


def _within(expected: Array) -> NDArray[np.bool_]:
    """Rays on the robot whose four neighbours end on the same surface."""
    kept = np.isfinite(expected)
    safe = np.where(kept, expected, 1e9)
    padded = np.pad(safe, 1, constant_values=1e9)
    for beside in (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]):
        kept = kept & (np.abs(beside - safe) < _EDGE_M)
    return kept


CHECK = Check(
    find, topic="pictures", severity="quarantine", rests_on=("robot",), pictures=True, unit="m"
)
