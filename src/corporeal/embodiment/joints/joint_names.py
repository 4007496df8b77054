"""Which joint of a robot a column of foreign data is, told from the name the source gives it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from corporeal.embodiment.description.body_words import split_name, words_in
from corporeal.embodiment.embodiment import Embodiment
from corporeal.embodiment.joints.limbs import is_hand
from corporeal.embodiment.library import open_robot, robot_names

# Said of a column in many datasets, and nothing about which joint it is.
_FILLERS = {
    "joint", "joints", "motor", "motors", "pos", "position", "positions", "qpos", "q", "rad",
    "angle", "state", "states", "action", "actions", "observation", "robot", "robot0", "main",
    "follower", "target", "cmd", "desired", "measured", "actual",
}  # fmt: skip
_QUANTITIES = {
    "vel", "velocity", "velocities", "qvel", "dq", "effort", "efforts", "torque", "torques", "tau",
    "current", "temperature",
}  # fmt: skip
_SAME = {"neck": "head", "torso": "waist", "pinky": "little"}
_BODY = {"shoulder", "elbow", "wrist", "forearm", "hip", "knee", "ankle", "waist", "head"}
_GENERIC = re.compile(
    r"^(?:motor|joint|j|dof|q|m|axis|actuator|joint_position)?[_\-. ]?(\d{1,3})"
    r"(?:[_.](?:pos|position|q|rad))?$",
    re.IGNORECASE,
)
# Other spellings of built-in robots in the robot_type of public datasets.
_MODELS = {"gr1t1": "gr1", "gr1t2": "gr1"}


def match_joints(names: Sequence[str], robot: Embodiment) -> tuple[str | None, ...]:
    """The robot's joint that each column is; None where there is none.

    No two columns are given one joint. Columns that are only numbered (motor_3) are joints by
    their place in the robot's order, if all are numbered and there is one for every joint.
    """
    numbered = _by_number(names, len(robot.joint_names))
    if numbered is not None:
        return tuple(robot.joint_names[number] for number in numbered)
    by_words = {
        _key(words): name
        for words, name in zip(_words(robot.joint_names), robot.joint_names, strict=True)
    }
    by_limb = {_hinge(key): name for key, name in by_words.items()}
    words = _words(names)
    # A table may hold positions and then velocities of the same joints: the first are meant.
    plain = [not _QUANTITIES & set(each) for each in words]
    wanted = plain if any(plain) else [True] * len(words)
    groups = _numbered_groups(words, robot)
    taken: set[str] = set()
    found: list[str | None] = []
    for column, each in enumerate(words):
        key = _key(each)
        joint = by_words.get(key) or by_limb.get(_hinge(key)) or groups.get(column)
        if joint is None or joint in taken or not wanted[column]:
            found.append(None)
            continue
        taken.add(joint)
        found.append(joint)
    return tuple(found)


def match_groups(
    parts: Mapping[str, tuple[int, int]], width: int, robot: Embodiment
) -> tuple[str | None, ...]:
    """Joints by column from the columns (start, end) of each group, such as left_arm.

    A group whose size is not the robot's is left unmatched.
    """
    found: list[str | None] = [None] * width
    for group, members in _groups(robot).items():
        for part, (start, end) in parts.items():
            if _key(*_words([part])) != group or end > width or end - start != len(members):
                continue
            if not any(found[start:end]) and not set(members) & set(found):
                found[start:end] = members
    return tuple(found)


def are_joints(names: Sequence[str]) -> bool:
    """Whether at least half of the columns are plainly joints, of whatever robot."""
    plain = [
        _GENERIC.match(name) is not None
        or name.lower().endswith((".pos", "_joint", ".q", "qpos"))
        or bool(_BODY & set(words))
        for name, words in zip(names, _words(names), strict=True)
    ]
    return bool(names) and 2 * sum(plain) >= len(names)


def is_numbered(names: Sequence[str]) -> bool:
    """Whether the columns are only counted, as motor_0, motor_1, ... are."""
    return bool(names) and all(_GENERIC.match(name) for name in names)


def matched_share(names: Sequence[str], joints: Sequence[str | None]) -> float:
    """The share of columns that are joints of the robot; fingers it lacks do not count."""
    counted = [
        joint is not None
        for name, joint in zip(names, joints, strict=True)
        if joint is not None or not is_hand(name)
    ]
    return sum(counted) / len(counted) if counted else 0.0


def named_robots(robot_type: str | None) -> Iterator[Embodiment]:
    """The built-in robots that a dataset's robot_type may mean, the likeliest first."""
    spoken = [_MODELS.get(word, word) for word in split_name(robot_type or "")]
    found = []
    for name in robot_names():
        words = split_name(name)
        for start in range(len(spoken) - len(words) + 1):
            after = spoken[start + len(words) : start + len(words) + 1]
            # Unitree H1-2 is not an H1.
            if spoken[start : start + len(words)] == list(words) and after != ["2"]:
                found.append(name)
                break
    heads = {split_name(name)[0] for name in found}
    variants = [n for n in robot_names() if split_name(n)[0] in heads and n not in found]
    exact = sorted(found, key=len, reverse=True)
    # One by one: a robot's document takes a while to read, and the first is mostly right.
    for name in (*exact, *variants):
        yield open_robot(name)


