"""Runs of releases and batches, written into MLflow for real and read back with its own client."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.partners import PROJECT, partner_python
from tests.release.card.small_release import MANIFEST

pytestmark = pytest.mark.slow

WAIT_S = 120
# In the partner's environment: MLflow and this project together.
SCRIPT = """\
import json, sys
from pathlib import Path
from corporeal.operations.tracking import track_batch, track_release, tracking_available
from corporeal.operations.tracking import place
from tests.release.card.small_release import entries, facts_of

work, uri = Path(sys.argv[1]), sys.argv[2]
facts = facts_of(work, entries(20))
card, plots = "# kitchen", {"scores.png": b"picture", "../up.png": b"picture"}
told = {"score.mean": 0.5, "nothing": float("nan"), "a b/c": 1.0}
first = track_release(facts, told, plots, card, manifest=b"{}", uri=uri)
again = track_release(facts, told, plots, card, manifest=b"{}", uri=uri)
batch = track_batch("b'7", {"kappa": 0.9}, episodes=["sha256:2", "sha256:1"],
                    report="<p>fine</p>", uri=uri)
grown = track_batch("b'7", {}, episodes=["sha256:1", "sha256:2", "sha256:3"], uri=uri)

from mlflow.tracking import MlflowClient

client = MlflowClient(tracking_uri=place(uri)[0])
def seen(tracked):
    run = client.get_run(tracked.run)
    files = [each.path for each in client.list_artifacts(tracked.run)]
    files += [each.path for each in client.list_artifacts(tracked.run, "plots")]
    data = run.inputs.dataset_inputs[0].dataset
    return {"experiment": client.get_experiment(run.info.experiment_id).name,
            "name": run.info.run_name, "status": run.info.status, "files": sorted(files),
            "parameters": run.data.params, "metrics": run.data.metrics,
            "dataset": [data.name, data.digest, data.source, data.profile]}
warnings = [each.warning for each in (first, again, batch, grown)]
print(json.dumps({"warnings": warnings, "once": first.run == again.run,
                  "release": seen(first), "batch": seen(batch), "twice": batch.run != grown.run,
                  "available": tracking_available()}))
"""


# Somebody listens and answers nonsense.
BROKEN = """\
import json, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from corporeal.operations.tracking import track_batch

class Broken(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500)
        self.end_headers()
        self.wfile.write(b"<html>no</html>")
    do_POST = do_GET
    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Broken)
threading.Thread(target=server.serve_forever, daemon=True).start()
begin = time.monotonic()
told = track_batch("b7", {}, uri=f"http://me:s3cr3t@127.0.0.1:{server.server_port}")
print(json.dumps({"run": told.run, "warning": told.warning, "s": time.monotonic() - begin}))
"""


@pytest.fixture(scope="module")
def python() -> Path:
    return partner_python("mlflow")


def _environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    # The server must be asked itself, and nothing outside.
    return {**kept, "PYTHONPATH": str(PROJECT), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
            "MLFLOW_DISABLE_TELEMETRY": "true", **more}  # fmt: skip


def _run(python: Path, work: Path, script: str, *arguments: str) -> dict[str, Any]:
    command = [str(python), "-c", script, str(work), *arguments]
    done = subprocess.run(command, cwd=work, env=_environment(), capture_output=True, text=True,
                          check=False, timeout=WAIT_S)  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def _check(said: dict[str, Any]) -> None:
    assert said["warnings"] == [None] * 4
    assert said["available"]
    assert said["once"], "the same release is written once"
    assert said["twice"], "a batch that has grown is another run"
    release = said["release"]
    assert release["experiment"] == "corporeal/releases/kitchen"
    assert release["name"] == "kitchen@1.2.0"
    assert release["status"] == "FINISHED"
    assert release["parameters"]["manifest"] == MANIFEST
    assert release["metrics"]["score.mean"] == 0.5
    assert release["metrics"]["episodes"] == 20
    assert release["metrics"]["a_b_c"] == 1.0
    assert "nothing" not in release["metrics"]
    name, digest, source, profile = release["dataset"]
    assert name == "kitchen@1.2.0"
    assert digest
    assert MANIFEST.removeprefix("sha256:").startswith(digest)
    assert MANIFEST in source
    assert json.loads(profile)["episodes"] == 20
    assert {"README.md", "manifest.json", "plots/scores.png"} <= set(release["files"])
    assert said["batch"]["name"] == "b'7"
    assert "report.html" in said["batch"]["files"]
    assert "jane.doe" not in json.dumps(said)


def test_runs_in_a_folder_are_read_back_whole(python: Path, tmp_path: Path) -> None:
    said = _run(python, tmp_path, SCRIPT, str(tmp_path / "runs"))
    _check(said)
    assert (tmp_path / "runs" / "mlflow.db").is_file()
    # Nothing is left in the folder that one happens to be in.
    assert {path.name for path in tmp_path.iterdir()} <= {
        "runs", "catalog.db", "catalog.db-wal", "catalog.db-shm"
    }  # fmt: skip


def test_a_server_that_answers_nonsense_is_one_sentence(python: Path, tmp_path: Path) -> None:
    said = _run(python, tmp_path, BROKEN)
    assert said["run"] is None
    assert "b7 is not tracked: MLflow at http://127.0.0.1" in said["warning"]
    assert "s3cr3t" not in said["warning"]
    assert "\n" not in said["warning"]


def test_runs_on_a_real_server_are_read_back_whole(python: Path, tmp_path: Path) -> None:
    with _server(python, tmp_path / "server") as address:
        _check(_run(python, tmp_path, SCRIPT, address))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _server(python: Path, folder: Path) -> Iterator[str]:
    """A tracking server on this machine's loopback, ended with everything that it started."""
    folder.mkdir()
    port = _free_port()
    command = [
        str(python), "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "1", "--backend-store-uri", f"sqlite:///{folder / 'server.db'}",
        "--artifacts-destination", str(folder / "kept"),
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=_environment(), stdout=log, stderr=log,
                                  start_new_session=True)  # fmt: skip
        try:
            _wait(server, f"http://127.0.0.1:{port}/health", folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    asker = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()
        try:
            with asker.open(address, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"no answer in {WAIT_S} s: {log.read_text()}")
