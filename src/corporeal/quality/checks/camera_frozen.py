"""No camera repeats its pictures while the robot moves."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from corporeal.episode.recording import ImageSequence
from corporeal.quality.check import Check, Finding, Findings, Spans
from corporeal.quality.evidence.motion import state_steps
from corporeal.quality.evidence.pictures import PictureTrack, cameras
from corporeal.quality.evidence.repeats import HALF_RATE, KEEPS_UP, VISIBLE, repeated_share
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags, flags_of, runs
from corporeal.signal.track import Array

# Pictures before and after a run that tell how fast the scene was moving.
NEARBY = 8
# How much a repeated picture may still stir after coding: tried one after the other.
LEVELS = (0.7, 1.3, 2.2, 3.5)
# The state moves, or creeps, when it is this share as fast as in its fastest tenth.
MOVING, CREEPING = 0.25, 0.1
# How much further than one usual step the scene has gone when the pictures come back.
CATCH_UP = 1.5
# Nothing with mass comes to rest, or off it, by this factor from one picture to the next.
ABRUPT = 6.0
# Noise that a camera shows all along cannot fall to this share of itself.
SILENT = 0.3
# With so many key pictures, each one's coding errors stir the scene a little.
KEY_RICH = 0.3
# A run that comes about by itself more often than this is the codec's doing.
IMPROBABLE = 0.01


@dataclass(frozen=True)
class Run:
    """Pictures first..stop-1 show what the picture before them showed."""

    first: int
    stop: int
    level: float
    """The most that the pictures of the run still stir."""
    before: float
    """How much the picture just before the run stirs, and `jump` the one just after it."""
    jump: float
    usual: float


def find(
    subject: Subject, *, max_still_s: float = 0.05, max_singles: int = 0, max_coded: float = 0.05
) -> Findings:
    """Yield runs of repeated pictures that last longer than `max_still_s` while things moved.

    A run counts when the scene jumps at its end, or when the robot's state moved on until the
    episode's end; and only if the movie does not repeat pictures at that speed all along, as the
    codec of a small or coarse movie does with slow motion. Single repeated pictures count when
    there are more than `max_singles`; in a movie whose codec may leave pictures out, when they are
    more than a share `max_coded`. A camera that shows every picture twice asks for a human where
    another one of the episode does not; where all do, their rate is what it is: a note.

    Why: the state moves on while the picture stands, so the two no longer belong together.
    Fix: cut the episode at the frozen stretch; look for a camera that loses its link.
    """
    seen = list(cameras(subject, least=10))
    repeated = {track.label: repeated_share(track) for track in seen}
    halved = {label for label, share in repeated.items() if share > HALF_RATE}
    full = [label for label, share in repeated.items() if share < KEEPS_UP]
    for track in seen:
        speed = state_steps(subject, track)
        shortest = 1
        if track.label in halved:
            yield _half_rate_finding(track, full)
            shortest = 3
        frozen = _frozen(track, speed, shortest)
        # Every picture on its own, as in a row of stills, leaves the codec nothing to repeat.
        coded = max(2.0, max_coded * len(track))
        stills = isinstance(subject.footage[track.label], ImageSequence) or track.is_key.all()
        few = max_singles if stills else max(max_singles, coded)
        yield from _report(track, runs(frozen), max_still_s, few)


def _report(
    track: PictureTrack, repeats: Spans, max_still_s: float, max_singles: float
) -> Findings:
    long = tuple((first, stop) for first, stop in repeats if stop - first > 1)
    singles = tuple((first, stop) for first, stop in repeats if stop - first == 1)
    if long:
        first, stop = max(long, key=lambda run: run[1] - run[0])
        longest_s = (stop - first) * track.period_s
        count = sum(stop - first for first, stop in long)
        if longest_s > max_still_s:
            yield Finding(
                f"{track.label} stands still from {track.when(first)} for {longest_s:.2f} s while "
                f"the scene moves on; {count} pictures repeat the one before.",
                stream=track.label,
                frames=long,
                value=longest_s,
                limit=max_still_s,
                evidence=track.curve(track.stir, "change"),
            )
    if len(singles) > max_singles:
        yield Finding(
            f"{track.label} repeats {len(singles)} single pictures while the scene moves on, the "
            f"first at {track.when(singles[0][0])}.",
            stream=track.label,
            frames=singles,
            value=len(singles),
            limit=max_singles,
            evidence=track.curve(track.stir, "change"),
        )


def _frozen(track: PictureTrack, speed: Array | None, shortest: int) -> Flags:
    """Pictures that repeat the one before although the scene moved on."""
    frozen = np.zeros(len(track), bool)
    expected = _expected_stir(track, speed)
    for level in LEVELS:
        quiet = track.stir < level
        quiet[0] = False
        usual = flags_of(runs(quiet, least=shortest), len(track))
        for run in _runs(track, quiet, level):
            if (
                run.stop - run.first >= shortest
                and _is_freeze(run, track, speed)
                and not track.is_refreshed(run.stop)
                and _chance(run, usual, expected) < IMPROBABLE
            ):
                frozen[run.first : run.stop] = True
    return frozen


def _expected_stir(track: PictureTrack, speed: Array | None) -> Array:
    """How much each picture should stir: by the speed of the state, or by its neighbours."""
    if speed is not None and (speed > 0).any():
        fast = speed > MOVING * float(np.quantile(speed, 0.9))
        return np.asarray(speed * float(np.median(track.stir[fast] / speed[fast])))
    return np.asarray(scipy.ndimage.percentile_filter(track.stir, 70, 2 * NEARBY + 1))


def _chance(run: Run, quiet: Flags, expected: Array) -> float:
    """How often such a run comes by itself: as pictures that should stir as much are quiet."""
    inside = slice(run.first, run.stop)
    alike = expected >= 0.7 * float(np.median(expected[inside]))
    alike[inside] = False
    share = (np.count_nonzero(quiet & alike) + 1) / (np.count_nonzero(alike) + 2)
    length = run.stop - run.first
    # Singles are counted instead.
    return float(len(quiet) * share ** min(length, NEARBY)) if length > 1 else 0.0


def _runs(track: PictureTrack, quiet: Flags, level: float) -> Iterator[Run]:
    """Quiet runs with the motion around them."""
    stir = track.stir
    for first, stop in runs(quiet):
        near = np.concatenate((stir[max(1, first - NEARBY) : first], stir[stop + 1 :][:NEARBY]))
        lively = near[near > level]
        yield Run(
            first,
            stop,
            level=level,
            before=float(stir[first - 1]),
            # A key picture in between may stir a little before the scene really jumps.
            jump=float(stir[stop : stop + 2].max(initial=0.0)),
            usual=float(np.median(lively)) if len(lively) else 0.0,
        )


def _is_freeze(run: Run, track: PictureTrack, speed: Array | None) -> bool:
    """Whether the scene must have moved on behind the run."""
    length = run.stop - run.first
    moved = _moved(run, speed)
    if moved < CREEPING or float(track.ordinary[run.first : run.stop].mean()) < 0.5:
        return False
    left = float(np.quantile(track.stir[run.first : run.stop], 0.9))
    if length >= 4 and speed is not None and left < SILENT * _noise(track, run):
        return True
    least = max(VISIBLE, ABRUPT * run.level)
    if run.stop >= len(track):
        stopped = run.before > 2 * least
        missed = speed is not None and _expected(run, track, speed) > least
        return length >= NEARBY and (stopped or missed)
    far = length >= 4 and run.jump > 4 * run.usual
    catches_up = run.jump > max(least, CATCH_UP * run.usual) and (far or moved > MOVING)
    abrupt = min(run.before, run.jump) > least
    if length == 1:
        return abrupt and (catches_up or float(track.is_key.mean()) < KEY_RICH)
    return catches_up or abrupt


def _noise(track: PictureTrack, run: Run) -> float:
    """How much the picture stirs, at least, in the rest of the episode."""
    rest = np.concatenate((track.stir[1 : run.first], track.stir[run.stop :]))
    return float(np.quantile(rest, 0.02)) if len(rest) >= 50 else 0.0


def _expected(run: Run, track: PictureTrack, speed: Array) -> float:
    """How much the pictures of the run should stir, judged by the rest of the episode."""
    rest = np.ones(len(track), bool)
    rest[run.first : run.stop] = False
    rest &= speed > MOVING * float(np.quantile(speed, 0.9))
    if rest.sum() < NEARBY:
        return 0.0
    return float(np.median(track.stir[rest] / speed[rest]) * speed[run.first : run.stop].mean())


def _moved(run: Run, speed: Array | None) -> float:
    """How fast the state moved in the run, as a share of its fast motion; 1 where unknown."""
    if speed is None:
        return 1.0
    lively = float(np.quantile(speed, 0.9))
    # Of a long run the faster fifth is enough: nothing of it was seen.
    within = float(np.quantile(speed[run.first : run.stop], 0.8))
    return within / lively if lively > 0 else 0.0


def _half_rate_finding(track: PictureTrack, full: list[str]) -> Finding:
    beside = f", while {full[0]} kept up" if full else ""
    return Finding(
        f"{track.label} shows every picture twice: the camera ran at half the rate of its stamps"
        f"{beside}.",
        stream=track.label,
        severity="quarantine" if full else "note",
        evidence=track.curve(track.stir, "change"),
    )


CHECK = Check(
    find, topic="pictures", severity="fail", unit="s", pictures=True, formerly=("not_frozen",)
)
