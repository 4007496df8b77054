"""The dataset of one sub-policy: the stretches of its modes as episodes, with its state and action.

Nothing is copied: every piece is the recording that it was cut from, with a span in which its rows
lie, the joints of its limbs, and what the level above tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import limb_of, match_joints
from corporeal.episode.recording import Dataset, Recording, Signal
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.composition import (
    choose_action,
    choose_state,
    find_stream,
    is_hand_stream,
)
from corporeal.exchange.format import CUT
from corporeal.exchange.layout import TableLayout, layout_of
from corporeal.exchange.mode import MODES
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import modes_of, row_times
from corporeal.exchange.training.hierarchy import SubPolicy
from corporeal.exchange.training.policy_command import command_signals
from corporeal.schema import Stream
from corporeal.schema.stream import Group
from corporeal.signal.runs import runs
from corporeal.words import counted, some_of


@dataclass(frozen=True)
class EpisodePiece:
    """Rows `first` to `stop` of an episode of the dataset, from `span_ns[0]` to `span_ns[1]`."""

    episode: int
    id: str
    first: int
    stop: int
    span_ns: tuple[int, int]
    modes: tuple[str, ...]


@dataclass(frozen=True)
class PolicyPieces:
    """What a sub-policy learns from: its pieces, and the options and the layout of its rows."""

    policy: SubPolicy
    options: ExportOptions
    layout: TableLayout
    pieces: tuple[EpisodePiece, ...]

    def open(self, recording: Recording, piece: EpisodePiece) -> Recording:
        """A piece of the recording that it was found in."""
        whole, _ = _prepare(recording, self.policy, self.options)
        cut = {
            "policy": self.policy.name,
            "episode": recording.metadata.get(CUT, {}).get("episode", recording.id),
            "rows": [piece.first, piece.stop],
            "span_ns": list(piece.span_ns),
            "modes": list(piece.modes),
        }
        is_whole = self.policy.modes is None
        return replace(
            whole,
            id=piece.id,
            span_ns=recording.span_ns if is_whole else piece.span_ns,
            metadata={**recording.metadata, CUT: cut},
        )

    def dataset(self, source: Dataset) -> Dataset:
        """The pieces as episodes of a dataset."""
        opener = partial(_open_piece, source, self)
        return replace(source, episodes=tuple(range(len(self.pieces))), open=opener, statistics={})


def find_pieces(dataset: Dataset, policy: SubPolicy, options: ExportOptions) -> PolicyPieces:
    """Look at the modes of every episode that the options want, and cut out those of the policy.

    Raises CorporealError when no row is of its modes, or when an episode has no such action.
    """
    if options.state or options.action:
        raise CorporealError(
            "a hierarchy says what state and action are made of; got others for them as well. "
            "Leave --state and --action out, or change the hierarchy."
        )
    wanted = dataset.episodes if options.episodes is None else options.episodes
    options = replace(options, episodes=None, sides=False)
    layout: TableLayout | None = None
    pieces: list[EpisodePiece] = []
    for number in wanted:
        source = dataset.open(number)
        if layout is None and options.rate_hz is None:
            # That of the flat view: commands that are made here have a rate of their own.
            options = replace(options, rate_hz=layout_of(source, options).rate_hz)
        recording, chosen = _prepare(source, policy, options)
        if layout is None:
            options = replace(options, state=chosen["state"], action=chosen["action"])
            layout = layout_of(recording, options, needs_action=True)
        pieces += _pieces(recording, number, policy, layout)
    if layout is None or not pieces:
        modes = " or ".join(policy.modes or ("a row",))
        raise EpisodeError(
            f"{dataset.source}: no row for the policy {policy.name}, got "
            f"{counted(len(wanted), 'episode')} without {modes}; expected some. Leave "
            "the policy out of the hierarchy, or add demonstrations of it."
        )
    return PolicyPieces(policy, options, layout, tuple(pieces))


def pieces_opener(opener: Callable[[], Dataset], found: PolicyPieces) -> Callable[[], Dataset]:
    """A function that opens the pieces as a dataset, which other processes can call too."""
    return partial(_open_pieces, opener, found)


def _open_pieces(opener: Callable[[], Dataset], found: PolicyPieces) -> Dataset:
    return found.dataset(opener())


def _open_piece(source: Dataset, found: PolicyPieces, index: int) -> Recording:
    piece = found.pieces[index]
    return found.open(source.open(piece.episode), piece)


def _pieces(
    recording: Recording, number: int, policy: SubPolicy, layout: TableLayout
) -> Iterable[EpisodePiece]:
    grid = row_times(recording, layout)
    labels = modes_of(recording, grid)
    if policy.modes is None:
        stretches: tuple[tuple[int, int], ...] = ((0, len(grid)),)
    else:
        stretches = runs(np.isin(labels, [MODES.index(mode) for mode in policy.modes]))
    for first, stop in stretches:
        yield EpisodePiece(
            episode=number,
            id=recording.id if policy.modes is None else f"{recording.id}_{first}_{stop}",
            first=first,
            stop=stop,
            span_ns=(int(grid[first]), int(grid[stop - 1])),
            modes=tuple(MODES[label] for label in dict.fromkeys(labels[first:stop].tolist())),
        )


def _prepare(
    recording: Recording, policy: SubPolicy, options: ExportOptions
) -> tuple[Recording, dict[str, tuple[str, ...]]]:
    """The recording with the limbs and commands of the policy; names of its state and action."""
    plain = replace(options, state=(), action=())
    signals = dict(recording.signals)
    labels = {signal.spec.path: label for label, signal in signals.items()}
    hidden = {find_stream(name, labels) for name in options.exclude}
    numbers = [
        signal.spec
        for path, signal in ((path, signals[label]) for path, label in labels.items())
        if signal.spec.kind == "array"
        and signal.spec.group != "debug"
        and len(signal)
        and path not in hidden
    ]
    names: dict[str, tuple[str, ...]] = {}
    for part, streams, limbs, commands in (
        ("state", choose_state(numbers, plain), policy.sees, policy.goal),
        ("action", choose_action(numbers, plain) if policy.moves else (), policy.moves,
         policy.commands),
    ):  # fmt: skip
        kept = _of_limbs(recording, streams, limbs, policy)
        if streams and not kept:
            raise EpisodeError(
                f"{recording.source}: the {part} of policy {policy.name}, got no joint of "
                f"{', '.join(limbs or ())} in {', '.join(stream.name for stream in streams)}; "
                "expected some. Change the limbs in the hierarchy."
            )
        for stream, columns in kept:
            label = labels[stream.path]
            if columns is not None:
                signals[label] = _picked(signals[label], columns)
        added: dict[str, Signal] = {}
        for command in commands or ():
            group: Group = "observations" if part == "state" else "actions"
            added |= command_signals(recording, command, group)
        signals |= added
        names[part] = (*(stream.path for stream, _ in kept), *added)
    return replace(recording, signals=signals), names


def _of_limbs(
    recording: Recording,
    streams: Sequence[Stream],
    limbs: Sequence[str] | None,
    policy: SubPolicy,
) -> list[tuple[Stream, list[int] | None]]:
    """The streams that have entries of these limbs, and which; None for all of a stream."""
    if limbs is None:
        return [(stream, None) for stream in streams]
    kept: list[tuple[Stream, list[int] | None]] = []
    for stream in streams:
        if is_hand_stream(stream):
            if "hand" in limbs:
                kept.append((stream, None))
            continue
        parts = _limbs(recording, stream)
        strange = [name for name, limb in zip(stream.names, parts, strict=False) if limb is None]
        if strange and policy.entries is None:
            raise EpisodeError(
                f"{recording.source}: {stream.name} for the policy {policy.name}, got entries of "
                f"no known limb: {some_of(strange)}; expected a choice. List those that it has "
                "under entries in the hierarchy, or entries: [] for none."
            )
        columns = [
            place
            for place, limb in enumerate(parts)
            if limb in limbs or (limb is None and stream.names[place] in (policy.entries or ()))
        ]
        if columns:
            kept.append((stream, columns if len(columns) < stream.width else None))
    return kept


def _limbs(recording: Recording, stream: Stream) -> list[str | None]:
    robot = recording.embodiment
    given = stream.names if len(stream.names) == stream.width else ()
    ours = match_joints(given, robot) if robot is not None else given
    return [limb_of(known or name, robot) for known, name in zip(ours, given, strict=True)]


@dataclass(frozen=True, eq=False)
class PickedSignal:
    """Some columns of a signal."""

    spec: Stream
    source: Signal
    columns: tuple[int, ...]

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """The stamps of the signal."""
        return self.source.time_ns

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, selection: Any) -> Any:
        return np.asarray(self.source[selection])[..., list(self.columns)]


def _picked(signal: Signal, columns: Sequence[int]) -> PickedSignal:
    spec = signal.spec
    stated = spec.model_dump() | {
        "shape": (len(columns),),
        "components": tuple(spec.names[place] for place in columns),
        "unit": tuple(spec.units[place] for place in columns)
        if isinstance(spec.unit, tuple)
        else spec.unit,
    }
    return PickedSignal(Stream.model_validate(stated), signal, tuple(columns))
