"""A proof finds what is wrong: every kind of damage is planted and must be named."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.exchange.small_sets import write_episodes

from corporeal.exchange.conversion import ExportResult, export, table_at
from corporeal.exchange.movie.writing import write_movie
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.proof import Proof, prove

CAMERA = "observation.images.head_left"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> ExportResult:
    folder = tmp_path_factory.mktemp("proof")
    episodes = write_episodes(folder / "recorded", 2, seconds=0.6, size=(48, 64))
    return export(partial(open_dataset, episodes), folder / "out", "lerobot_v21", ExportOptions())


@pytest.fixture
def damaged(exported: ExportResult, tmp_path: Path) -> ExportResult:
    """A copy to spoil."""
    shutil.copytree(exported.out, tmp_path / "out")
    return replace(exported, out=tmp_path / "out")


def _wrong(proof: Proof) -> dict[str, str]:
    return {each.what: each.result for each in proof.evidence if not each.holds}


def _rows(exported: ExportResult, number: int) -> Path:
    return exported.out / f"data/chunk-000/episode_{number:06d}.parquet"


def _movie(exported: ExportResult, number: int) -> Path:
    return exported.out / f"videos/chunk-000/{CAMERA}/episode_{number:06d}.mp4"


def test_a_good_export_is_proved(exported: ExportResult) -> None:
    proof = prove(exported)
    assert proof.holds
    assert {each.what for each in proof.evidence} >= {
        "episode boundaries", "values", "instructions", "outcomes", "pictures", "statistics",
    }  # fmt: skip
    assert json.dumps(proof.to_json())


def test_a_changed_value_is_found(damaged: ExportResult) -> None:
    path = _rows(damaged, 1)
    table = pq.read_table(path)
    place = table.column_names.index("observation.state")
    rows = table.column(place).to_pylist()
    rows[5][3] += 1e-3
    spoilt = table.set_column(
        place, table.schema.field(place), pa.array(rows, table.field(place).type)
    )
    pq.write_table(spoilt, path)
    proof = prove(damaged)
    assert not proof.holds
    assert "episode 1 differs in observation.state by" in _wrong(proof)["values"]


def test_a_missing_row_is_found(damaged: ExportResult) -> None:
    path = _rows(damaged, 0)
    pq.write_table(pq.read_table(path)[:-1], path)
    assert "episode 0 has" in _wrong(prove(damaged))["episode boundaries"]


def test_pictures_of_another_episode_are_found(damaged: ExportResult) -> None:
    _movie(damaged, 0).unlink()
    shutil.copy(_movie(damaged, 1), _movie(damaged, 0))
    assert "pictures" in _wrong(prove(damaged))


def test_pictures_that_are_one_frame_late_are_found(damaged: ExportResult) -> None:
    camera = table_at(damaged, damaged.job.opener(), 0).cameras[CAMERA]
    target = _movie(damaged, 0)
    target.unlink()
    late = replace(camera, numbers=np.maximum(camera.numbers - 1, camera.numbers[0]))
    write_movie(late, target, rate_hz=30)
    assert "shows row" in _wrong(prove(damaged))["pictures"]


def test_statistics_that_do_not_match_are_found(damaged: ExportResult) -> None:
    path = damaged.out / "meta/stats.json"
    stats = json.loads(path.read_text())
    stats["action"]["std"][2] *= 1.01
    path.write_text(json.dumps(stats))
    assert "std of action" in _wrong(prove(damaged))["statistics"]


def test_another_instruction_is_found(damaged: ExportResult) -> None:
    for name in ("tasks.jsonl", "episodes.jsonl"):
        path = damaged.out / "meta" / name
        path.write_text(path.read_text().replace("red box", "blue box"))
    assert "blue box" in _wrong(prove(damaged))["instructions"]


def test_a_proof_that_compared_nothing_does_not_hold() -> None:
    assert not Proof((), ()).holds
