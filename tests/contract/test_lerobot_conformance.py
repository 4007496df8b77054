"""LeRobot itself reads and trains on what we export: v3.0 with its release, v2.1 with its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bench.partners import CACHE, PartnerError, partner_python
from tests.exchange.small_sets import write_episodes

from corporeal.exchange.conversion import ExportResult, export
from corporeal.exchange.format import writer_of
from corporeal.exchange.library import UnsuitedError, ask
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.proof import prove
from corporeal.exchange.training.smoke_training import smoke_train

pytestmark = pytest.mark.slow

RELEASES = {"lerobot": "lerobot", "lerobot_v21": "lerobot_v21", "groot": "lerobot_v21"}
"""Which partner reads a format."""
COMPARED = {"episode boundaries", "values", "pictures", "instructions", "statistics"}


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("episodes") / "recorded", 3, seconds=1.0)


@pytest.fixture(scope="module")
def exported(
    episodes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], ExportResult]:
    """The episodes in a format; each is written once."""
    folder, made = tmp_path_factory.mktemp("datasets"), {}

    def write(name: str) -> ExportResult:
        if name not in made:
            opener = partial(open_dataset, episodes)
            made[name] = export(opener, folder / name, name, ExportOptions())
        return made[name]

    return write


def python_of(partner: str) -> str:
    try:
        return str(partner_python(partner))
    except PartnerError as reason:
        pytest.skip(f"no environment with {partner}: {reason}")


@pytest.mark.parametrize("name", RELEASES)
def test_lerobot_finds_in_an_export_what_was_recorded(
    name: str, exported: Callable[[str], ExportResult]
) -> None:
    proof = prove(exported(name), python=python_of(RELEASES[name]))
    by_lerobot = [each for each in proof.evidence if each.by.startswith("lerobot ")]
    assert proof.holds, [each for each in proof.evidence if not each.holds]
    assert {each.what for each in by_lerobot} == COMPARED


def test_a_release_for_another_version_says_so(exported: Callable[[str], ExportResult]) -> None:
    consumer = writer_of("lerobot_v21").consumer
    assert consumer is not None
    with pytest.raises(UnsuitedError, match=r"dataset is v2\.1, and lerobot 0\.4\.4 reads v3\.0"):
        ask(consumer, exported("lerobot_v21").out, [], [], [], python=python_of("lerobot"))


def test_act_and_diffusion_train_on_both_versions_alike(
    exported: Callable[[str], ExportResult],
) -> None:
    reports = {
        name: smoke_train(exported(name).out, steps=9, batch=4, python=python_of(RELEASES[name]))
        for name in ("lerobot", "lerobot_v21")
    }
    for name, report in reports.items():
        assert report.passed, (name, report.reasons)
        assert [run.policy for run in report.runs] == ["act", "diffusion"]
        assert {run.action_shape for run in report.runs} == {(29,)}
    for new, old in zip(reports["lerobot"].runs, reports["lerobot_v21"].runs, strict=True):
        # The same rows, pictures and statistics in the same order: the same first losses.
        np.testing.assert_allclose(new.losses[:3], old.losses[:3], rtol=1e-3)


def test_statistics_that_do_not_fit_the_values_stop_a_training(
    exported: Callable[[str], ExportResult], tmp_path: Path
) -> None:
    spoiled = tmp_path / "spoiled"
    shutil.copytree(exported("lerobot").out, spoiled)
    path = spoiled / "meta" / "stats.json"
    stats = json.loads(path.read_text())
    stats["action"]["std"] = [1e-6 for _ in stats["action"]["std"]]
    path.write_text(json.dumps(stats))
    report = smoke_train(spoiled, policies=("act",), steps=6, batch=2, python=python_of("lerobot"))
    assert not report.passed
    assert any("statistics do not fit" in reason for reason in report.reasons), report.reasons


def test_the_newest_lerobot_reads_and_trains_on_v3(exported: Callable[[str], ExportResult]) -> None:
    if not (CACHE / "lerobot_newest" / "complete.json").exists():
        pytest.skip("5.5 GB, so only on request: python -m bench.partners lerobot_newest")
    python = python_of("lerobot_newest")
    proof = prove(exported("lerobot"), python=python)
    assert proof.holds, [each for each in proof.evidence if not each.holds]
    assert "lerobot 0.6.1" in {each.by for each in proof.evidence}
    report = smoke_train(exported("lerobot").out, steps=9, batch=4, python=python)
    assert report.passed, report.reasons
