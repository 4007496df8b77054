"""`corporeal annotate` as people call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.labelling.work import ANN, BEN, LEAD, asked, episodes, finish, said, taxonomy
from typer.testing import CliRunner, Result

from corporeal.catalog.accounts import TOKEN_VARIABLE, add_account, new_token
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.cli.program import program
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import Correction, Edit, Put
from corporeal.labelling.labels import labels_of
from corporeal.labelling.labels.label_file import read_label_file
from corporeal.labelling.review import accept, submit
from corporeal.labelling.tasks import find_task, find_tasks, save_edits
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.testing import Workload


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), ["annotate", *(str(each) for each in arguments)])


def _good(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result.stdout


def _json(*arguments: str | Path, code: int = 0) -> Any:
    result = _run(*arguments, "--json")
    assert result.exit_code == code, f"{result.output} {result.exception!r}"
    return json.loads(result.stdout)


def _complaint(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A workspace with four accepted episodes whose files are elsewhere."""
    with make_workspace(tmp_path / "lab") as workspace, workspace.database.write() as connection:
        episodes(connection, 4)
    return tmp_path / "lab"


def _work(lab: Path, *, double: float = 0.0, shift: int = 0) -> list[str]:
    """All four episodes annotated and handed in; the ids of the tasks."""
    with open_workspace(lab) as workspace, workspace.database.write() as connection:
        names = [row["id"] for row in _rows(lab)]
        made = asked(connection, names, double_share=double)
        for each in made:
            second = each.settings["place"] == 2
            work = said(grasp=100 + shift if second else 100)
            finish(connection, each.id, work, BEN if second else ANN)
    return [each.id for each in made]


def _rows(lab: Path) -> list[dict[str, Any]]:
    from corporeal.catalog.query import every_episode

    with open_workspace(lab) as workspace, workspace.database.read() as connection:
        return [vars(row) for row in every_episode(connection)]


def _file(folder: Path, version: str, rule: str) -> Path:
    path = folder / f"grasping-{version}.json"
    path.write_text(taxonomy(version, rule).canonical(), "utf-8")
    return path


def test_a_taxonomy_is_shown_with_its_rules() -> None:
    said = _good("taxonomy", "manipulation")
    assert "contact_begins" in said
    assert "next: corporeal annotate propose" in said
    assert _json("taxonomy", "manipulation")["hash"] == open_taxonomy("manipulation").hash
    assert "unknown taxonomy" in _complaint("taxonomy", "cooking")


def test_a_new_version_says_what_it_touches(tmp_path: Path) -> None:
    old, new = _file(tmp_path, "1.0.0", "One."), _file(tmp_path, "1.1.0", "Two.")
    assert "phase/grasp has another boundary rule" in _good("taxonomy", old, "--diff", new)
    assert _json("taxonomy", old, "--diff", new)["labels"] == {
        "phase/grasp": "has another boundary rule"
    }
    assert "touches no label" in _good("taxonomy", old, "--diff", old)


def test_proposing_makes_tasks_even_where_a_file_cannot_be_read(lab: Path) -> None:
    told = _json("propose", "--queue", "monday", "--double", "0.5", "--blind", "0", "-w", lab)
    assert (told["tasks"], told["doubled"], told["proposed"]) == (6, 2, 0)
    assert len(told["silent"]) == 4
    assert "0 tasks for 0 of 4 episodes" in _good("propose", "--queue", "monday", "-w", lab)
    listed = _json("queue", "monday", "-w", lab)
    assert listed["queues"][0]["states"] == {"open": 6}
    assert len(listed["tasks"]) == 6
    assert "settings" not in listed["tasks"][0]


def test_a_proposal_comes_from_the_recording(tmp_path: Path) -> None:
    from corporeal.catalog.ingestion import ingest

    workload = Workload(open_robot("g1"), duration_s=0.5)
    path = tmp_path / "wave.h5"
    with EpisodeWriter(path, schema=workload.schema, embodiment=workload.embodiment,
                       metadata=workload.metadata) as writer:  # fmt: skip
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    with make_workspace(tmp_path / "lab") as workspace:
        ingest(workspace, [path], who="root", check=False, on="serial")
    told = _json("propose", "--blind", "0", "--double", "0", "-w", tmp_path / "lab")
    assert (told["tasks"], told["proposed"], told["silent"]) == (1, 1, {})
    with (
        open_workspace(tmp_path / "lab") as workspace,
        workspace.database.read() as connection,
    ):
        (made,) = find_tasks(connection)
        frames = find_task(connection, made.id).frames
        assert frames is not None
        assert made.annotation.reference == frames.stream
        assert all(not each.confirmed for each in made.annotation.segments)


