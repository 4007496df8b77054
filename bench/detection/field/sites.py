"""Where mistakes are made: takes of each half, in every format that a team may have them in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from bench.detection.field.take import BASE, STATE, CannotPlantError, Take
from bench.detection.field.writers.bags import write_db3, write_mcap, write_ros1
from bench.detection.field.writers.episode_files import read_take, write_episodes
from bench.detection.field.writers.motions import (
    read_csv,
    resample,
    write_csv,
    write_npz,
    write_pickle,
)
from bench.detection.field.writers.tables import tabulate, write_tables, write_v21
from bench.detection.sources import (
    CACHE,
    STYLES,
    real_data,
    record_demonstration,
    walking_policy,
)
from bench.detection.split import HELD_OUT, TUNING, Half
from corporeal.embodiment import open_robot

FIRST_SEED: dict[Half, int] = {TUNING: 2000, HELD_OUT: 3000}
TAKES, FILMED_TAKES, BAGS, DANCE_TAKES = 8, 5, 2, 4
FILMED_SIZE = (480, 640)
Write = Callable[[Path, Sequence[Take], Mapping[int, Path]], list[Path]]


@dataclass(frozen=True)
class Site:
    """One way in which takes lie on disk. `has` says which mistakes can be made in them."""

    name: str
    what: str
    takes: Callable[[Half], list[Take]]
    write: Write
    has: frozenset[str]


@cache
def recorded(half: Half) -> Path:
    """A folder of demonstrations without pictures: nine of one task and two of another."""
    folder = CACHE / "field" / half / "plain"
    for number in range(TAKES):
        style = STYLES[number % len(STYLES)]
        record_demonstration(
            folder,
            "pick_place",
            f"op{number % 5}",
            style=style,
            pictures=False,
            seed=FIRST_SEED[half] + number,
        )
    return folder


@cache
def filmed(half: Half) -> Path:
    """A folder of demonstrations with cameras of 640 x 480."""
    folder = CACHE / "field" / half / "filmed"
    for number in range(FILMED_TAKES):
        record_demonstration(
            folder,
            "pick_place",
            f"op{number % 5}",
            height=FILMED_SIZE[0],
            width=FILMED_SIZE[1],
            seed=FIRST_SEED[half] + 100 + number,
        )
    return folder


@cache
def walked(half: Half) -> Path:
    """A folder of walks, where a policy for that is at hand."""
    folder = CACHE / "field" / half / "walk"
    for number in range(3):
        record_demonstration(
            folder,
            "walk",
            f"op{number}",
            pictures=False,
            policy=walking_policy(),
            seed=FIRST_SEED[half] + 200 + number,
        )
    return folder


def _read(folder: Callable[[Half], Path], half: Half) -> list[Take]:
    takes = [read_take(path) for path in sorted(folder(half).glob("*.h5"))]
    good = [take for take in takes if take.facts["outcome"]["success"]]
    if not good:
        raise CannotPlantError("no demonstration succeeded")
    return good


def _tables(half: Half) -> list[Take]:
    return [tabulate(take) for take in _read(recorded, half)]


def _filmed_tables(size: tuple[int, int], codec: str, half: Half) -> list[Take]:
    return [tabulate(take, size=size, codec=codec) for take in _read(filmed, half)]


def _bags(half: Half) -> list[Take]:
    return [_one_clock(take) for take in _read(recorded, half)[:BAGS]]


def _filmed_bags(half: Half) -> list[Take]:
    takes = [_one_clock(take) for take in _read(filmed, half)[:BAGS]]
    return [
        Take(each.name, each.channels, {"head_left": each.films["head_left"]}, each.facts)
        for each in takes
    ]


def _one_clock(take: Take) -> Take:
    """Joint states are one message: position, velocity and torque have one stamp."""
    keys = ("joint_position", "joint_velocity", "joint_torque")
    count = min(len(take.channel(key).values) for key in keys)
    channels = dict(take.channels)
    for key in keys:
        old = channels[key]
        channels[key] = type(old)(
            take.channel(keys[0]).time_ns[:count], old.values[:count], old.names
        )
    return Take(take.name, channels, take.films, take.facts, take.origin)


def _motions(rate_hz: float, half: Half) -> list[Take]:
    return [resample(take, rate_hz, velocities=True) for take in _read(walked, half)]


def _dance(half: Half) -> list[Take]:
    del half
    data = real_data()
    paths = sorted(data.glob("retarget/g1_csv_xyzw/**/*.csv")) if data else []
    if not paths:
        raise CannotPlantError("the published motion is not here")
    names = _read(walked, TUNING)[0].channel("joint_position").names
    dance = read_csv(paths[0])
    joints = dance.channel("joint_position")
    return [
        dance.with_channel("joint_position", type(joints)(joints.time_ns, joints.values, names))
    ]


def _dance_takes(half: Half) -> list[Take]:
    """The dance cut into takes, with the robot's own names."""
    del half
    data = real_data()
    paths = sorted(data.glob("retarget/g1_csv_xyzw/**/*.csv")) if data else []
    if not paths:
        raise CannotPlantError("the published motion is not here")
    dance = read_csv(paths[0])
    named = {BASE: dance.channel(BASE).names, STATE: open_robot("g1").joint_names}
    takes = []
    for number in range(DANCE_TAKES):
        channels = {}
        for key, names in named.items():
            whole = dance.channel(key)
            count = len(whole.values)
            rows = slice(number * count // DANCE_TAKES, (number + 1) * count // DANCE_TAKES)
            channels[key] = type(whole)(whole.time_ns[rows], whole.values[rows], names)
        takes.append(Take(f"{dance.name}_{number}", channels))
    return takes


_JOINTS = {"state", "action"}
_BODY = {"velocity", "torque", "imu", "stamps"}
_SITES = (
    Site(
        "episode",
        "episode files of our own: joints 100 Hz, IMU 200 Hz, commands 50 Hz",
        partial(_read, recorded),
        write_episodes,
        frozenset(_JOINTS | _BODY | {"base", "facts", "set", "hands", "episode"}),
    ),
    Site(
        "walk",
        "episode files of a robot that walks",
        partial(_read, walked),
        write_episodes,
        frozenset(_JOINTS | _BODY | {"base", "facts", "episode"}),
    ),
    Site(
        "filmed_episode",
        "episode files with cameras of 640 x 480, H.264",
        partial(_read, filmed),
        write_episodes,
        frozenset({"films", "stamps"}),
    ),
    Site(
        "table_v30",
        "LeRobot v3.0 at 30 Hz without pictures",
        _tables,
        write_tables,
        frozenset(_JOINTS | {"set", "hands", "table", "v30"}),
    ),
    Site(
        "table_v21",
        "LeRobot v2.1 at 30 Hz without pictures",
        _tables,
        write_v21,
        frozenset(_JOINTS | {"set", "hands", "table"}),
    ),
    Site(
        "h264_84",
        "LeRobot v3.0, two cameras of 84 x 84, H.264",
        partial(_filmed_tables, (84, 84), "libx264"),
        write_tables,
        frozenset({"films", "rows"}),
    ),
    Site(
        "av1_240",
        "LeRobot v3.0, two cameras of 320 x 240, AV1",
        partial(_filmed_tables, (240, 320), "libsvtav1"),
        write_tables,
        frozenset({"films", "rows"}),
    ),
    Site(
        "mpeg4_224",
        "LeRobot v2.1, two cameras of 224 x 224, MPEG-4 part 2",
        partial(_filmed_tables, (224, 224), "mpeg4"),
        write_v21,
        frozenset({"films", "rows"}),
    ),
    Site(
        "vp9_480",
        "LeRobot v3.0, two cameras of 640 x 480, VP9",
        partial(_filmed_tables, (480, 640), "libvpx-vp9"),
        write_tables,
        frozenset({"films", "rows"}),
    ),
    Site(
        "ros1_bag",
        "ROS 1 bags: joint states 100 Hz, commands 50 Hz, IMU 200 Hz",
        _bags,
        write_ros1,
        frozenset(_JOINTS | _BODY | {"bag"}),
    ),
    Site(
        "db3",
        "the same as ROS 2 bags in sqlite",
        _bags,
        write_db3,
        frozenset(_JOINTS | _BODY | {"bag"}),
    ),
    Site(
        "mcap",
        "the same as ROS 2 bags in MCAP",
        _bags,
        write_mcap,
        frozenset(_JOINTS | _BODY | {"bag"}),
    ),
    Site(
        "filmed_mcap",
        "MCAP with a camera of 640 x 480 as JPEG",
        _filmed_bags,
        write_mcap,
        frozenset({"films", "stamps"}),
    ),
    Site(
        "motion_csv",
        "G1 motions of 60 Hz as CSV of 36 columns",
        partial(_motions, 60.0),
        write_csv,
        frozenset({"base", "state", "motion", "legs"}),
    ),
    Site(
        "motion_pkl",
        "G1 motions of 30 Hz as pickles in the layout of GMR",
        partial(_motions, 30.0),
        write_pickle,
        frozenset({"base", "state", "motion", "legs"}),
    ),
    Site(
        "motion_npz",
        "G1 motions of 50 Hz as npz in the layout of BeyondMimic",
        partial(_motions, 50.0),
        write_npz,
        frozenset({"base", "state", "motion", "velocity", "legs"}),
    ),
    Site(
        "dance_csv",
        "a real dance retargeted to the G1 by others, CSV of 60 Hz",
        _dance,
        write_csv,
        frozenset({"base", "state", "motion"}),
    ),
    # For mistakes of whole sets alone, so that the seeds of all others draw the sites they drew.
    Site(
        "dance_takes",
        "the same dance cut into four takes",
        _dance_takes,
        write_csv,
        frozenset({"legs"}),
    ),
)
SITES = {site.name: site for site in _SITES}
