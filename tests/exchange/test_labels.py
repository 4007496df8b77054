"""Labels of people on their way through every format and back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.exchange.small_sets import write_episodes

from corporeal.episode.label_track import LabelSpan, LabelTrack, Lane, spans_of_rows, united
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.comparison import Evidence
from corporeal.exchange.conversion import ExportResult, export
from corporeal.exchange.editing.recipe import Recipe, apply
from corporeal.exchange.layout import layout_of
from corporeal.exchange.opening import join_datasets, open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.proof import prove
from corporeal.exchange.table import table_of
from corporeal.exchange.training.torch_dataset import EpisodeDataset

PHASE = Lane(name="phase", labels=("rest", "reach", "grasp"), tiles=True)
CONTACT = Lane(name="contact", labels=("touch",))
WHOLE = ("episodes", "mcap", "robomimic", "aloha", "zarr", "rlds")
ROWS = ("lerobot", "lerobot_v21", "groot")


def labelled(recording: Recording) -> Recording:
    """The recording with three phases, a moment of contact and two wordings."""
    stamps = next(each.time_ns for each in recording.signals.values()
                  if each.spec.kind == "video")  # fmt: skip
    edges = [int(stamps[0]), int(stamps[8]), int(stamps[15]), int(stamps[-1])]
    spans = [
        LabelSpan(lane="phase", label=label, start_ns=start, end_ns=end)
        for label, start, end in zip(PHASE.labels, edges[:-1], edges[1:], strict=True)
    ]
    moment = int(stamps[15])
    spans.append(LabelSpan(lane="contact", label="touch", start_ns=moment, end_ns=moment,
                      attributes={"hand": "left", "force_n": 2.5}))  # fmt: skip
    track = LabelTrack(
        taxonomy="manipulation@1.0.0", reference=_camera(recording), lanes=(PHASE, CONTACT),
        spans=tuple(spans), instructions=("Take the box.", "Pick up the box, please."),
        outcome="failure", failure_mode="dropped",
    )  # fmt: skip
    return replace(recording, labels=track)


def _camera(recording: Recording) -> str:
    return next(each.spec.path for each in recording.signals.values() if each.spec.kind == "video")


def opened(folder: Path, numbers: tuple[int, ...] = (0, 1)) -> Dataset:
    """The episodes of a folder, those of these numbers with labels."""
    dataset = open_dataset(folder)

    def open_one(number: int) -> Recording:
        recording = dataset.open(number)
        return labelled(recording) if number in numbers else recording

    return replace(dataset, open=open_one, lanes=lambda: (PHASE, CONTACT))


def evidence(exported: ExportResult) -> list[Evidence]:
    """What our own reader says of an export: other tests ask the formats' libraries."""
    found = [each for each in prove(exported, python="/nowhere").evidence if each.by == "corporeal"]
    assert found
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("labelled") / "episodes", seconds=0.7)


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ExportResult]:
    done: dict[str, ExportResult] = {}
    root = tmp_path_factory.mktemp("made")

    def make(name: str) -> ExportResult:
        if name not in done:
            done[name] = export(
                partial(opened, folder), root / name, name, ExportOptions(on="serial")
            )
        return done[name]

    return make


@pytest.mark.parametrize("name", [*WHOLE, *ROWS])
def test_an_export_with_labels_is_proven_and_gives_them_back(
    name: str, made: Callable[[str], ExportResult], folder: Path
) -> None:
    exported = made(name)
    found = evidence(exported)
    assert all(each.holds for each in found), found
    source = opened(folder)
    result = open_dataset(exported.out)
    assert {lane.name for lane in result.lanes()} == {"phase", "contact"}
    for number in result.episodes:
        wanted, got = source.open(number), result.open(number)
        assert got.labels == wanted.labels
        assert "labels" not in got.metadata


