"""One episode while it is recorded: its journal, its marks, what was lost during it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corporeal.capture.driver import Rig
from corporeal.capture.operator_mark import OperatorMark
from corporeal.capture.pre_roll import Packed
from corporeal.capture.rig import TeamDocuments
from corporeal.capture.trigger_group import group_paths
from corporeal.episode import new_id
from corporeal.episode.file import JOURNAL_SUFFIX, JournalTakenError, JournalWriter
from corporeal.errors import CorporealError
from corporeal.schema import Schema
from corporeal.units import SECOND_NS

Losses = Mapping[str, Mapping[str, int]]
# A sample of the last moment of the post-roll may take this long, or 1.5 periods, to arrive.
_LATEST_S = 0.15
_LATEST_PERIOD_S = 2.0
_PRE_ROLL_CHUNK_NS = SECOND_NS // 10


@dataclass
class OpenEpisode:
    """From the start mark to the end of the post-roll.

    `is_open_ended` is one that nothing but the end of the source was going to end; `reason` says
    why it is not complete, if it is not. For `decide_ns` after its end it stays open for what
    people have to say of it, unless all is said before.
    """

    name: str
    journal: JournalWriter
    post_ns: int
    is_open_ended: bool
    losses_before: Losses
    end_ns: int | None = None
    reason: str | None = None
    decide_ns: int = 0
    questions: set[str] = field(default_factory=set)
    """What people were not asked yet, as far as they are to be asked."""
    is_settled: bool = False
    losses_noted: Losses = field(default_factory=dict)

    def add(self, packed: Packed) -> None:
        """Journal one sample; what comes after the post-roll, while people decide, is not of it."""
        if self.end_ns is None or packed.arrival_ns <= self.end_ns + self.post_ns:
            self._append(packed, packed.received_s)

    def add_pre_roll(self, recent: Iterable[Packed]) -> None:
        """Journal what came before, in chunks of a tenth of a second: damage costs one of them."""
        begin_ns: int | None = None
        for packed in sorted(recent, key=lambda one: one.arrival_ns):
            begin_ns = packed.arrival_ns if begin_ns is None else begin_ns
            if packed.arrival_ns - begin_ns >= _PRE_ROLL_CHUNK_NS:
                self.journal.cut()
                begin_ns = packed.arrival_ns
            self._append(packed, None)
        self.journal.cut()

    def _append(self, packed: Packed, received_s: float | None) -> None:
        """What came before the journal was there has waited for it since now, and no longer."""
        self.journal.append(
            packed.stream, packed.source_ns, packed.arrival_ns, packed.payload,
            received_s=received_s, is_raw=packed.is_raw,
        )  # fmt: skip

    def begin(self, time_ns: int, facts: dict[str, Any], warnings: tuple[str, ...]) -> None:
        """The demonstration begins; `warnings` say what is off as it does."""
        self.journal.mark("start", time_ns, facts)
        for sentence in warnings:
            self.journal.mark("warning", time_ns, {"message": sentence})

    def enter(self, time_ns: int, mark: OperatorMark) -> None:
        """Write a mark down, and end the demonstration where it says so.

        A segment is only of a demonstration that has not ended.
        """
        if mark.what == "segment" and self.end_ns is not None:
            return
        if mark.what != "end":
            self.journal.mark(mark.what, time_ns, mark.to_json())
        self.questions.discard(str(mark.facts.get("question")))
        stated = mark.facts.get("outcome", {})
        # Why it failed may be told in a second step.
        self.is_settled |= bool(stated.get("success") or stated.get("failure"))
        if mark.what == "discard":
            self.settle()
        if mark.ends and self.end_ns is None:
            self.end(time_ns, {} if mark.by is None else {"by": mark.by})

    def end(self, time_ns: int, facts: dict[str, Any]) -> None:
        """The demonstration is over; the post-roll begins."""
        self.end_ns = time_ns
        self.journal.mark("end", time_ns, facts)

    def settle(self) -> None:
        """Nothing more is to be said of it."""
        self.is_settled, self.questions = True, set()

    def is_over(self, now_ns: int) -> bool:
        """Whether the post-roll is, too, and the time to decide."""
        is_told = self.is_settled and not self.questions
        wait_ns = self.post_ns if is_told else max(self.post_ns, self.decide_ns)
        return self.end_ns is not None and now_ns > self.end_ns + wait_ns

    def close(self, now_ns: int, losses: Losses) -> None:
        """Note what was lost since the start, and end the journal."""
        try:
            self.note_losses(now_ns, losses)
        finally:
            self.journal.close()

    def note_losses(self, now_ns: int, losses: Losses) -> None:
        """Write down what was lost since the start, if that is more than was written before."""
        lost = {
            stream: {what: count - self.losses_before[stream][what] for what, count in now.items()}
            for stream, now in losses.items()
        }
        lost = {stream: counts for stream, counts in lost.items() if any(counts.values())}
        if lost != self.losses_noted:
            self.journal.mark("losses", now_ns, {"losses": lost})
            self.losses_noted = lost


def open_take(
    folder: Path,
    index: int,
    rig: Rig,
    *,
    metadata: Mapping[str, Any],
    roll_s: tuple[float, float],
    sync_every_s: float,
    is_open_ended: bool,
    losses: Losses,
    team: TeamDocuments,
) -> tuple[OpenEpisode, int]:
    """A take with a fresh journal, and its number; `index` is the last one taken.

    Another recorder may take a name between our look and our journal: then the next one is ours.
    `roll_s` is how much is wanted before and after.
    """
    header = {
        "id": new_id(),
        "schema": rig.schema.model_dump(mode="json"),
        "embodiment": rig.embodiment.model_dump(mode="json") if rig.embodiment else None,
        "sources": dict(rig.sources),
        "latency_ns": dict(rig.latency_ns),
        "is_networked": rig.is_networked,
        "metadata": dict(metadata),
        "required": list(team.required),
        "triggers": {group.name: group_paths(group, rig.schema) for group in team.triggers},
        "documents": [{"kind": item.kind, "text": item.canonical()} for item in team.embedded],
        "roll": None if is_open_ended else {"pre_s": roll_s[0], "post_s": roll_s[1]},
    }
    paths = [stream.path for stream in rig.schema.streams]
    cameras = [stream.path for stream in rig.schema.streams if stream.kind in ("video", "depth")]
    while True:
        name, index = free_name(folder, rig.resolve(), metadata, index)
        try:
            journal = JournalWriter(
                folder / f"{name}{JOURNAL_SUFFIX}", header, paths, raw=cameras,
                sync_every_s=sync_every_s,
            )  # fmt: skip
            break
        except JournalTakenError:
            continue
    slowest_s = max((1.5 / stream.rate_hz for stream in rig.schema.streams if stream.rate_hz),
                    default=0.0)  # fmt: skip
    wait_s = roll_s[1] + max(_LATEST_S, min(slowest_s, _LATEST_PERIOD_S))
    take = OpenEpisode(name, journal, round(wait_s * SECOND_NS), is_open_ended, losses)
    return take, index


def free_name(
    folder: Path, schema: Schema, metadata: Mapping[str, Any], index: int
) -> tuple[str, int]:
    """The next name that is free in the folder, and its number; `index` is the last one taken."""
    while True:
        index += 1
        name = Path(schema.episode_name(metadata, index)).stem
        if "{index" not in schema.file_name:
            name = f"{name}_{index:04d}"
        # The journal first: it is removed only after its episode has the name.
        used = [folder / f"{name}{suffix}" for suffix in (JOURNAL_SUFFIX, ".h5")]
        if not any(path.exists() for path in used):
            return name, index


def make_folder(folder: Path) -> None:
    """The folder for the episodes; one that is made is its user's alone: they show people."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CorporealError(
            f"folder for the episodes, got {folder}: {error.strerror or error}. Choose another."
        ) from None
