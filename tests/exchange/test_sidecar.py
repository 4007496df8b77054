"""What lies beside a dataset, and episodes put together from both."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.exchange.small_sets import write_episodes

from corporeal.errors import CorporealError
from corporeal.exchange.conversion import export
from corporeal.exchange.editing.edit import format_of, options_of, rows_opener
from corporeal.exchange.layout import STATE
from corporeal.exchange.opening import open_dataset, open_rows
from corporeal.exchange.options import ExportOptions


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("restoration")
    return write_episodes(folder / "recorded", 3, seconds=0.4, size=(32, 48))


@pytest.fixture(scope="module")
def dataset(episodes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lerobot") / "out"
    return export(partial(open_dataset, episodes), out, "lerobot", ExportOptions()).out


def test_a_side_file_opens_in_plain_h5py(dataset: Path) -> None:
    with h5py.File(dataset / "corporeal" / "sides" / "side_000001.hdf5") as file:
        assert file["observations/joint_position/data"].shape == (60, 29)
        assert file["observations/pelvis_imu/time_ns"].shape == (120,)
        assert file["debug/table_row/data"].shape[1] == 1


def test_streams_come_back_at_their_own_rates(episodes: Path, dataset: Path) -> None:
    wanted, got = open_dataset(episodes).open(2), open_dataset(dataset).open(2)
    for path, signal in wanted.signals.items():
        if signal.spec.kind == "array":
            np.testing.assert_array_equal(got.signals[path].time_ns, signal.time_ns)
            np.testing.assert_array_equal(got.signals[path][:], signal[:])
    assert got.id == wanted.id
    assert not got.regridded
    assert "debug/table_row" not in got.signals


def test_pictures_come_back_with_the_times_they_were_captured(
    episodes: Path, dataset: Path
) -> None:
    wanted, got = open_dataset(episodes).open(0), open_dataset(dataset).open(0)
    camera = "observations/head_left"
    times = got.signals[camera].time_ns
    assert np.isin(times, wanted.signals[camera].time_ns).all()
    number = int(np.searchsorted(wanted.signals[camera].time_ns, times[3]))
    np.testing.assert_array_equal(got.signals[camera][3], wanted.signals[camera][number])


def test_without_the_folder_the_rows_are_read_as_they_stand(dataset: Path) -> None:
    rows = open_dataset(dataset, restore=False).open(0)
    assert rows.regridded
    assert len(rows.signals[STATE]) < 20


def test_normalised_values_come_back_in_physical_units(episodes: Path, tmp_path: Path) -> None:
    options = ExportOptions(
        normalise="limits", sides=False, exclude=("left_tactile", "right_tactile")
    )
    out = export(partial(open_dataset, episodes), tmp_path / "out", "lerobot", options).out
    stored = open_dataset(out, restore=False).open(0).signals[STATE][:]
    assert np.abs(stored).max() <= 1.0 + 1e-6
    physical = open_dataset(out).open(0).signals["observations/joint_position"][:]
    plain = export(
        partial(open_dataset, episodes), tmp_path / "plain", "lerobot", ExportOptions()
    ).out
    rows = open_dataset(plain, restore=False).open(0).signals[STATE][:]
    np.testing.assert_allclose(physical, rows, atol=1e-5)


def test_a_view_of_another_dataset_is_refused(dataset: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    path = copy / "corporeal" / "description.json"
    view = json.loads(path.read_text())
    view["columns"][STATE]["recorded"][0]["shape"] = [7]
    path.write_text(json.dumps(view))
    with pytest.raises(CorporealError, match=r"description\.json"):
        open_dataset(copy).open(0)


@pytest.mark.parametrize("text", ["[]", "{}", '{"columns": 3, "cameras": {}}', "not JSON"])
def test_a_broken_view_is_one_sentence(text: str, dataset: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    (copy / "corporeal" / "description.json").write_text(text)
    with pytest.raises(CorporealError, match=r"description\.json") as caught:
        open_dataset(copy)
    assert "\n" not in str(caught.value)


def test_edits_carry_rows_and_side_files_over_as_they_are(dataset: Path, tmp_path: Path) -> None:
    options, kept = options_of([dataset])
    assert kept is None
    out = tmp_path / "turned"
    export(rows_opener([dataset]), out, format_of(dataset), replace(options, episodes=(2, 0)))
    before, after = open_rows(dataset), open_rows(out)
    for new, old in enumerate((2, 0)):
        a, b = before.open(old), after.open(new)
        np.testing.assert_array_equal(
            a.signals["observations/joint_position"][:], b.signals["observations/joint_position"][:]
        )
        np.testing.assert_array_equal(
            a.signals["observations/head_left"][:], b.signals["observations/head_left"][:]
        )
        full_a, full_b = open_dataset(dataset).open(old), open_dataset(out).open(new)
        assert full_a.id == full_b.id
        np.testing.assert_array_equal(
            full_a.signals["observations/pelvis_imu"][:],
            full_b.signals["observations/pelvis_imu"][:],
        )


def test_datasets_of_different_rates_are_not_merged(
    episodes: Path, dataset: Path, tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    export(partial(open_dataset, episodes), slow, "lerobot", ExportOptions(rate_hz=15))
    with pytest.raises(CorporealError, match=r"30 rows per second and .* has 15"):
        options_of([dataset, slow])


def test_datasets_normalised_in_different_ways_are_not_merged(
    episodes: Path, dataset: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    export(partial(open_dataset, episodes), other, "lerobot", ExportOptions(normalise="quantiles"))
    with pytest.raises(CorporealError, match="normalised in different ways"):
        options_of([dataset, other])


def test_modes_stay_labels_when_a_dataset_is_edited(episodes: Path, tmp_path: Path) -> None:
    first = tmp_path / "first"
    export(partial(open_dataset, episodes), first, "lerobot", ExportOptions(view="hierarchical"))
    options, _ = options_of([first])
    assert options.view == "hierarchical"
    second = tmp_path / "second"
    export(rows_opener([first]), second, "lerobot", replace(options, episodes=(1,)))
    a = open_dataset(first, restore=False).open(1).signals["mode"][:]
    b = open_dataset(second, restore=False).open(0).signals["mode"][:]
    np.testing.assert_array_equal(a, b)
