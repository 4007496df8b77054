"""Episodes are judged by another process, which may die, and are taken into a workspace."""

from __future__ import annotations

import os
import queue
import signal
from pathlib import Path

import pytest

from corporeal.capture.driver import RecordingSource, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.cli.judging import EpisodeJudge, EpisodeVerdict, JudgingTerms, judge_episode
from corporeal.episode import Episode


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    driver = drivers()["synthetic"]
    options = parse_options(driver, {"seconds": 0.3, "height": 16, "width": 32})
    settings = RecorderSettings(tmp_path_factory.mktemp("judged"), metadata={"operator": "op07"})
    return Recorder([RecordingSource("robot", driver, options)], settings).run()[0]


def test_a_verdict_names_what_was_found_in_one_line(episode: Path) -> None:
    verdict = judge_episode(episode, JudgingTerms(pictures=False))
    assert verdict.verdict == "failed"
    line = verdict.line().plain
    assert line.startswith(f"failed {episode.name}: ")
    assert verdict.findings[0] in line
    assert "\n" not in line


def test_what_cannot_be_read_is_not_judged_and_says_why(tmp_path: Path) -> None:
    torn = tmp_path / "torn.h5"
    torn.write_bytes(b"\x89HDF\r\n\x1a\n")
    verdict = judge_episode(torn, JudgingTerms())
    assert verdict.verdict is None
    assert verdict.reason
    assert "unchecked torn.h5: " in verdict.line().plain


def test_an_episode_is_taken_into_the_workspace_once(episode: Path, tmp_path: Path) -> None:
    make_workspace(tmp_path / "floor").close()
    terms = JudgingTerms(pictures=False, workspace=tmp_path / "floor", batch="monday")
    first, second = judge_episode(episode, terms), judge_episode(episode, terms)
    assert (first.status, second.status) == ("added", "known")
    assert first.verdict == second.verdict == "failed"
    assert first.findings == second.findings
    with (
        Episode.open(episode) as opened,
        open_workspace(tmp_path / "floor") as workspace,
        workspace.database.read() as connection,
    ):
        assert find_episode(connection, opened.id).batch == "monday"


def test_an_episode_may_be_taken_in_and_judged_later(episode: Path, tmp_path: Path) -> None:
    make_workspace(tmp_path / "floor").close()
    terms = JudgingTerms(check=False, workspace=tmp_path / "floor")
    taken = judge_episode(episode, terms)
    assert (taken.status, taken.verdict, taken.findings) == ("added", "recorded", ())
    judged = judge_episode(episode, JudgingTerms(pictures=False, workspace=tmp_path / "floor"))
    assert (judged.status, judged.verdict) == ("judged", "failed")


@pytest.mark.slow
def test_a_judge_that_is_killed_costs_one_verdict(episode: Path) -> None:
    heard: queue.SimpleQueue[EpisodeVerdict] = queue.SimpleQueue()
    judge = EpisodeJudge(JudgingTerms(pictures=False), heard.put)
    judge.judge(episode)
    assert heard.get(timeout=60).verdict == "failed"
    assert judge.process_id is not None
    assert os.getpriority(os.PRIO_PROCESS, judge.process_id) > os.getpriority(os.PRIO_PROCESS, 0)
    os.kill(judge.process_id, signal.SIGKILL)
    judge.judge(episode)
    lost = heard.get(timeout=60)
    assert lost.verdict is None
    assert "corporeal check" in str(lost.reason)
    judge.judge(episode)
    judge.close()
    assert [verdict.verdict for verdict in judge.verdicts] == ["failed", None, "failed"]
