"""Annotators who do not agree reach the channels through `corporeal watch`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update
from tests.catalog.entries import entry
from tests.studio.label_work import label_all
from typer.testing import CliRunner

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.permission import Actor
from corporeal.catalog.tables import EPISODE
from corporeal.catalog.workspace import FILE, make_workspace
from corporeal.cli.program import program
from corporeal.labelling.frames import Frames
from corporeal.labelling.queues import add_seconds, take_next
from corporeal.labelling.tasks import TaskOptions, create_tasks
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.operations.monitoring.limit import read_limits

FRAMES = Frames("observations/head_left", np.arange(121, dtype=np.int64) * 33_333_333)
LEAD, ANN, BEN = Actor("lee", "lead"), Actor("ann", "annotator"), Actor("ben", "annotator")


def _labelled(root: Path, late: Mapping[str, int]) -> None:
    """Two episodes for each batch, which ben labels by so many frames later than ann."""
    entries = [entry(number) for number in range(1, 2 * len(late) + 1)]
    batches = dict(zip([each.id for each in entries], 2 * [*late], strict=True))
    with make_workspace(root) as workspace, workspace.database.write() as connection:
        add_episodes(connection, entries, who="tester")
        for name, batch in batches.items():
            connection.execute(update(EPISODE).where(EPISODE.c.id == name).values(batch=batch))
        create_tasks(
            connection, list(batches), open_taxonomy("manipulation"),
            TaskOptions("monday", double_share=1.0, blind_share=0.0), by=LEAD,
            frames=dict.fromkeys(batches, FRAMES),
        )  # fmt: skip
        for who in (ANN, BEN):
            while (held := take_next(connection, "monday", by=who)) is not None:
                add_seconds(connection, held.id, 90.0, by=who)
                step = late[batches[held.episode]] if who is BEN else 0
                label_all(connection, held, who, at=(30 + step, 60 + step))


def _watch(root: Path) -> dict[str, Any]:
    result = CliRunner().invoke(program(), ["watch", "-w", str(root), "--json"])
    assert result.exit_code in (0, 1), result.output
    return dict(json.loads(result.stdout))


def test_people_who_do_not_agree_are_told_of_in_a_file_once(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    _labelled(root, {"late": 15, "other": 50, "close": 1})
    with (root / FILE).open("a", encoding="utf-8") as settings:
        settings.write('\n[alerts.file]\npath = "alerts.jsonl"\n')
    told = _watch(root)
    alarms = {(each["metric"], each["subject"]): each for each in told["alarms"]}
    assert ("label_boundary_frames", "late") in alarms
    assert "close" not in {batch for _, batch in alarms}
    kappa = [each for name, each in alarms.items() if name[0].startswith("label_kappa.")]
    assert kappa
    assert {batch for name, batch in alarms if name.startswith("label_kappa.")} == {"other"}
    assert all(each["value"] < 0.8 for each in kappa)
    lines = [json.loads(line) for line in (root / "alerts.jsonl").read_text().splitlines()]
    words = " ".join(line["text"] for line in lines)
    assert "frames; at most 3 frames is allowed (in batch late)" in words
    assert "at least 0.8 is expected (in batch other)" in words
    again = _watch(root)
    assert not again["alarms"]
    assert again["standing"]
    assert len((root / "alerts.jsonl").read_text().splitlines()) == len(lines)


def test_a_team_sets_its_own_limits(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    _labelled(root, {"apart": 8})
    assert {each["metric"] for each in _watch(root)["alarms"]} == {"label_boundary_frames"}
    with (root / FILE).open("a", encoding="utf-8") as settings:
        settings.write("\n[limits]\nlabel_boundary_frames = 6\n")
    told = _watch(root)
    assert not told["alarms"]
    assert not told["standing"]


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"label_kapa": 0.5}, "limits.label_kapa; expected one of"),
        ({"label_kappa": "high"}, "got 'high'; expected a number"),
        ({"label_kappa": True}, "expected a number"),
    ],
)
def test_a_limit_that_is_none_is_refused(own: dict[str, Any], words: str) -> None:
    with pytest.raises(CatalogError, match=words):
        read_limits(own)
