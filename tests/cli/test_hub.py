"""Datasets of the hub, read and written over HTTP, from a server that answers as the hub does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.many_calls import run_calls
from tests.exchange.small_sets import write_episodes
from tests.hub_server import TOKEN, Hub, hub_server

SET = "lab/so101"


@pytest.fixture(scope="module")
def hub(shared_data: Path) -> Iterator[Hub]:
    with hub_server({SET: shared_data / "lerobot" / "so101_v30"}) as hub:
        yield hub


def _environment(hub: Hub, cache: Path) -> dict[str, str]:
    """The library reads its addresses when it is imported, so calls have a process of their own."""
    return os.environ | {
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(cache / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "XDG_CACHE_HOME": str(cache),
    }


def _complaint(answer: tuple[object, str, str]) -> str:
    code, _, complaint = answer
    assert code == 2, complaint
    lines = [line for line in complaint.splitlines() if line.startswith("corporeal: ")]
    assert len(lines) == 1, complaint
    assert "Traceback" not in complaint
    return lines[0]


@pytest.mark.slow
def test_a_set_comes_from_the_hub_tables_first_and_from_the_cache_after(
    hub: Hub, tmp_path: Path, shared_data: Path
) -> None:
    """A set without its movies, whole, imported, beside the same folder of this machine."""
    check, beside = ["check", f"hf://{SET}", "--robot", "none", "--json"], ["--on", "serial"]
    environment = _environment(hub, tmp_path)
    hub.sent.clear()
    (tables,) = run_calls([[*check, "--no-pictures", *beside]], tmp_path, environment=environment)
    report = json.loads(tables[1])
    assert len(report["episodes"]) == 6, tables[2]
    assert not any(path.endswith(".mp4") for path in hub.sent)
    assert "stream_missing" not in {each["check"] for each in report["set"]["findings"]}

    hub.sent.clear()
    local = shared_data / "lerobot" / "so101_v30"
    brought = ["import", f"hf://{SET}", "--robot", "none", "--episodes", "0", "--no-verify",
               "--out", "episodes", "--json"]  # fmt: skip
    calls = [[*check, *beside], ["check", str(local), *check[2:], *beside], brought]
    whole, here, imported = run_calls(calls, tmp_path, environment=environment)
    assert hub.sent
    assert all(path.endswith(".mp4") for path in hub.sent), "a table was fetched twice"
    assert _findings(whole[1]) == _findings(here[1])
    assert whole[0] == here[0]
    assert imported[0] == 0, imported[2]
    assert len(list((tmp_path / "episodes").glob("*.h5"))) == 1

    with hub_server({}) as gone:
        pass
    (kept,) = run_calls([[*check, "--no-pictures", *beside]], tmp_path,
                        environment=_environment(gone, tmp_path))  # fmt: skip
    assert "as it was fetched before" in kept[2]
    assert len(json.loads(kept[1])["episodes"]) == 6


def _findings(text: str) -> list[tuple[int, list[str]]]:
    report = json.loads(text)
    return [(each["index"], [finding["check"] for finding in each["findings"]])
            for each in report["episodes"]]  # fmt: skip


@pytest.mark.slow
def test_what_cannot_be_had_is_one_sentence(hub: Hub, tmp_path: Path) -> None:
    hub.gated.add("lab/secret")
    expected = {
        "hf://lab/absent": "no such dataset",
        "hf://lab/secret": "is gated",
        f"hf://{SET}@v9": "has no revision 'v9'",
        "hf://lab": "expected hf://OWNER/NAME",
        f"hf://{SET}": "--no-pictures",
    }
    calls = [["check", address] for address in expected]
    environment = _environment(hub, tmp_path) | {"CORPOREAL_HUB_BYTES": "1000"}
    answers = run_calls(calls, tmp_path, environment=environment)
    for sentence, answer in zip(expected.values(), answers, strict=True):
        assert sentence in _complaint(answer)
    with hub_server({}) as gone:
        pass
    for away in (_environment(gone, tmp_path), environment | {"HF_HUB_OFFLINE": "1"}):
        (answer,) = run_calls([["check", f"hf://{SET}"]], tmp_path, environment=away)
        assert "does not answer" in _complaint(answer)


def test_a_commit_that_is_no_hash_makes_no_folder_anywhere(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.hub_server.COMMIT", "../../../elsewhere")
    (answer,) = run_calls(
        [["check", f"hf://{SET}", "--no-pictures"]], tmp_path,
        environment=_environment(hub, tmp_path / "a" / "b" / "c"),
    )  # fmt: skip
    assert "got a commit" in _complaint(answer)
    assert not list(tmp_path.rglob("elsewhere*"))


@pytest.mark.slow
def test_a_dataset_is_pushed_whole_and_private_once_it_is_proved(hub: Hub, tmp_path: Path) -> None:
    write_episodes(tmp_path / "recorded", 2, seconds=0.6, size=(32, 48))
    push = ["export", "recorded", "--on", "serial", "--out"]
    calls = [[*push, "set", "--push", "lab/wave", "--json"], [*push, "two", "--push", "wave"]]
    environment = _environment(hub, tmp_path)
    made, misnamed = run_calls(calls, tmp_path, environment=environment | {"HF_TOKEN": TOKEN})
    assert made[0] == 0, made[2]
    assert json.loads(made[1])["pushed"] == "hf://lab/wave"
    out = tmp_path / "set"
    written = {file.relative_to(out).as_posix(): file.read_bytes()
               for file in out.rglob("*") if file.is_file()}  # fmt: skip
    assert hub.pushed["lab/wave"] == written
    assert hub.is_private["lab/wave"]
    assert "--push, got 'wave'; expected OWNER/NAME" in _complaint(misnamed)
    assert not (tmp_path / "two").exists()
    push += ["three", "--no-verify", "--push", "lab/wave"]
    (refused,) = run_calls([push], tmp_path, environment=environment)
    assert "hf auth login" in _complaint(refused)
