"""Faults of an episode among others, and of what a set says of itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from bench.detection.editing import STATE, Array, label_of, put, rate_of, values_of
from bench.detection.fault import EpisodeSet, Fault, NotApplicable, Truth, fault
from corporeal.episode.recording import ArraySignal, Recording, VideoFile
from corporeal.units import SECOND_NS

Rng = np.random.Generator


def _copied(episodes: EpisodeSet, rng: Rng) -> tuple[int, int, Recording]:
    """Two places in the set, and the recording of the first numbered as the second."""
    count = len(episodes.recordings)
    if count < 3:
        raise NotApplicable("fewer than three episodes")
    one, other = (int(place) for place in rng.choice(count, 2, replace=False))
    there = episodes.recordings[other]
    copy = replace(
        episodes.recordings[one], id=there.id, index=there.index, source=there.source, claims={}
    )
    return one, other, copy


def _pair(episodes: EpisodeSet, one: int, other: int) -> tuple[int, ...]:
    return tuple(episodes.recordings[place].index for place in (one, other))


@fault({"episode_duplicated", "episode_nearly_duplicated"}, scope="set")
def exact_duplicate(episodes: EpisodeSet, rng: Rng, strength: float) -> tuple[EpisodeSet, Truth]:
    """An episode is in the set twice."""
    del strength
    one, other, copy = _copied(episodes, rng)
    changed = replace(episodes.with_recording(other, copy), statistics={})
    return changed, Truth(episodes=_pair(episodes, one, other))


@fault({"episode_nearly_duplicated", "episode_duplicated"},
       strengths=(0.0001, 0.001, 0.005), tolerance=0.001,
       unit="rad of noise", scope="set")  # fmt: skip
def near_duplicate(episodes: EpisodeSet, rng: Rng, strength: float) -> tuple[EpisodeSet, Truth]:
    """An episode is in the set again, cut a little differently and with other noise."""
    one, other, copy = _copied(episodes, rng)
    for label, signal in copy.signals.items():
        if signal.spec.kind != "array" or len(signal) < 50:
            continue
        cut = round(0.1 * rate_of(np.asarray(signal.time_ns)))
        values = values_of(copy, label)[cut:]
        scale = np.minimum(strength, 0.1 * values.std(axis=0))
        values = values + rng.normal(0, 1, values.shape) * scale
        stamps = np.asarray(signal.time_ns)[: len(values)]
        copy = put(copy, label, values, stamps)
    copy = _without_pictures_past(copy)
    changed = replace(episodes.with_recording(other, copy), statistics={})
    return changed, Truth(episodes=_pair(episodes, one, other))


def _without_pictures_past(recording: Recording) -> Recording:
    """Cameras cut to the length of the state."""
    end = recording.signals[label_of(recording, *STATE)].time_ns[-1]
    signals = dict(recording.signals)
    for label, signal in signals.items():
        if isinstance(signal, VideoFile):
            inside = int(np.searchsorted(signal.time_ns, end, side="right"))
            count = None if signal.count is None else min(signal.count, inside)
            signals[label] = replace(signal, time_ns=signal.time_ns[:inside], count=count or inside)
    return replace(recording, signals=signals)


@fault({"idle_too_long", "signal_frozen", "nothing_moves"}, strengths=(2, 6, 12), tolerance=6,
       unit="s")  # fmt: skip
def idle_padding(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """The recording goes on for long after the task was done: nothing happens any more."""
    state = label_of(recording, *STATE)
    first = len(recording.signals[state])
    for label, signal in recording.signals.items():
        if signal.spec.kind != "array" or not signal.spec.rate_hz or len(signal) < 50:
            continue
        stamps = np.asarray(signal.time_ns)
        rate = rate_of(stamps)
        count = round(strength * rate)
        samples = np.asarray(signal[:])
        more = stamps[-1] + np.rint(np.arange(1, count + 1) * SECOND_NS / rate).astype(np.int64)
        rest = _at_rest(samples, count, rng)
        new = ArraySignal(signal.spec, np.concatenate((stamps, more)),
                          np.concatenate((samples, rest)))  # fmt: skip
        recording = replace(recording, signals={**recording.signals, label: new}, claims={})
    last = len(recording.signals[state])
    recording = _drop_cameras(recording)
    return recording, Truth((state,), ((first, last),))


def _at_rest(samples: np.ndarray, count: int, rng: Rng) -> np.ndarray:
    """The last sample held, with the noise of the sensor: what its second differences are made of.

    A command has none, and neither has a reading that a slow loop repeats.
    """
    last = samples[-1].astype(np.float64)
    wobble = np.abs(np.diff(samples.astype(np.float64), n=2, axis=0))
    noise = np.median(wobble, axis=0) / 1.65
    held = last + noise * rng.normal(size=(count, *samples.shape[1:]))
    return np.asarray(held.astype(samples.dtype))


def _drop_cameras(recording: Recording) -> Recording:
    """Without its cameras: they would have to be made longer as well."""
    signals = {
        label: signal
        for label, signal in recording.signals.items()
        if signal.spec.kind in ("array", "text")
    }
    return replace(recording, signals=signals)


@fault({"motion_unlike_task"}, scope="set", data={"episode", "table"})
def outlier_motion(episodes: EpisodeSet, rng: Rng, strength: float) -> tuple[EpisodeSet, Truth]:
    """An episode of another task is filed under this one."""
    del strength
    tasks = Counter(recording.metadata.get("task") for recording in episodes.recordings)
    common = [task for task, count in tasks.items() if count >= 8]
    others = [
        place
        for place, recording in enumerate(episodes.recordings)
        if tasks[recording.metadata.get("task")] < len(episodes.recordings)
        and recording.metadata.get("task") != "stand"
    ]
    if not common or not others:
        raise NotApplicable("not enough episodes of a task")
    task = common[int(rng.integers(len(common)))]
    foreign = [place for place in others if episodes.recordings[place].metadata["task"] != task]
    if not foreign:
        raise NotApplicable("one task")
    place = int(rng.choice(foreign))
    model = next(each for each in episodes.recordings if each.metadata.get("task") == task)
    wrong = episodes.recordings[place]
    metadata = {**wrong.metadata, "task": task}
    if "instruction" in model.metadata:
        metadata["instruction"] = model.metadata["instruction"]
    changed = replace(wrong, metadata=metadata)
    unclaimed = replace(episodes, statistics={})
    return unclaimed.with_recording(place, changed), Truth(episodes=(wrong.index,))


PLACEHOLDERS = ("", "task", "TODO", "test", "asdf", "Describe the task here.", "string",
                "instruction", "N/A", "xxx")  # fmt: skip


@fault({"instruction_meaningless", "metadata_missing"})
def placeholder_instruction(
    recording: Recording, rng: Rng, strength: float
) -> tuple[Recording, Truth]:
    """The instruction is a placeholder."""
    del strength
    text = str(rng.choice(PLACEHOLDERS))
    metadata = dict(recording.metadata)
    streams: tuple[str, ...] = ()
    label = recording.named("instruction")
    if label is not None and recording.signals[label].spec.kind == "text":
        signal = recording.signals[label]
        new = ArraySignal(signal.spec, signal.time_ns, [text] * len(signal))
        recording = replace(recording, signals={**recording.signals, label: new})
        streams = (label,)
    for key in ("instruction", "instructions", "tasks", "task"):
        if key in metadata and (key != "task" or recording.regridded):
            metadata[key] = text if isinstance(metadata[key], str) else [text]
    if not streams and metadata == dict(recording.metadata):
        raise NotApplicable("no instruction")
    return replace(recording, metadata=metadata), Truth(streams)


@fault({"stream_missing", "samples_missing", "footage_incomplete"})
def missing_stream(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """A stream that the schema asks for is not there."""
    del strength
    if recording.regridded:
        raise NotApplicable("a table has what it has")
    choices = [
        label
        for label, signal in recording.signals.items()
        if not signal.spec.optional and signal.spec.rate_hz
    ]
    label = str(rng.choice(sorted(choices)))
    signals = {name: signal for name, signal in recording.signals.items() if name != label}
    missing = (*recording.missing_streams, label)
    return replace(recording, signals=signals, missing_streams=missing), Truth((label,))


@fault({"stream_missing", "samples_missing", "gap_in_stream", "rate_misstated"})
def empty_stream(recording: Recording, rng: Rng, strength: float) -> tuple[Recording, Truth]:
    """A stream is there and has no samples."""
    del strength
    if recording.regridded:
        raise NotApplicable("a table has as many rows in every column")
    choices = [
        label
        for label, signal in recording.signals.items()
        if signal.spec.kind == "array" and not signal.spec.optional
    ]
    label = str(rng.choice(sorted(choices)))
    signal = recording.signals[label]
    none = np.asarray(signal[:])[:0]
    new = ArraySignal(signal.spec, np.asarray(signal.time_ns)[:0], none)
    return replace(recording, signals={**recording.signals, label: new}), Truth((label,))


@fault({"task_failed", "robot_fell", "base_height_wrong"}, data={"failed"})
def failure_called_success(
    recording: Recording, rng: Rng, strength: float
) -> tuple[Recording, Truth]:
    """The task went wrong and the episode says that it succeeded."""
    del rng, strength
    outcome = recording.metadata.get("outcome") or {}
    if outcome.get("success", True):
        raise NotApplicable("it did not fail")
    metadata = {key: value for key, value in recording.metadata.items() if key != "events"}
    metadata["outcome"] = {"success": True, "failure": None}
    metadata["variation"] = {}
    signals = {
        label: signal for label, signal in recording.signals.items() if label != "debug/outcome"
    }
    return replace(recording, metadata=metadata, signals=signals), Truth()


@fault({"operator_dominates"}, strengths=(0.4, 0.8), unit="share", scope="set")
def one_operator(episodes: EpisodeSet, rng: Rng, strength: float) -> tuple[EpisodeSet, Truth]:
    """One operator made far more of the set than others (30 % is the most that is allowed)."""
    del rng
    count = len(episodes.recordings)
    if count < 10:
        raise NotApplicable("fewer than ten episodes")
    mine = int(np.ceil(strength * count))
    changed = []
    for place, recording in enumerate(episodes.recordings):
        name = "op_busy" if place < mine else f"op{place % 7}"
        changed.append(replace(recording, metadata={**recording.metadata, "operator": name}))
    return replace(episodes, recordings=tuple(changed)), Truth()


def _wrong_statistics(name: str, what: str) -> Fault:
    def inject(episodes: EpisodeSet, rng: Rng, strength: float) -> tuple[EpisodeSet, Truth]:
        label = label_of(episodes.recordings[0], *STATE)
        claimed = dict(episodes.statistics.get(label) or _statistics(episodes, label))
        columns = np.flatnonzero(claimed["std"] > 1e-3)
        if not len(columns):
            raise NotApplicable("nothing varies")
        column = int(rng.choice(columns))
        keys = ("q01", "q99") if name == "quantiles" else (name,)
        for key in keys:
            if key not in claimed:
                raise NotApplicable(f"no {key}")
            wrong = np.array(claimed[key], np.float64)
            wrong[column] += strength * claimed["std"][column]
            claimed[key] = wrong
        statistics = {**episodes.statistics, label: claimed}
        return replace(episodes, statistics=statistics), Truth((label,))

    inject.__name__, inject.__doc__ = f"statistics_{name}", what
    return fault({"dataset_statistics_wrong"}, strengths=(0.1, 0.5, 2.0), tolerance=0.5, unit="std",
                 scope="set", data={"table", "gr1"})(inject)  # fmt: skip


def _statistics(episodes: EpisodeSet, label: str) -> dict[str, Array]:
    """What an honest source would claim."""
    values = np.concatenate([values_of(each, label) for each in episodes.recordings])
    low, high = np.quantile(values, [0.01, 0.99], axis=0)
    return {
        "mean": values.mean(axis=0), "std": values.std(axis=0), "min": values.min(axis=0),
        "max": values.max(axis=0), "count": np.array([len(values)], np.float64),
        "q01": low, "q99": high,
    }  # fmt: skip


STATISTICS = tuple(
    _wrong_statistics(name, f"The set's {name} is not that of its numbers.")
    for name in ("mean", "std", "quantiles")
)

FAULTS: tuple[Fault, ...] = (
    exact_duplicate, near_duplicate, idle_padding, outlier_motion, placeholder_instruction,
    missing_stream, empty_stream, failure_called_success, one_operator, *STATISTICS,
)  # fmt: skip