def test_mistakes_are_told_before_anything_is_done(lab: Path) -> None:
    assert "queue, got 'Q'" in _complaint("propose", "--queue", "Q", "-w", lab)
    assert "double share" in _complaint("propose", "--double", "2", "-w", lab)
    assert "is not in the catalogue" in _complaint("propose", "00000000", "-w", lab)
    assert "ids, or one query in quotes" in _complaint("propose", "one", "two", "-w", lab)
    assert "expected a TASK or --all-confident" in _complaint("accept", "-w", lab)
    assert "nothing is annotated" in _complaint("agreement", "-w", lab)
    assert "not in the catalogue" in _complaint("accept", "nothing", "-w", lab)


def test_from_submitted_to_annotated(lab: Path) -> None:
    ids = _work(lab)
    assert "next: a lead accepts" in _good("queue", "-w", lab)
    assert len(_json("status", "-w", lab, code=1)["missing"]) == 4
    assert "is with ann again" in _good("return", ids[0], "--why", "look again", "-w", lab)
    for each in ids[1:]:
        assert _json("accept", each, "-w", lab)["accepted"][0]["number"] == 1
    told = _json("status", "-w", lab, code=1)
    assert len(told["annotated"]) == 3
    assert len(told["missing"]) == 1
    assert "75 %" in _run("status", "-w", lab).stdout
    lines = _json("history", told["missing"][0]["episode"][:13], "-w", lab)
    assert [each["why"] for each in lines if each["why"]] == ["look again"]
    assert "look again" in _good("history", told["missing"][0]["episode"], "-w", lab)


def test_agreement_fails_the_command_when_a_gate_fails(lab: Path) -> None:
    _work(lab, double=1.0, shift=30)
    told = _json("agreement", "-w", lab, code=1)
    assert told["summary"]["failed"] == ["boundaries"]
    page = _run("agreement", "-w", lab)
    assert page.exit_code == 1
    assert "alert: boundaries differ by" in page.stdout


def test_people_who_agree_pass(lab: Path) -> None:
    _work(lab, double=1.0, shift=1)
    assert "every gate is passed" in _good("agreement", "-w", lab)
    assert _json("status", "-w", lab)["share"] == 1.0


def test_a_new_version_is_carried_out(lab: Path, tmp_path: Path) -> None:
    for each in _work(lab):
        _good("accept", each, "-w", lab)
    new = _file(tmp_path, "1.1.0", "Two.")
    told = _json("requeue", "grasping@1.0.0", new, "-w", lab)
    assert (len(told["touched"]), len(told["tasks"]) >= 4) == (4, True)
    assert "unknown taxonomy" in _complaint("requeue", "grasping@7.0.0", new, "-w", lab)
    assert "0 episodes are asked again" in _good("requeue", "grasping@1.0.0", new, "-w", lab)
    assert len(_json("status", "-w", lab, code=1)["missing"]) == 4


def test_gold_is_made_of_accepted_labels(lab: Path) -> None:
    for each in _work(lab):
        _good("accept", each, "-w", lab)
    assert _json("gold", "--queue", "qualify", "-w", lab)["gold"] == 4


def test_labels_are_brought_out(lab: Path, tmp_path: Path) -> None:
    assert "got none for 4 episodes" in _complaint("export", "-o", tmp_path / "a.csv", "-w", lab)
    for each in _work(lab)[:3]:
        _good("accept", each, "-w", lab)
    out = tmp_path / "labels.csv"
    assert "1 episode without labels in force" in _good("export", "-o", out, "-w", lab)
    assert "grasp" in out.read_text("utf-8")
    whole = _json("export", "-o", tmp_path / "labels.json", "-w", lab)
    assert (whole["episodes"], len(whole["without_labels"])) == (3, 1)
    read = read_label_file(tmp_path / "labels.json")
    assert all(each.annotation.in_lane("phase") == said().in_lane("phase") for each in read)
    many = _json("export", "-o", tmp_path / "elan", "--format", "elan", "-w", lab)
    assert len(many["files"]) == 3
    assert "already exists" in _complaint("export", "-o", out, "-w", lab)
    assert "Name a folder" in _complaint("export", "-o", tmp_path / "x.eaf", "-w", lab)


