"""Any dataset becomes a folder of episode files: all of its streams, whole and equal."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.small_sets import write_episodes, write_with

from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.episode.recording import Recording, VideoFile
from corporeal.errors import WriteError
from corporeal.exchange.conversion import export
from corporeal.exchange.format import RecordingWriter, WrittenEpisode, writer_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions

# Path below the real data, format, episodes, whether pictures are there and how they are taken.
REAL = [
    ("lerobot/gr1_picknplace_v20", "lerobot", 5, "encoded anew: it has B-frames"),
    ("lerobot/g1_inspire_v21_part", "lerobot", 12, "encoded anew: it is av1"),
    ("lerobot/so101_v30", "lerobot", 6, "encoded anew: it is av1"),
    ("hdf5_rlds/rlds_bridge", "rlds", 25, "encoded"),
    ("hdf5_rlds/robomimic/robomimic_mh/dummy_data/lift_image.hdf5", "robomimic", 1, "encoded"),
    ("hdf5_rlds/robomimic/robomimic_ph/dummy_data/lift_low_dim.hdf5", "robomimic", 2, None),
    ("hdf5_rlds/robosuite_human/SawyerLift/demo.hdf5", "robomimic", 2, None),
    ("retarget/g1_csv_wxyz", "motion_csv", 2, None),
]


def _psnr_db(one: np.ndarray, other: np.ndarray) -> float:
    error = float(np.mean((one.astype(np.float64) - other.astype(np.float64)) ** 2))
    return float("inf") if error == 0 else 10 * np.log10(255**2 / error)


def _assert_same(source: Recording, path: Path) -> None:
    """Every signal of the source is in the file: its values, its stamps and what it is."""
    with Episode.open(path) as episode:
        streams = {label: stream for stream, label in episode.metadata["source_labels"].items()}
        for label, signal in source.signals.items():
            got = episode[streams[label]]
            assert np.array_equal(got.time_ns, signal.time_ns)
            if signal.spec.kind == "video":
                some = [0, len(got) // 2, len(got) - 1]
                assert _psnr_db(np.asarray(got[some]), np.asarray(signal[some])) > 28
            else:
                assert np.array_equal(got[:], signal[:], equal_nan=True)
                assert got.spec == signal.spec
        robot = source.embodiment
        assert episode.robot == (robot.name if robot is not None else None)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "count", "manner"), REAL, ids=[row[0] for row in REAL])
def test_every_real_set_imports_whole_and_equal(
    shared_data: Path, tmp_path: Path, name: str, kind: str, count: int, manner: str | None
) -> None:
    opener = partial(open_dataset, shared_data / name)
    exported = export(opener, tmp_path / "out", "episodes", ExportOptions())
    assert len(exported.episodes) == count
    dataset = opener()
    manners: set[str] = set()
    for number, index in enumerate(dataset.episodes):
        path = tmp_path / "out" / f"e{number:04d}.h5"
        assert verify(path) == ()
        _assert_same(dataset.open(index), path)
        with Episode.open(path) as episode:
            manners |= set(episode.metadata.get("source_cameras", {}).values())
            assert episode.metadata["source_format"] == kind
            assert episode.metadata["source_index"] == index
    assert manners == ({manner} if manner else set())


def test_a_csv_with_the_quaternion_at_its_end_imports(shared_data: Path, tmp_path: Path) -> None:
    (path,) = (shared_data / "retarget" / "g1_csv_xyzw").rglob("*.csv")
    export(partial(open_dataset, path), tmp_path / "out", "episodes", ExportOptions())
    assert verify(tmp_path / "out" / "e0000.h5") == ()
    _assert_same(open_dataset(path).open(0), tmp_path / "out" / "e0000.h5")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    return write_episodes(folder / "own", 2, seconds=0.5, size=(48, 64))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lerobot", "lerobot_v21"])
def test_pictures_come_back_from_lerobot_bit_by_bit(
    recorded: Path, tmp_path: Path, kind: str
) -> None:
    there = tmp_path / "there"
    export(partial(open_dataset, recorded), there, kind, ExportOptions())
    back = export(partial(open_dataset, there), tmp_path / "back", "episodes", ExportOptions())
    before, between, after = map(open_dataset, (recorded, there, tmp_path / "back"))
    for number in before.episodes:
        old, lent, new = before.open(number), between.open(number), after.open(number)
        assert new.id == old.id
        cameras = [path for path, each in lent.signals.items() if isinstance(each, VideoFile)]
        assert cameras
        for path in cameras:
            assert back.episodes[number].details["kept_cameras"][path] == "copied"
            got = np.asarray(new.signals[path][:])
            assert np.array_equal(got, np.asarray(lent.signals[path][:]))
            # Rows begin where all streams have data: a picture before the next key frame is
            # encoded anew on the way there, all others are the very ones that were recorded.
            shown = old.signals[path]
            kept = np.isin(shown.time_ns, new.signals[path].time_ns)
            assert kept.sum() == len(got)
            assert np.array_equal(np.asarray(shown[:])[kept][1:], got[1:])


def test_files_are_named_by_the_order_of_the_episodes(recorded: Path, tmp_path: Path) -> None:
    out = write_with(writer_of("episodes"), recorded, tmp_path)
    assert sorted(path.name for path in out.iterdir()) == ["e0000.h5", "e0001.h5"]
    before, after = open_dataset(recorded), open_dataset(out)
    assert [after.open(n).id for n in after.episodes] == [
        before.open(n).id for n in before.episodes
    ]


def test_an_assembly_that_was_interrupted_can_start_over(recorded: Path, tmp_path: Path) -> None:
    writer = writer_of("episodes")
    assert isinstance(writer, RecordingWriter)
    recording = open_dataset(recorded).open(0)
    folder = tmp_path / "piece"
    folder.mkdir()
    details = writer.write(recording, 7, folder, ExportOptions())
    for attempt in ("first", "second"):
        (tmp_path / attempt).mkdir()
        written = WrittenEpisode(folder, recording.id, 7, details=details)
        writer.assemble([written], tmp_path / attempt)
        assert verify(tmp_path / attempt / "e0007.h5") == ()


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (ExportOptions(rate_hz=10.0), "--rate"),
        (ExportOptions(normalise="limits"), "--normalise"),
        (ExportOptions(image_size=64), "--image-size"),
    ],
)
def test_what_only_rows_can_have_is_refused(
    recorded: Path, tmp_path: Path, options: ExportOptions, option: str
) -> None:
    writer = writer_of("episodes")
    assert isinstance(writer, RecordingWriter)
    with pytest.raises(WriteError, match=f"{option} is for tables"):
        writer.write(open_dataset(recorded).open(0), 0, tmp_path, options)


def test_excluded_streams_are_left_out(recorded: Path, tmp_path: Path) -> None:
    first = open_dataset(recorded).open(0)
    camera = next(path for path, each in first.signals.items() if isinstance(each, VideoFile))
    out = write_with(writer_of("episodes"), recorded, tmp_path, ExportOptions(exclude=(camera,)))
    with Episode.open(out / "e0000.h5") as episode:
        assert set(first.signals) - set(episode) == {camera}
