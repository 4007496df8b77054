"""Shifts from the terminal: a plan, its picture, and the same anew when somebody is ill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from corporeal.cli.program import program
from corporeal.errors import CorporealError

ROSTER = """
document: roster
name: week
version: 1.0.0
first_day: 2026-11-23
days: 2
opens: "09:00"
closes: "15:00"
stations:
  - {name: s1, tasks: [pick_place], closed: [{begins: "09:00", ends: "09:30"}]}
  - {name: s2, tasks: [pick_place]}
people:
  - {name: anna, certified: {pick_place: }}
  - {name: ben, certified: {pick_place: }}
  - {name: chloe, certified: {pick_place: }}
  - {name: dai, certified: {pick_place: }}
  - {name: eva, certified: {pick_place: }}
wanted:
  - {task: pick_place, hours: 12}
"""


def run(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(program(), ["shifts", *map(str, words)])
    if isinstance(result.exception, CorporealError):
        raise result.exception
    return result.exit_code, result.stdout


@pytest.fixture
def roster(tmp_path: Path) -> Path:
    path = tmp_path / "week.yaml"
    path.write_text(ROSTER)
    return path


@pytest.mark.slow
def test_a_week_is_planned_drawn_kept_and_made_anew_when_somebody_is_ill(
    roster: Path, tmp_path: Path
) -> None:
    kept, picture = tmp_path / "week.json", tmp_path / "week.png"
    code, text = run(roster, "--out", kept, "--picture", picture, "--seconds", "3")
    assert code == 0
    assert "a break of 15 min after every 45 min of work" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    planned = json.loads(kept.read_text())
    assert planned["missing"] == {}
    ill = next(duty["person"] for duty in planned["duties"] if duty["day"] == "2026-11-24")
    code, text = run(roster, "--plan", kept, "--ill", f"{ill}:2026-11-24", "--from", "2026-11-24",
                     "--seconds", "3", "--json")  # fmt: skip
    made = json.loads(text)
    assert [duty for duty in made["duties"] if duty["day"] == "2026-11-23"] == [
        duty for duty in planned["duties"] if duty["day"] == "2026-11-23"
    ]
    assert (ill, "2026-11-24") not in {(duty["person"], duty["day"]) for duty in made["duties"]}
    assert code == (1 if made["missing"] else 0)


@pytest.mark.slow
def test_hours_that_cannot_be_had_end_with_1_and_the_reason(roster: Path) -> None:
    roster.write_text(ROSTER.replace("hours: 12", "hours: 60"))
    code, text = run(roster, "--seconds", "3", "--json")
    told = json.loads(text)
    assert code == 1
    assert told["missing"]["pick_place"] > 0
    assert told["reasons"] == [
        f"pick_place: {told['missing']['pick_place']:g} of 60 h: who is certified can work 40 h of "
        "anything: anna, ben, chloe, dai, eva"
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--ill", "anna:2026-11-24"), "got no --plan"),
        (("--plan", "PLAN", "--ill", "zoe:2026-11-24"), "zoe"),
        (("--plan", "PLAN", "--ill", "anna:tomorrow"), "expected NAME:DATE"),
        (("--plan", "ROSTER"), "no plan of shifts"),
        (("--picture", "week.doc"), "expected a name ending in .png"),
    ],
)
def test_what_cannot_be_meant_is_answered_in_a_sentence(
    roster: Path, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"roster": "week@1.0.0", "duties": [], "missing": {}}')
    given = [{"PLAN": str(plan), "ROSTER": str(roster)}.get(word, word) for word in words]
    with pytest.raises(CorporealError, match=complaint):
        run(roster, *given)


def test_a_plan_of_another_floor_is_refused(roster: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    duty = {"day": "2026-11-24", "slot": 1, "person": "zoe", "station": "s9", "task": "reach"}
    plan.write_text(json.dumps({"roster": "other@1.0.0", "duties": [duty], "missing": {}}))
    with pytest.raises(CorporealError, match="zoe at s9"):
        run(roster, "--plan", plan)
