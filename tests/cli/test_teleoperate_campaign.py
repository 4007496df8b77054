"""A driven robot collects for a campaign: its cards, its protocol, and what that must see."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corporeal.cli.program import program
from corporeal.episode import Episode

pytest.importorskip("daqp", reason="needs the extra robot")
ELBOW = "left_elbow_joint"


def _run(*arguments: str | Path | float) -> str:
    result = CliRunner().invoke(program(), [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.exception or result.stderr
    return result.stdout


@pytest.mark.slow
def test_a_take_follows_the_card_of_its_campaign_and_fills_it(tmp_path: Path) -> None:
    lab, demos, table = tmp_path / "lab", tmp_path / "demos", tmp_path / "wave.csv"
    seconds = np.arange(0.0, 1.0, 0.02)
    rows = np.stack([seconds, 0.3 + 0.2 * np.sin(seconds)], axis=1)
    np.savetxt(table, rows, delimiter=",", header=f"time_s,{ELBOW}", comments="")
    _run("init", lab)
    _run("campaign", "create", "autumn", "--protocol", "pick_place", "-w", lab)
    _run("teleoperate", "--input", table, "--camera-hz", 5, "--record", demos, "-w", lab,
         "--campaign", "autumn", "--operator", "ann", "--station", "s1")  # fmt: skip
    (path,) = demos.glob("*.h5")
    with Episode(path) as episode:
        assert "protocol" in episode.documents
        assert {"approach", "hand"} <= set(episode.metadata), "the levels of the card"
        # The simulation shows what the protocol asks for beside what it shows anyway.
        assert "observations/head_right" in episode
        assert episode["observations/instruction"][0] == episode.metadata["instruction"]
        assert episode.metadata["card"]["campaign"] == "autumn"
    shown = json.loads(_run("campaign", "show", "autumn", "-w", lab, "--json"))
    assert shown["accepted"] + shown["rejected"] + shown["unchecked"] == 1


def test_a_campaign_without_a_workspace_or_a_folder_is_refused(tmp_path: Path) -> None:
    for arguments, words in (
        (["--campaign", "autumn"], "expected --workspace"),
        (["--workspace", str(tmp_path)], "expected --record"),
    ):
        result = CliRunner().invoke(program(), ["teleoperate", *arguments])
        assert words in str(result.exception)