@pytest.mark.parametrize("name", ROWS)
def test_rows_alone_keep_every_label_to_the_row(
    name: str, made: Callable[[str], ExportResult], folder: Path
) -> None:
    exported = made(name)
    result = open_dataset(exported.out, restore=False)
    for number in result.episodes:
        assert exported.layout is not None
        table = table_of(opened(folder).open(number), exported.layout, number=number)
        got = result.open(number)
        assert got.labels is not None
        stamps = got.signals["action"].time_ns
        for lane in (PHASE, CONTACT):
            assert np.array_equal(got.labels.rows(lane, stamps), table.labels[lane.name])
        assert not any("label" in each or "subtask" in each for each in got.signals)


def test_a_proof_finds_labels_that_moved(made: Callable[[str], ExportResult], folder: Path) -> None:
    exported = made("lerobot_v21")
    changed = exported.out.with_name("changed")
    shutil.copytree(exported.out, changed)
    path = changed / "data/chunk-000/episode_000001.parquet"
    table = pq.read_table(path)
    numbers = table.column("subtask_index").to_numpy().copy()
    numbers[8] = 0
    place = table.column_names.index("subtask_index")
    pq.write_table(table.set_column(place, "subtask_index", [numbers]), path)
    found = evidence(replace(exported, out=changed))
    (labels,) = [each for each in found if each.what == "labels"]
    assert not labels.holds
    assert "episode 1 has other labels in phase" in labels.result


def test_lerobot_has_subtasks_where_its_library_looks(made: Callable[[str], ExportResult]) -> None:
    out = made("lerobot").out
    listed = pq.read_table(out / "meta/subtasks.parquet").to_pydict()
    assert listed == {"subtask_index": [0, 1, 2, 3], "subtask": ["rest", "reach", "grasp", ""]}
    rows = pq.read_table(out / "data/chunk-000/file-000.parquet").slice(0, 16).to_pydict()
    # The first row shows the second picture: before that, not every stream has begun.
    assert rows["subtask_index"] == [0] * 7 + [1] * 7 + [2] * 2
    assert rows["labels.contact"] == [-1] * 14 + [0, -1]
    tasks = pq.read_table(out / "meta/tasks.parquet").to_pydict()["__index_level_0__"]
    assert tasks == ["Take the box.", "Pick up the box, please."]


def test_hdf5_has_numbers_with_their_names_beside_them(made: Callable[[str], ExportResult]) -> None:
    with h5py.File(made("robomimic").out / "dataset.hdf5") as file:
        rows = file["data/demo_0/labels/phase"]
        assert [name.decode() for name in rows.attrs["labels"]] == ["rest", "reach", "grasp"]
        assert rows[:16].tolist() == [0] * 7 + [1] * 7 + [2] * 2
        assert file["data/demo_0/rewards"][-1] == 0.0


def test_an_episode_without_labels_among_labelled_ones_says_nothing(
    folder: Path, tmp_path: Path
) -> None:
    opener = partial(opened, folder, (1,))
    exported = export(opener, tmp_path / "some", "lerobot", ExportOptions(on="serial"))
    assert all(each.holds for each in evidence(exported))
    result = open_dataset(exported.out)
    assert result.open(0).labels is None
    assert result.open(1).labels == labelled(open_dataset(folder).open(1)).labels


def test_a_dataset_without_labels_has_no_trace_of_them(folder: Path, tmp_path: Path) -> None:
    opener = partial(open_dataset, folder)
    for name in ("lerobot", "zarr"):
        out = export(opener, tmp_path / name, name, ExportOptions(on="serial")).out
        for path in out.rglob("*.json*"):
            assert "subtask" not in path.read_text("utf-8")
            assert '"lanes"' not in path.read_text("utf-8")
    exported = export(opener, tmp_path / "v21", "lerobot_v21", ExportOptions(on="serial"))
    assert "labels" not in prove(exported).loses


