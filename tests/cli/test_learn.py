"""`corporeal learn`, and what check says with what was learnt."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.errors import CorporealError


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _record(folder: Path, episodes: int, seed: int, **options: object) -> None:
    chosen = {"pictures": "false", "seed": seed, **options}
    extra = [text for name, value in chosen.items() for text in ("--set", f"{name}={value}")]
    result = _run("record", "--driver", "sim", "--task", "pick_place", "--episodes", str(episodes),
                  "--out", folder, *extra)  # fmt: skip
    assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_what_was_learnt_from_good_episodes_finds_a_drop(tmp_path: Path) -> None:
    _record(tmp_path / "good", 8, 21)
    _record(tmp_path / "bad", 1, 22, fault_share=1, fault="drop")
    learnt = _run("learn", tmp_path / "good", "--out", tmp_path / "usual.npz", "--json")
    assert json.loads(learnt.stdout)["episodes"] >= 6
    only = ("--only", "segment_unusual", "--usual", tmp_path / "usual.npz", "--json")
    (episode,) = json.loads(_run("check", tmp_path / "bad", *only).stdout)["episodes"]
    assert {finding["check"] for finding in episode["findings"]} == {"segment_unusual"}
    assert episode["verdict"] == "accepted", "what so few teach is a note"


def test_a_file_that_is_no_detector_is_said_to_be_none(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    (tmp_path / "text.npz").write_text("hello")
    for name in ("other.npz", "text.npz", "absent.npz"):
        result = _run("check", tmp_path, "--usual", tmp_path / name)
        assert isinstance(result.exception, CorporealError)
        assert "corporeal learn" in str(result.exception)


def test_the_name_of_a_detector_ends_in_npz(tmp_path: Path) -> None:
    result = _run("learn", tmp_path, "--out", "usual.pt")
    assert "ends in .npz" in str(result.exception)
