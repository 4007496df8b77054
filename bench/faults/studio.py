"""kill -9 of Studio while somebody saves labels and somebody else marks episodes.

Run: python -m bench.faults --subject studio --count 40
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.outcome import Outcome, Subject
from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.episodes import EpisodeEntry, EpisodeRow, add_episodes
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.labelling.annotation import Edit
from corporeal.labelling.frames import Frames
from corporeal.labelling.tasks import TaskOptions, create_tasks, edits_of, find_task, save_edits
from corporeal.labelling.taxonomy import open_taxonomy

_ANNA = Actor("anna", "lead")
_IDS = [f"{number:08}-0000-4000-8000-000000000000" for number in range(4)]
_WAIT_S = 60.0


@dataclass
class _Told:
    """What one client sent and what Studio said was saved, by a number of their own."""

    acknowledged: list[str] = field(default_factory=list)
    pending: str | None = None
    """What was on its way when Studio was gone."""
    refused: str = ""


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """A fresh workspace for every kill."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        rng = np.random.default_rng([80, number])
        yield _kill(folder / "lab", rng)
    shutil.rmtree(folder)


def _kill(root: Path, rng: np.random.Generator) -> Outcome:
    task = _make(root)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}/api"
    studio = subprocess.Popen(
        [sys.executable, "-m", "corporeal", "studio", str(root), "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    labels, marks = _Told(), _Told()
    try:
        _wait_for(f"{address}/session")
        clients = [
            threading.Thread(target=_save_on, args=(labels, address, _label_sender(task))),
            threading.Thread(target=_save_on, args=(marks, address, _mark_sender())),
        ]
        for client in clients:
            client.start()
        until = time.monotonic() + _WAIT_S
        while not all(told.acknowledged or told.refused for told in (labels, marks)):
            if time.monotonic() > until:
                break
            time.sleep(0.005)
        time.sleep(float(rng.uniform(0, 0.5)))
    finally:
        studio.kill()
        studio.wait()
    for client in clients:
        client.join()
    problems = [*_wrong_labels(root, task, labels), *_wrong_marks(root, marks)]
    problems += [each.refused for each in (labels, marks) if each.refused]
    shutil.rmtree(root)
    told = f"{len(labels.acknowledged)} edits and {len(marks.acknowledged)} marks were acknowledged"
    return Outcome("kill -9 of Studio while labels and marks are saved", not problems, None,
                   "; ".join([*problems, told]))  # fmt: skip


def _make(root: Path) -> str:
    """A workspace with episodes and a label task; the id of the task."""
    entries = [
        EpisodeEntry(EpisodeRow(id=name, state="accepted", verdict="accepted", bytes=1,
                                hash=f"sha256:{number:064x}", file=f"{number}.h5"))
        for number, name in enumerate(_IDS)
    ]  # fmt: skip
    frames = Frames("observations/head", np.arange(300, dtype=np.int64) * 33_333_333)
    with make_workspace(root) as workspace, workspace.database.write() as connection:
        add_episodes(connection, entries, who="anna")
        (task,) = create_tasks(
            connection, _IDS[:1], open_taxonomy("manipulation"),
            TaskOptions("monday", double_share=0.0, blind_share=0.0), by=_ANNA,
            starts={}, frames={_IDS[0]: frames},
        )  # fmt: skip
    return task.id


def _wait_for(address: str) -> None:
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def _save_on(told: _Told, address: str, send: Callable[[int], tuple[str, Any]]) -> None:
    """One after the other until nobody answers any more."""
    for number in range(1 << 20):
        path, body = send(number)
        told.pending = f"n{number}"
        request = urllib.request.Request(
            f"{address}/{path}", json.dumps(body).encode(), method="POST",
            headers={"Content-Type": "application/json", "X-Studio": "1"},
        )  # fmt: skip
        try:
            urllib.request.urlopen(request, timeout=30).close()
        except urllib.error.HTTPError as error:
            told.refused = f"{path}: {error.code} {error.read()[:200].decode(errors='replace')}"
            return
        except OSError:
            return
        except Exception:  # Half an answer.
            return
        told.acknowledged.append(f"n{number}")
        told.pending = None


def _edit(name: str) -> dict[str, Any]:
    put = {"id": "i1", "text": name, "language": "en", "source": "person"}
    return {"id": name, "action": "type", "steps": [{"put": put}]}


def _label_sender(task: str) -> Callable[[int], tuple[str, Any]]:
    return lambda number: (f"label-tasks/{task}/edits",
                           {"base_version": number, "edits": [_edit(f"n{number}")]})  # fmt: skip


def _mark_sender() -> Callable[[int], tuple[str, Any]]:
    # Every episode in turn, with a reason of its own by which it is found again.
    def send(number: int) -> tuple[str, Any]:
        verdict = ("quarantined", "accepted")[number // len(_IDS) % 2]
        chosen = [_IDS[number % len(_IDS)]]
        return "marks", {"episodes": chosen, "verdict": verdict, "reason": f"n{number}"}

    return send


def _wrong_labels(root: Path, task: str, told: _Told) -> list[str]:
    """Edits that are lost or twice, and whether what got no answer can be sent again."""
    with open_workspace(root) as workspace, workspace.database.write() as connection:
        saved = [each.edit.id for each in edits_of(connection, task)]
        version = find_task(connection, task).version
        if told.pending is not None:
            edit = Edit.model_validate(_edit(told.pending))
            for _ in range(2):
                save_edits(connection, task, [edit], base_version=version, by=_ANNA)
        again = [each.edit.id for each in edits_of(connection, task)]
    expected = [*told.acknowledged, *filter(None, [told.pending])]
    problems = [] if saved in (told.acknowledged, expected) else [f"edits saved: {saved[-5:]}"]
    if again != expected:
        problems.append(f"edits after they were sent again: {again[-5:]}")
    return problems


def _wrong_marks(root: Path, told: _Told) -> list[str]:
    """Marks that are lost or twice, and a log that does not hold together."""
    with open_workspace(root) as workspace, workspace.database.read() as connection:
        problems = [each.reason for each in verify(connection)]
        found = [event["why"] for name in _IDS for event in events_of(connection, f"episode:{name}")
                 if event["what"] == "decision"]  # fmt: skip
    lost = set(told.acknowledged) - set(found)
    strange = set(found) - set(told.acknowledged) - {told.pending}
    if lost or strange or len(found) != len(set(found)):
        problems.append(f"marks lost: {sorted(lost)[:5]}, of nobody: {sorted(strange)[:5]}, "
                        f"{len(found) - len(set(found))} twice")  # fmt: skip
    return problems


SUBJECT = Subject("studio", run)