def test_sure_proposals_count_as_the_machines(lab: Path) -> None:
    with open_workspace(lab) as workspace, workspace.database.write() as connection:
        names = [row["id"] for row in _rows(lab)]
        starts = {names[0]: said(confirmed=False)}
        asked(connection, names, starts=starts)
    told = _json("accept", "--all-confident", "0.9", "--queue", "work", "-w", lab)
    assert [each["who"] for each in told["accepted"]] == ["(machine)"]
    assert len(told["left"]) == 3
    assert "is left to people" in _good("accept", "--all-confident", "0.9", "-q", "work", "-w", lab)
    with open_workspace(lab) as workspace, workspace.database.read() as connection:
        labels = labels_of(connection, names[0])
        assert labels is not None
        assert labels.is_machine


def test_an_annotator_may_not_do_what_is_a_leads(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Actor("root", "admin")
    with open_workspace(lab) as workspace, workspace.database.write() as connection:
        for name, role in (("root", "admin"), (LEAD.name, "lead"), (ANN.name, "annotator")):
            add_account(connection, name, role, by=root)
        token = new_token(connection, ANN.name, "terminal", by=root)
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    forbidden = [("propose",), ("accept", "x"), ("return", "x", "--why", "y"), ("agreement",),
                 ("requeue", "a@1.0.0", "b@1.0.0"), ("gold",), ("history", "00000000")]  # fmt: skip
    for call in forbidden:
        assert isinstance(_run(*call, "-w", lab).exception, PermissionDeniedError)
    assert _run("queue", "-w", lab).exit_code == 0


def _predictions(lab: Path, *rows: object) -> Path:
    path = lab.parent / "rollout.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_predictions_of_a_policy_are_asked_of_people_and_come_out_corrected(lab: Path) -> None:
    first, second = [row["id"] for row in _rows(lab)][:2]
    grasp = {"episode": first, "time_ns": 2_000_000_000, "kind": "grasp", "policy": "act@7",
             "predicted": {"width_m": 0.02, "pose": [0.1, 0.2, 0.3]}}  # fmt: skip
    action = {"episode": second, "time_ns": 5, "kind": "action", "predicted": {"elbow": 0.4}}
    path = _predictions(lab, grasp, {**grasp, "time_ns": 1}, action)
    made = _json("predictions", path, "--queue", "fix", "-w", lab)
    assert made["episodes"] == sorted([first, second])
    with open_workspace(lab) as workspace, workspace.database.write() as connection:
        task = next(each for each in find_tasks(connection) if each.episode == first)
        assert task.kind == "correct"
        assert [each["time_ns"] for each in task.settings["predictions"]] == [1, 2_000_000_000]
        assert task.settings["predictions"][1]["policy"] == "act@7"
        fixed = Correction(id="c1", time_ns=2_000_000_000, kind="grasp",
                           predicted=grasp["predicted"],
                           corrected={**grasp["predicted"], "width_m": 0.05})  # fmt: skip
        edit = Edit(id="e1", action="correct", steps=(Put(put=fixed),))
        save_edits(connection, task.id, [edit], base_version=task.version, by=ANN)
        submit(connection, task.id, by=ANN)
        accept(connection, task.id, by=LEAD)
    out = lab.parent / "fixes.jsonl"
    assert _json("corrections", "--out", out, "-w", lab)["corrections"] == 1
    (row,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert (row["episode"], row["changed"]) == (first, ["width_m"])
    assert row["corrected"]["width_m"] == 0.05


def test_a_line_that_is_no_prediction_is_named(lab: Path) -> None:
    good = {"episode": "a", "time_ns": 1, "kind": "grasp", "predicted": {"x": 1}}
    for row, words in (
        ({**good, "kind": "guess"}, "rollout.jsonl:1: got what is no prediction (kind"),
        ({**good, "predicted": {}}, "(predicted"),
        ([1, 2], "rollout.jsonl:1: got what is no prediction"),
    ):
        assert words in _complaint("predictions", _predictions(lab, row), "-w", lab)
    assert "empty" in _complaint("predictions", _predictions(lab), "-w", lab)
    missing = {**good, "episode": "no_such_episode"}
    assert "no_such_episode" in _complaint("predictions", _predictions(lab, missing), "-w", lab)
    assert "corrections, got none" in _complaint("corrections", "-w", lab)
