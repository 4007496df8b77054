"""Damaged files end in what they hold or in one sentence: some of the campaign of bench.fuzz."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.fuzz import __main__ as fuzz
from bench.fuzz.bodies import hand_samples, learnt_samples, mesh_samples
from bench.fuzz.published import body_samples, floor_samples, published_samples
from bench.fuzz.readers import READERS, Sample, is_read

# Numbers beyond all measure overflow on the way to the sentence that refuses them.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
CASES = 200
# Hands in HDF5 are those of whose damaged names a campaign made tracebacks, under this seed.
FAILED, ITS_SEED, ITS_CASES = "hands egodex.hdf5", 7, 20


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    folder = tmp_path_factory.mktemp("fuzz")
    nothing = folder / "nothing"

    def make() -> Iterator[Sample]:
        yield from published_samples(folder / "published")
        yield from body_samples(folder / "bodies", nothing)
        yield from floor_samples(folder / "floor")
        yield from mesh_samples(folder / "meshes")
        yield from learnt_samples(folder / "learnt")

    # A policy needs a simulated robot, which takes longer than all others together.
    made = [sample for sample in make() if sample.reader != "policy"]
    assert all(is_read(sample) for sample in made)
    return made


@pytest.fixture(autouse=True)
def _without_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "_limit", lambda _: None)


def _faults(outcomes: Iterator[fuzz.Outcome]) -> list[fuzz.Outcome]:
    return [outcome for outcome in outcomes if outcome.kind in fuzz.FAULTS]


def test_damaged_files_of_every_kind_are_read_or_refused_in_a_sentence(
    samples: list[Sample],
) -> None:
    outcomes = (fuzz.try_case(samples[case % len(samples)], case, 1) for case in range(CASES))
    assert _faults(outcomes) == []


def test_what_once_failed_does_not_fail_again(tmp_path: Path, shared_data: Path) -> None:
    made = hand_samples(tmp_path / "hands", shared_data)
    (sample,) = [sample for sample in made if sample.name == FAILED]
    assert _faults(fuzz.try_case(sample, case, ITS_SEED) for case in range(ITS_CASES)) == []


def test_a_traceback_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("words")
    monkeypatch.setitem(READERS, "broken", lambda path: {}[path])
    outcome = fuzz.try_case(Sample("words", str(path), "broken"), 0, 1)
    assert outcome.kind == "traceback"
    assert "KeyError" in outcome.words
