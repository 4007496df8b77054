"""What the state and the action of a row are made of: the robot's joints, then its hands.

The action is what the robot was told: targets of joint positions, else of joint velocities, else
of joint torques, else poses of the end effectors with the velocity of the base, else that velocity
alone; after any of them the commands of grippers and hands, left before right. The state is where
its joints and its hands are. A source that has one column called `action` or `state` has decided
that already, and so has one whose joints are those of its hands too: nothing is added to these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from corporeal.embodiment.joints import is_hand, words_in_name
from corporeal.episode.recording import Recording, Signal
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.options import ExportOptions
from corporeal.schema import Stream, roles
from corporeal.words import some_of

Streams = tuple[Stream, ...]

_BEFORE = re.compile(r"^actions?_")
_AFTER = re.compile(r"_(target|command|cmd|goal|desired|action)s?$")
_POSITION = re.compile(r"joint_(pos|positions?|angles?)|joints|qpos")
_VELOCITY = re.compile(r"joint_(vel|velocity|velocities)|qvel")
_TORQUE = re.compile(r"joint_(torques?|efforts?)")
_BASE = re.compile(r"(base_|cmd_)?(vel|velocity|twist)")
_SIDE = r"(left|right|l|r)"
# Said of a hand's numbers beside the hand itself; and fingers whose names have other meanings.
_OF_A_HAND = frozenset(
    ["left", "right", "l", "r", "joint", "joints", "position", "positions", "state", "opening",
     "width", "qpos", "closedness"]
)  # fmt: skip
_OTHERWISE_USED = frozenset(["index", "middle", "ring", "little"])
_END_EFFECTOR = re.compile(
    rf"({_SIDE}_)?(hand|wrist|palm|gripper|arm|end_effector|eef?|tcp|tool|cartesian)(_{_SIDE})?"
    r"_(delta_)?pose"
    rf"|({_SIDE}_)?(end_effector|eef?|tcp|tool|cartesian)(_{_SIDE})?_(delta_)?(pos|position)"
)
_SOURCES_OWN = (roles.STATE, roles.ACTION, roles.ACTIONS)
_SIDES = {"left": 0, "l": 0, "right": 1, "r": 1}


def find_stream(name: str, paths: Iterable[str]) -> str | None:
    """The path of a stream that is given by its path, or by its name alone."""
    listed = list(paths)
    if name in listed:
        return name
    return next((path for path in listed if path.rsplit("/", 1)[-1] == name), None)


def choose_state(numbers: Sequence[Stream], options: ExportOptions) -> Streams:
    """The streams of the state, one after the other; none where nothing tells it."""
    observed = [stream for stream in numbers if stream.group != "actions"]
    if options.state:
        return _named("stream of the state", options.state, observed)
    by_name = {stream.name: stream for stream in observed}
    joints = next(((by_name[name],) for name in roles.MEASURED if name in by_name), ())
    return with_hands(joints, observed) if joints else ()


def choose_action(numbers: Sequence[Stream], options: ExportOptions) -> Streams:
    """The streams of the action, one after the other; none where nothing tells it."""
    if options.without_action:
        return ()
    if options.action:
        return _named("stream of the action", options.action, numbers)
    commanded = [stream for stream in numbers if stream.group == "actions"]
    motion = _motion(commanded)
    return with_hands(motion, commanded) if motion else ()


def with_hands(body: Streams, streams: Sequence[Stream]) -> Streams:
    """These streams, then grippers and hands by side, unless they are in there already."""
    if any(stream.name in _SOURCES_OWN or any(map(is_hand, stream.names)) for stream in body):
        return body
    return (*body, *_by_side(streams, _names_a_hand))


def require_action(recording: Recording, chosen: Streams, numbers: Sequence[Stream]) -> None:
    """Raise EpisodeError when nothing is an action: it says what could be, and how to choose."""
    if chosen:
        return
    commanded = [stream.name for stream in numbers if stream.group == "actions"]
    if commanded:
        raise EpisodeError(
            f"{recording.source}: no action, got commands that could be one: {some_of(commanded)}; "
            "expected targets of joints, end effectors or the base. Choose with "
            f"--action {','.join(commanded[:3])}, or export without one with --action none."
        )
    observed = [stream.name for stream in numbers if stream.group == "observations"]
    raise EpisodeError(
        f"{recording.source}: no action, got only observations "
        f"({some_of(observed) or 'none'}); expected what the robot was told, such as "
        f"{roles.JOINT_POSITION_TARGET}. Name the stream that is one with --action STREAM, say "
        "with --recipe which stream is a command, or export without one with --action none."
    )


def _motion(commanded: Sequence[Stream]) -> Streams:
    """What moves the body: the best description that there is."""
    by_name = {stream.name: stream for stream in commanded}
    for name in roles.COMMANDED:
        if name in by_name:
            return (by_name[name],)
    for words in (_POSITION, _VELOCITY, _TORQUE):
        joints = [stream for stream in commanded if words.fullmatch(_plain(stream))]
        if joints:
            return (joints[0],)
    base = [stream for stream in commanded if _BASE.fullmatch(_plain(stream))][:1]
    ends = _by_side(commanded, lambda plain: bool(_END_EFFECTOR.fullmatch(plain)))
    return (*ends, *base)


def velocity_command(recording: Recording) -> Signal | None:
    """The velocity that the base was told, if that was recorded."""
    return next(iter(_commands(recording, _BASE)), None)


def end_effector_commands(recording: Recording) -> list[Signal]:
    """The poses that end effectors were told, left before right."""
    signals = _commands(recording, _END_EFFECTOR)
    return sorted(signals, key=lambda signal: _side(signal.spec))


def _commands(recording: Recording, words: re.Pattern[str]) -> list[Signal]:
    return [
        signal
        for signal in recording.signals.values()
        if signal.spec.group == "actions"
        and signal.spec.kind == "array"
        and len(signal)
        and words.fullmatch(_plain(signal.spec))
    ]


def is_hand_stream(stream: Stream) -> bool:
    """Whether all of a stream is of grippers or hands."""
    return _names_a_hand(_plain(stream))


def _by_side(streams: Sequence[Stream], is_wanted: Callable[[str], bool]) -> Streams:
    """Those whose plain names are wanted: left, right, then those of no side."""
    wanted = [stream for stream in streams if is_wanted(_plain(stream))]
    return tuple(sorted(wanted, key=_side))


def _names_a_hand(plain: str) -> bool:
    words = words_in_name(plain) - _OF_A_HAND
    return bool(words - _OTHERWISE_USED) and all(map(is_hand, words))


def _side(stream: Stream) -> int:
    return min((_SIDES.get(word, 2) for word in stream.name.split("_")), default=2)


def _plain(stream: Stream) -> str:
    """The name without the words that say that it is a command."""
    return _AFTER.sub("", _BEFORE.sub("", stream.name))


def _named(what: str, names: Sequence[str], streams: Sequence[Stream]) -> Streams:
    by_path: Mapping[str, Stream] = {stream.path: stream for stream in streams}
    chosen: dict[str, Stream] = {}
    for name in names:
        path = find_stream(name, by_path)
        if path is None:
            raise UnknownNameError(what, name, [stream.name for stream in streams])
        chosen[path] = by_path[path]
    return tuple(chosen.values())
