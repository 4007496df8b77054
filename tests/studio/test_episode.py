"""An episode's page is told what was found, what stands behind it and what a check means."""

from __future__ import annotations

from functools import partial

from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.workspace import Workspace
from corporeal.quality.reports import finding_unit


def test_findings_come_with_moments_and_finite_evidence(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    said = client.get(f"/api/episodes/{small_workspace.episodes[1]}").json()
    assert said["row"]["failure"] == "fall"
    outcome = next(each for each in said["findings"] if each["check"] == "task_failed")
    assert outcome["severity"] == "fail"
    drawn = [each for each in said["findings"] if each["evidence"]]
    assert drawn
    for each in drawn:
        assert all(len(values) <= 400 for values in each["evidence"].values())
    placed = [span for each in said["findings"] for span in each["spans"]]
    assert placed
    for span in placed:
        assert said["start_ns"] <= span["start_ns"] <= span["end_ns"] <= said["end_ns"]


def test_what_could_not_be_assessed_comes_with_its_reason(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    said = client.get(f"/api/episodes/{small_workspace.episodes[0]}").json()
    assert said["not_assessed"]
    assert all(each["check"] and each["reason"] for each in said["not_assessed"])
    assert len(said["not_assessed"]) < said["checks"]
    (judged,) = said["assessments"]
    assert judged["verdict"] == said["row"]["verdict"]


def test_streams_tell_the_rate_they_have(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    said = client.get(f"/api/episodes/{small_workspace.episodes[0]}").json()
    rated = [each for each in said["streams"] if each["rate_hz"]]
    assert rated
    for stream in rated:
        assert abs(stream["measured_hz"] - stream["rate_hz"]) < 0.1 * stream["rate_hz"]
        assert stream["gaps"] == 0


def test_a_finding_on_a_stream_that_is_gone_has_no_moment(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    from sqlalchemy import insert

    from corporeal.catalog.tables import FINDING

    row = {"episode": small_workspace.episodes[0], "check": "no_such_check", "severity": "note",
           "stream": "debug/gone", "message": "m", "frames": [[5, 9]]}  # fmt: skip
    with workspace.database.write() as connection:
        connection.execute(insert(FINDING).values(**row))
    said = client.get(f"/api/episodes/{small_workspace.episodes[0]}").json()
    found = next(each for each in said["findings"] if each["check"] == "no_such_check")
    assert found["spans"] == []
    assert found["evidence"] is None


def test_the_history_tells_documents_and_states(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    said = client.get(f"/api/episodes/{small_workspace.episodes[1]}/history").json()
    assert {"policy", "schema"} <= {each["kind"] for each in said["documents"]}
    assert all(each["hash"].startswith("sha256:") for each in said["documents"])
    assert [each["state"] for each in said["changes"]] == ["recorded", "checked", "failed"]


def test_the_lineage_leads_to_the_operator(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    name = small_workspace.episodes[0]
    said = client.get(f"/api/episodes/{name}/lineage").json()
    assert said["subject"] == f"episode:{name}"
    assert "operator:op0" in {each["id"] for each in said["nodes"]}
    assert {"child": f"episode:{name}", "parent": "operator:op0", "relation": "made_by"} in said[
        "edges"
    ]


def test_a_check_explains_itself(client: TestClient) -> None:
    said = client.get("/api/checks/robot_fell").json()
    assert said["title"] == "Robot fell"
    assert said["good"] == "The robot does not fall."
    assert client.get("/api/checks/stays_upright").json() == said
    assert said["why"]
    assert said["fix"]
    for strange in ("nope", "..%2f..%2fetc", "__init__"):
        answer = client.get(f"/api/checks/{strange}")
        assert answer.status_code == 404
        assert "error" in answer.json()


def test_nothing_is_told_of_an_episode_that_is_not_there(client: TestClient) -> None:
    for part in ("", "/history", "/lineage", "/score", "/peers", "/file", "/rrd", "/mcap"):
        answer = client.get(f"/api/episodes/nothing{part}")
        assert 400 <= answer.status_code < 500, part
        assert answer.json()["error"].endswith("."), part


def test_a_unit_is_told_only_where_it_is_sure() -> None:
    assert finding_unit("force_spikes", 60.0) == "N"
    assert finding_unit("force_spikes", 2.24e6) == "1", "pressure of a skin, by a limit of its own"
    assert finding_unit("imu_gravity_wrong", 8.0) == "deg", "not the check's own m/s2"
    assert finding_unit("robot_fell", 0.5) == "share"
    assert finding_unit("robot_fell", 60.0) == "deg", "of the tilt"
    assert finding_unit("no_such_check", 1.0) == "1"
    leap = "observations/right_tactile leaps by 4.59e+06 Pa over all taxels at 3.619 s"
    told = partial(finding_unit, "no_such_check", None)
    assert told(value=4.5912e6, message=leap) == "Pa", "the message tells it"
    assert told(value=4.5912e6, message=leap.replace("4.59e+06 Pa", "4.59 MPa")) == "Pa"
    assert told(value=3.0, message=leap) == "1", "no number of the message"
    assert told(value=4.0, message="are held for 4 rows as a rule (133 ms)") == "rows"
