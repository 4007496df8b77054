"""`corporeal calibrate volume` on files: a wand, a reference that is kept, a clip compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.calibration.test_volume import waved
from tests.retargeting.readers.test_c3d import write_c3d
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration
from corporeal.retargeting.reader import read_markers


def _run(*arguments: str | Path) -> Result:
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(program(), ["calibrate", "volume", *texts])


def _refusal(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    return str(result.exception)


def test_a_wand_goes_into_the_station(tmp_path: Path) -> None:
    clip = write_c3d(tmp_path / "wand.c3d", waved() * 1e3, ["A", "B"])
    station = tmp_path / "cell.yaml"
    result = _run(clip, "--wand-mm", "500", "-o", station, "--json")
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["is_good"]
    assert abs(values["scale"]) < 3e-4
    kept = Calibration.load(station).volume
    assert kept is not None
    assert kept.wand_m == 0.5
    grown = write_c3d(tmp_path / "grown.c3d", waved(scale=0.004) * 1e3, ["A", "B"])
    result = _run(grown, "--wand-mm", "500")
    assert result.exit_code == 1
    assert "0.40% too large" in result.output
    assert "give --unit" in _refusal(clip, "--wand-mm", "500", "--unit", "m")
    assert "marker 'C' is not" in _refusal(clip, "--wand-mm", "500", "--markers", "A,C")
    assert "--wand-mm" in _refusal(clip)
    assert "--reference" in _refusal()


def test_a_reference_that_is_kept_finds_a_floor_that_rose(
    tmp_path: Path, shared_data: Path
) -> None:
    clip = shared_data / "mocap" / "c3d_kineticstoolkit" / "kinematics_tennis_serve.c3d"
    station = tmp_path / "cell.yaml"
    assert "Give --up" in _refusal("--reference", clip, "-o", station)
    assert _run("--reference", clip, "--up", "z", "-o", station).exit_code == 0
    result = _run("--compare", clip, "--reference", station, "--up", "z", "--json")
    assert result.exit_code == 0, result.output
    markers = read_markers(clip)
    raised = np.nan_to_num((markers.positions + np.array([0, 0, 0.006])) * 1e3)
    # 50 frames a second are in the original; the writer says 100, so each is written twice.
    later = write_c3d(tmp_path / "later.c3d", np.repeat(raised, 2, axis=0), list(markers.labels))
    result = _run("--compare", later, "--reference", station, "--up", "z")
    assert result.exit_code == 1, result.output
    assert "mm higher" in result.output


def test_real_clips_without_a_wand_are_refused_in_words(shared_data: Path) -> None:
    mocap = shared_data / "mocap"
    take = mocap / "motive_csv" / "sample_optitrack_take.csv"
    assert "250 frames" in _refusal(take, "--wand-mm", "495")
    assert "no two markers keep" in _refusal(take, "--wand-mm", "750")
    person = mocap / "c3d_ezc3d" / "Qualisys.c3d"
    assert "third" in _refusal(person, "--wand-mm", "500")
    skeleton = mocap / "cmu_asf_amc_bvh" / "01_01.bvh"
    assert "expected measured markers" in _refusal(skeleton, "--wand-mm", "500")