def test_a_row_has_the_label_of_the_picture_it_shows(folder: Path) -> None:
    recording = labelled(open_dataset(folder).open(0))
    camera = recording.signals[_camera(recording)]
    table = table_of(recording, layout_of(recording, ExportOptions()), number=0)
    shown = next(each for each in table.cameras.values()
                 if each.spec.stream.path == _camera(recording))  # fmt: skip
    first = int(np.flatnonzero(table.labels["phase"] == 1)[0])
    assert int(shown.numbers[first]) == 8
    assert len(camera) > 8


def test_what_people_said_goes_before_what_was_recorded(folder: Path) -> None:
    recording = labelled(open_dataset(folder).open(0))
    table = table_of(recording, layout_of(recording, ExportOptions()), number=0)
    assert table.text == "Take the box."
    assert table.instructions == ("Take the box.", "Pick up the box, please.")
    assert table.success is False


def test_lanes_of_several_datasets_are_united(folder: Path) -> None:
    more = replace(opened(folder), lanes=lambda: (Lane(name="phase", labels=("rest", "walk")),))
    (phase, contact) = join_datasets([opened(folder), more]).lanes()
    assert phase == Lane(name="phase", labels=("rest", "reach", "grasp", "walk"))
    assert contact == CONTACT


def test_rows_become_spans_and_rows_again() -> None:
    stamps = np.arange(10, dtype=np.int64) * 100
    numbers = np.array([0, 0, 1, 1, -1, -1, 2, 0, 0, 0])
    track = LabelTrack(lanes=(PHASE,), spans=tuple(spans_of_rows(PHASE, numbers, stamps)))
    assert np.array_equal(track.rows(PHASE, stamps), numbers)
    assert track.spans[-1].end_ns == 1000


def test_labels_that_make_no_sense_are_refused_in_one_sentence() -> None:
    good = LabelTrack(outcome="success").to_json()
    assert LabelTrack.from_json(json.loads(json.dumps(good)), where="x") == LabelTrack(
        outcome="success"
    )
    assert LabelTrack.from_json({"cup": 1}, where="x") is None
    with pytest.raises(EpisodeError, match=r"x: its labels make no sense \(outcome"):
        LabelTrack.from_json({**good, "outcome": "maybe"}, where="x")
    assert united([]) == ()


def test_samples_for_training_say_which_label_holds(made: Callable[[str], ExportResult]) -> None:
    dataset = EpisodeDataset(made("episodes").out, cameras=(), chunk=2)
    # Without cameras the rows are those of the commands, and faster than the pictures.
    seen = [dataset.sample(row) for row in range(dataset.episodes[0].length)]
    named = list(dict.fromkeys(each["subtask"] for each in seen))
    assert [name for name in named if name] == ["rest", "reach", "grasp"]
    assert {int(each["labels.contact"]) for each in seen} == {-1, 0}
    assert all(PHASE.labels[int(each["subtask_index"])] == each["subtask"]
               for each in seen if each["subtask"])  # fmt: skip


def test_a_recipe_moves_labels_with_the_stream_they_lie_on(folder: Path) -> None:
    recording = labelled(open_dataset(folder).open(0))
    camera = _camera(recording)
    recipe = Recipe.model_validate({
        "document": "recipe", "name": "late", "version": "1.0.0", "instruction": "Wave.",
        "streams": {camera: {"late_ms": 5.0, "name": "front"}},
    })  # fmt: skip
    got = apply(recipe, recording)
    assert got.labels is not None
    assert recording.labels is not None
    assert got.labels.reference.endswith("/front")
    assert got.labels.spans[0].start_ns == recording.labels.spans[0].start_ns - 5_000_000
    table = table_of(got, layout_of(got, ExportOptions()), number=0)
    before = table_of(recording, layout_of(recording, ExportOptions()), number=0)
    assert table.text == "Wave."
    assert (table.labels["phase"] == 1).sum() == (before.labels["phase"] == 1).sum()