def guess_robot(robot_type: str | None, names: Sequence[str]) -> Embodiment | None:
    """The built-in robot a dataset means: only if it says so and its columns agree."""
    best: tuple[float, int] = (0.5, 0)
    guess = None
    for robot in named_robots(robot_type):
        joints = match_joints(names, robot)
        agreement = (matched_share(names, joints), sum(joint is not None for joint in joints))
        if agreement[1] and (agreement > best or (guess is None and agreement[0] >= best[0])):
            best, guess = agreement, robot
        if best[0] == 1.0:
            break
    return guess


def _words(names: Sequence[str]) -> list[list[str]]:
    """What the words of each column say; none of them is told from its name alone."""
    return [_meant([_SAME.get(word, word) for word in words]) for words in words_in(names)]


def _meant(words: list[str]) -> list[str]:
    # What carries the meaning stays even where it looks like a filler: wrist_angle of an ALOHA.
    return [word for word in words if word not in _FILLERS] or words


def _key(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(word for word in words if word not in _QUANTITIES))


def _hinge(key: tuple[str, ...]) -> tuple[str, ...]:
    """An elbow or a knee has one axis, which some sources name (pitch) and others do not."""
    if {"elbow", "knee"} & set(key):
        return tuple(word for word in key if word != "pitch")
    return key


def _by_number(names: Sequence[str], count: int) -> list[int] | None:
    matches = [_GENERIC.match(name) for name in names]
    if len(names) != count or not all(matches):
        return None
    numbers = [int(match[1]) for match in matches if match is not None]
    first = min(numbers)
    places = [number - first for number in numbers]
    return places if first in (0, 1) and sorted(places) == list(range(count)) else None


def _groups(robot: Embodiment) -> dict[tuple[str, ...], tuple[str, ...]]:
    actuated = set(robot.joint_names)
    named = {
        _key(*_words([group])): tuple(name for name in members if name in actuated)
        for group, members in robot.groups.items()
    }
    return {key: members for key, members in named.items() if members}


def _numbered_groups(words: Sequence[Sequence[str]], robot: Embodiment) -> dict[int, str]:
    """Joints of columns such as left_arm_0 to left_arm_6, if the group has as many joints."""
    return dict(_group_columns(words, _groups(robot)))


def _group_columns(
    words: Sequence[Sequence[str]], groups: Mapping[tuple[str, ...], tuple[str, ...]]
) -> Iterator[tuple[int, str]]:
    columns: dict[tuple[str, ...], dict[int, int]] = {}
    for column, each in enumerate(words):
        if each and each[-1].isdigit():
            columns.setdefault(_key(each[:-1]), {})[int(each[-1])] = column
    for key, members in groups.items():
        numbers = columns.get(key, {})
        first = min(numbers, default=0)
        if first in (0, 1) and sorted(numbers) == list(range(first, first + len(members))):
            for place, joint in enumerate(members):
                yield numbers[first + place], joint
