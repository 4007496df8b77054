"""Ray itself runs what serial and processes run, with the same results, and survives as they do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from bench.partners import PROJECT, PartnerError, partner_python
from tests.exchange.small_sets import write_episodes
from tests.test_runner import gone

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def python() -> str:
    try:
        return str(partner_python("ray"))
    except PartnerError as reason:
        pytest.skip(f"no environment with ray: {reason}")


def start(python: str, topic: str, folder: Path) -> subprocess.Popen[str]:
    clean = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    return subprocess.Popen(
        [python, "-m", "tests.contract.ray_program", topic, str(folder)],
        cwd=PROJECT,
        env=clean | {"PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ask(python: str, topic: str, folder: Path) -> dict[str, Any]:
    """What the program says of a topic, and how many lines beside it."""
    program = start(python, topic, folder)
    try:
        said, complaints = program.communicate(timeout=120)
    finally:
        program.kill()
    assert program.returncode == 0, complaints
    assert not complaints
    # Where the cluster is not ours, Ray tells of lost workers whenever it likes.
    lines = said.splitlines()
    (last,) = [line for line in lines if line.startswith("{")]
    answer: dict[str, Any] = {"noise": len(lines) - 1, **json.loads(last)}
    return answer


def descendants(pid: int) -> list[int]:
    """Every process below one, as the system knows them."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def test_a_cluster_of_our_own_survives_a_killed_worker_and_is_gone(
    python: str, tmp_path: Path
) -> None:
    found = ask(python, "own_cluster", tmp_path)
    assert (tmp_path / "died").exists()
    assert found == {"values": list(range(40)), "still_there": False, "noise": 0}


def test_errors_come_back_and_an_item_that_kills_is_named(python: str, tmp_path: Path) -> None:
    found = ask(python, "losses", tmp_path)
    assert [error for _, error, _ in found["errors"][:3]] == [
        None,
        "DocumentError: rig.yaml:2: name: is missing",
        "MissingExtraError: this needs the package 'ray', which is not installed. "
        "Install it with: pip install 'corporeal[scale]'.",
    ]
    assert "This happened with item 3 (3)." in found["mistake"]
    assert "in stumble" in found["mistake"]
    assert [value for value, *_ in found["killing"]] == [*range(3), None, *range(4, 40)]
    error = found["killing"][3][1]
    assert error.startswith("RunnerError: item 3 (3) was tried 4 times")
    assert [at for at in range(40) if found["killing"][at][1]] == [3]
    # The visitor's workers are children of the raylet of the cluster that it visits.
    raylets = [{parent for (parent, _), _ in found[who]} for who in ("home", "visited")]
    assert raylets[0] == raylets[1]
    assert len(raylets[0]) == 1
    assert found["still_there"]  # It was not ours to end.


def test_all_runners_inspect_and_export_the_same(python: str, tmp_path: Path) -> None:
    write_episodes(tmp_path / "recorded", 3, seconds=0.4, size=(32, 48))
    (tmp_path / "recorded" / "z.h5").write_bytes(b"breaks off")
    found = ask(python, "equal", tmp_path)
    reports, exports = found["reports"], found["exports"]
    assert reports["serial"] == reports["processes"] == reports["ray"]
    verdicts = [each["verdict"] for each in reports["ray"]["episodes"]]
    assert len(verdicts) == 4
    assert verdicts[3] == "failed"
    assert exports["serial"] == exports["processes"] == exports["ray"]
    assert len(exports["ray"]["pieces"]) == 3
    assert len(exports["ray"]["files"]) > 5


def test_an_interrupt_ends_the_cluster_of_our_own(python: str, tmp_path: Path) -> None:
    program = start(python, "endless", tmp_path)
    try:
        until = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.1)
        pids = descendants(program.pid)
        assert len(pids) > 2
        os.killpg(program.pid, signal.SIGINT)
        _, said = program.communicate(timeout=60)
    finally:
        program.kill()
    assert "KeyboardInterrupt" in said
    assert gone(pids)
