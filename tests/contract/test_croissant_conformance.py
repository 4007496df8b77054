"""What we say of a release in Croissant is valid for its keepers' own program, and true."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.partners import partner_python
from tests.exchange.small_sets import write_episodes
from tests.release.card.small_release import MANIFEST, entries, facts_of

from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.quality.check import title_of
from corporeal.release.card import card_plots, render_card
from corporeal.release.card.croissant import ReleaseFile, croissant

pytestmark = pytest.mark.slow

READ = """\
import json, sys, itertools
import mlcroissant

dataset = mlcroissant.Dataset(sys.argv[1])
told = dataset.metadata
print(json.dumps({
    "warnings": sorted(told.ctx.issues.warnings),
    "name": told.name,
    "version": told.version,
    "biases": told.data_biases,
    "limitations": told.data_limitations,
    "people": told.personal_sensitive_information,
    "types": told.data_collection_type,
    "use": told.data_use_cases,
    "sets": {
        each.id: [
            {key: getattr(value, "tolist", lambda: value)() for key, value in row.items()}
            for row in itertools.islice(dataset.records(each.id), 1000)
        ]
        for each in told.record_sets
    },
}, default=lambda value: value.decode() if isinstance(value, bytes) else str(value)))
"""


@pytest.fixture(scope="module")
def python() -> Path:
    return partner_python("mlcroissant")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as it would be published: a LeRobot dataset, the card, its pictures, a manifest."""
    work = tmp_path_factory.mktemp("croissant")
    source = write_episodes(work / "source", 2, seconds=0.4)
    folder = work / "published"
    export(lambda: open_dataset(source), folder, "lerobot", ExportOptions())
    made = entries(40)
    facts = facts_of(work, made)
    listed = [{"id": each.id, "hash": each.row.hash, "split": "train", "score": None,
               **{name: getattr(each.row, name) for name in ("task", "robot", "success", "verdict",
                                                      "duration_s")}} for each in made]  # fmt: skip
    (folder / "episodes.json").write_text(json.dumps({"episodes": listed}))
    (folder / "plots").mkdir()
    for name, picture in card_plots(facts).items():
        (folder / "plots" / name).write_bytes(picture)
    (folder / "README.md").write_text(render_card(facts, pictures=card_plots(facts)))
    files = [_file(folder, path) for path in sorted(folder.rglob("*")) if path.is_file()]
    features = json.loads((folder / "meta" / "info.json").read_text())["features"]
    told = croissant(facts, files, features=features)
    (folder / "croissant.json").write_text(json.dumps(told, indent=1))
    return folder


def _file(folder: Path, path: Path) -> ReleaseFile:
    content = path.read_bytes()
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    return ReleaseFile(path.relative_to(folder).as_posix(), digest, len(content))


def _alone(tmp_path: Path) -> dict[str, str]:
    """An environment from which no network can be reached."""
    dead = "http://127.0.0.1:9"
    return {**os.environ, "CROISSANT_CACHE": str(tmp_path), "http_proxy": dead,
            "https_proxy": dead, "HTTP_PROXY": dead, "HTTPS_PROXY": dead}  # fmt: skip


def _validate(python: Path, path: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    command = [str(python.with_name("mlcroissant")), "validate", "--jsonld", str(path)]
    return subprocess.run(command, env=_alone(tmp_path), capture_output=True, text=True,
                          check=False)  # fmt: skip


def test_its_own_checker_finds_nothing_wrong(python: Path, published: Path, tmp_path: Path) -> None:
    done = _validate(python, published / "croissant.json", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert "@context` is not standard" not in done.stderr


def test_its_own_checker_would_find_something_wrong(
    python: Path, published: Path, tmp_path: Path
) -> None:
    told = json.loads((published / "croissant.json").read_text())
    told["recordSet"][1]["field"][0]["source"]["fileObject"]["@id"] = "nowhere.json"
    (tmp_path / "wrong.json").write_text(json.dumps(told))
    assert _validate(python, tmp_path / "wrong.json", tmp_path).returncode != 0


def test_the_records_that_it_promises_are_there_and_hashes_hold(
    python: Path, published: Path, tmp_path: Path
) -> None:
    command = [str(python), "-c", READ, str(published / "croissant.json")]
    done = subprocess.run(command, env=_alone(tmp_path), capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["name"] in ("kitchen", {"en": "kitchen"})
    assert said["version"] == "1.2.0"
    assert said["types"] == ["Physical data collection"]
    assert said["use"] is None, "the catalogue knows of no use"
    assert any(title_of("gap_in_stream") in each for each in said["limitations"])
    assert "jane.doe" not in done.stdout
    assert len(said["sets"]["splits"]) == 2
    assert len(said["sets"]["episodes"]) == 40
    assert said["sets"]["episodes"][0]["episodes/id"] == "e00000"
    info = json.loads((published / "meta" / "info.json").read_text())
    rows = said["sets"]["time_steps"]
    assert len(rows) == info["total_frames"]
    width = info["features"]["action"]["shape"][0]
    assert len(rows[0]["time_steps/action"]) == width


def test_a_changed_file_is_told_from_the_one_that_was_published(
    python: Path, published: Path, tmp_path: Path
) -> None:
    told = json.loads((published / "croissant.json").read_text())
    for each in told["distribution"]:
        if each["@id"] == "episodes.json":
            each["sha256"] = MANIFEST.removeprefix("sha256:")
    path = published / "changed.json"
    path.write_text(json.dumps(told))
    done = subprocess.run([str(python), "-c", READ, str(path)], env=_alone(tmp_path),
                          capture_output=True, text=True, check=False)  # fmt: skip
    path.unlink()
    assert done.returncode != 0
    assert "is not identical with the" in done.stderr
