"""How an episode ended, in whichever way its source wrote it down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from corporeal.episode.label_track import LabelTrack
from corporeal.errors import CorporealError
from corporeal.schema import Stream, roles

MISHAPS = ("drop", "slip", "fall", "missed_grasp")
"""What a recorder or an annotator may have written down as it happened."""
FAILURES = (*MISHAPS, "collision", "misplaced", "timeout")
"""Names of failures that say by themselves that the episode failed."""

_GOOD = ("success", "succeeded", "successful", "good", "ok", "true", "1", "1.0")
_BAD = ("failure", "failed", "fail", "unsuccessful", "bad", "false", "0", "0.0")
_NOTHING = ("", "none", "null", "unknown", "not stated")
_FLAG_NAMES = ("success", "is_success", "next_success")
_EVENT_NAMES = (roles.OUTCOME, "events", "event")
_LONGEST = 200


class Samples(Protocol):
    """A stream with its samples."""

    @property
    def spec(self) -> Stream:
        """What the stream is."""

    def __len__(self) -> int: ...

    def __getitem__(self, selection: Any) -> Any: ...


@dataclass(frozen=True)
class EpisodeOutcome:
    """Whether the task was done; None where nobody says, or in words that nobody knows.

    `failure` is the name of what went wrong, `measures` what it was judged by. `unclear` is what
    was written where it can be read as neither: it is told, never guessed.
    """

    success: bool | None = None
    failure: str | None = None
    measures: Mapping[str, Any] = field(default_factory=dict)
    unclear: str | None = None

    def __str__(self) -> str:
        if self.success:
            return "success"
        if self.success is False:
            reason = (self.failure or "").replace("_", " ")
            return f"failure: {reason}" if reason else "failure"
        return "not stated" if self.unclear is None else f"unclear: {self.unclear!r}"


def read_outcome(
    metadata: Mapping[str, Any],
    signals: Iterable[Samples] = (),
    labels: LabelTrack | None = None,
) -> EpisodeOutcome:
    """What people labelled, else what the metadata states, else what the streams say.

    The first of these that can be read counts.
    """
    if labels is not None and labels.success is not None:
        stated = read_stated(metadata.get("outcome"))
        failure = labels.failure_mode if not labels.success else None
        return EpisodeOutcome(labels.success, failure, stated.measures)
    unclear: EpisodeOutcome | None = None
    for outcome in _stated_outcomes(metadata, signals):
        if outcome.success is not None:
            return outcome
        unclear = unclear or (outcome if outcome.unclear or outcome.measures else None)
    return unclear or EpisodeOutcome()


def read_stated(value: Any) -> EpisodeOutcome:
    """One value that may say how it ended: a flag, a word, a number, or fields with those."""
    if isinstance(value, Mapping):
        measures = value.get("measures")
        return _judged(
            value.get("success"),
            value.get("failure"),
            measures if isinstance(measures, Mapping) else {},
        )
    return _judged(value)


def read_flag(value: Any) -> bool | None:
    """Whether a flag, number or word says success; None where it says neither."""
    if isinstance(value, list | tuple | np.ndarray) and np.size(value) == 1:
        value = np.asarray(value).reshape(-1)[0]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | float | np.number) and value in (0, 1):
        return bool(value)
    word = str(value).strip().lower() if isinstance(value, str) else ""
    return True if word in _GOOD else False if word in _BAD else None


def _judged(flag: Any, failure: Any = None, measures: Mapping[str, Any] | None = None
            ) -> EpisodeOutcome:  # fmt: skip
    reason = _word(failure)
    success = read_flag(flag)
    name = _word(flag)
    if success is None and name is not None and name.lower() in FAILURES:
        success, reason = False, reason or name.lower()
    if success is None and name is None and reason is not None:
        success = False
    return EpisodeOutcome(
        success,
        None if success else reason,
        measures or {},
        name[:_LONGEST] if success is None and name is not None else None,
    )


def _word(value: Any) -> str | None:
    """What somebody wrote, as text; None for nothing."""
    if value is None or isinstance(value, Mapping):
        return None
    text = str(value).strip()
    return None if text.lower() in _NOTHING else text


def _stated_outcomes(
    metadata: Mapping[str, Any], signals: Iterable[Samples]
) -> Iterator[EpisodeOutcome]:
    whole = read_stated(metadata.get("outcome"))
    flag = _judged(metadata.get("success"), metadata.get("failure"), whole.measures)
    yield (
        whole
        if whole.failure or whole.success is not False
        else replace(whole, failure=flag.failure)
    )
    yield (
        flag if flag.failure or flag.success is not False else replace(flag, failure=whole.failure)
    )
    for signal in signals:
        yield from _streamed(signal)


def _streamed(signal: Samples) -> Iterator[EpisodeOutcome]:
    """What a stream of events or a column of flags says; nothing where it cannot be read."""
    spec = signal.spec
    try:
        if spec.kind == "text" and spec.name in _EVENT_NAMES:
            for number in reversed(range(len(signal))):
                yield _event(str(signal[number]), is_outcome=spec.name == roles.OUTCOME)
        elif spec.kind == "array" and spec.name in _FLAG_NAMES and len(signal):
            flags = np.asarray(signal[:], np.float64)
            if np.isfinite(flags).all():
                yield EpisodeOutcome(bool((flags > 0).any()))
    except (CorporealError, ValueError, TypeError):
        return


def _event(line: str, *, is_outcome: bool) -> EpisodeOutcome:
    """A line of a stream: JSON or a word; of other events only those that say they are the end."""
    try:
        said = json.loads(line)
    except ValueError:
        said = line
    if not isinstance(said, Mapping):
        return read_stated(said) if is_outcome else EpisodeOutcome()
    name = said.get("event", said.get("name"))
    if name is None:
        return read_stated(said) if is_outcome else EpisodeOutcome()
    if name in ("outcome", "end"):
        return read_stated(said.get("outcome", said))
    return read_stated(name) if read_flag(name) is not None else EpisodeOutcome()
