"""Finished episodes that are damaged, and device clocks that step while one is recorded.

Run: python -m bench.faults --subject episode_file --count 200
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.faults.outcome import Outcome, Subject
from bench.faults.recorder import ARM, items, recorder
from corporeal.capture.driver import Mark, Sample
from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.errors import CorporealError

_SAMPLES = 400
# From a tenth of a second to half a century, either way.
_STEPS_S = (0.1, 1.0, 60.0, 3600.0, 1.6e9)
_FAR_S = 10.0


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Damage, and every fourth time a clock."""
    folder.mkdir(parents=True, exist_ok=True)
    (path,) = recorder(folder, lambda: items(_SAMPLES, realtime=False), "whole").run()
    whole = path.read_bytes()
    with Episode.open(path) as episode:
        expected = episode[ARM][:]
    for number in range(seed, seed + count):
        rng = np.random.default_rng([50, number])
        if number % 4 == 0:
            yield _step(folder / "clock", rng)
        else:
            yield _damage(folder / "damaged.h5", whole, expected, rng, is_cut=number % 4 == 1)
    shutil.rmtree(folder)


def _damage(
    path: Path, whole: bytes, expected: np.ndarray, rng: np.random.Generator, *, is_cut: bool
) -> Outcome:
    """It is found, or it is in bytes that mean nothing: then every number is what it was."""
    data = bytearray(whole)
    place = int(rng.integers(len(data)))
    if is_cut:
        del data[place:]
    else:
        data[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)
    kind = "episode cut" if is_cut else "one bit of an episode changed"
    problem = ""
    try:
        if not verify(path):
            with Episode.open(path) as episode:
                if not np.array_equal(episode[ARM][:], expected):
                    problem = f"byte {place}: verified, and reads otherwise"
    except CorporealError:
        pass  # One sentence, which is what a damaged file should get.
    except Exception as error:  # What is no sentence breaks the promise.
        problem = f"byte {place}: {type(error).__name__}: {error}"
    path.unlink()
    return Outcome(kind, not problem, None, problem)


def _step(folder: Path, rng: np.random.Generator) -> Outcome:
    """Every sample is there, and a step of more than ten seconds quarantines the episode."""
    at, sign = int(rng.integers(50, _SAMPLES - 50)), int(rng.choice([-1, 1]))
    step_s = float(rng.choice(_STEPS_S))

    def read() -> Iterator[Sample | Mark]:
        for number, item in enumerate(items(_SAMPLES, realtime=False)):
            if isinstance(item, Sample) and number > at:
                source_ns = item.source_ns + sign * round(step_s * 1e9)
                item = Sample(item.stream, source_ns, item.arrival_ns, item.value)
            yield item

    (path,) = recorder(folder, read, "clock").run()
    with Episode.open(path) as episode:
        problems = [f"{one.path}: {one.message}" for one in verify(path)]
        if len(episode[ARM]) != _SAMPLES:
            problems.append(f"{len(episode[ARM])} samples; expected {_SAMPLES}")
        reason = str(episode.metadata.get("quarantine"))
        if (step_s > _FAR_S) != ("its clock was set" in reason):
            problems.append(f"a step of {sign * step_s} s: {reason}")
    shutil.rmtree(folder)
    return Outcome("device clock steps", not problems, None, "; ".join(problems))


SUBJECT = Subject("episode_file", run)
