"""A real S3 server for the tests: SeaweedFS on loopback, or what CORPOREAL_TEST_S3 names."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench.partners import PartnerError, partner_python

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import Store
from corporeal.catalog.store.signed_request import Bucket
from corporeal.catalog.store.store import open_store

VARIABLE = "CORPOREAL_TEST_S3"
_REGION = "us-east-1"
_READY_S = 60.0
_PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port",
          "filer.port.grpc", "s3.port", "s3.port.grpc")  # fmt: skip


@dataclass(frozen=True)
class S3Server:
    """A server that is running, and two buckets of ours on it."""

    endpoint: str
    region: str
    locked: str
    """A bucket that was made with object lock."""
    plain: str
    """One that was made without."""

    @property
    def options(self) -> dict[str, Any]:
        """What `open_store` needs to know beside the address."""
        return {"endpoint": self.endpoint, "region": self.region}

    def open(self, bucket: str) -> Store:
        """A store of its own in the bucket."""
        url = f"s3://{bucket}/{uuid.uuid4().hex[:12]}"
        return open_store(url, root=Path(), options=self.options)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """The server with its buckets; its address and keys are in the environment meanwhile."""
    pytest.importorskip("obstore", reason="no S3 client: pip install 'corporeal[server]'")
    with ExitStack() as stack:
        endpoint = os.environ.get(VARIABLE, "")
        if not endpoint:
            folder = tmp_path_factory.mktemp("seaweedfs")
            endpoint = stack.enter_context(_seaweedfs(folder))
        region = os.environ.get("AWS_REGION", _REGION)
        stack.enter_context(_environment(AWS_ENDPOINT_URL=endpoint, AWS_REGION=region))
        mark = uuid.uuid4().hex[:8]
        server = S3Server(endpoint, region, f"corporeal-held-{mark}", f"corporeal-{mark}")
        _make_bucket(server, server.locked, {"x-amz-bucket-object-lock-enabled": "true"})
        _make_bucket(server, server.plain, {})
        yield server


@pytest.fixture
def s3_url(s3_server: S3Server) -> str:
    """The address of an empty store; the environment says on which server."""
    return f"s3://{s3_server.locked}/{uuid.uuid4().hex[:12]}"


@pytest.fixture
def s3_store(s3_server: S3Server) -> Store:
    """An empty store that can hold objects."""
    return s3_server.open(s3_server.locked)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _make_bucket(server: S3Server, name: str, headers: dict[str, str]) -> None:
    bucket = Bucket(f"{server.endpoint}/{name}", server.region)
    answer = bucket.ask("PUT", headers=headers)
    assert answer.good, answer


@contextmanager
def _seaweedfs(folder: Path) -> Iterator[str]:
    try:
        program = partner_python("seaweedfs").parent / "weed"
    except PartnerError as error:
        pytest.skip(f"no S3 server: {error}")
    access, secret = "corporeal-test", secrets.token_hex(16)
    identity = {
        "name": "test",
        "credentials": [{"accessKey": access, "secretKey": secret}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    identities = folder / "identities.json"
    identities.write_text(json.dumps({"identities": [identity]}))
    for name in ("data", "logs"):
        (folder / name).mkdir()
    ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
    command = [str(program), f"-logdir={folder / 'logs'}", "server", f"-dir={folder / 'data'}",
               "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-s3",
               f"-s3.config={identities}", "-s3.port.iceberg=0", "-s3.port.lance=0",
               "-master.volumeSizeLimitMB=64", "-volume.max=40", "-volume.preStopSeconds=0",
               *(f"-{name}={port}" for name, port in ports.items())]  # fmt: skip
    with (folder / "output.txt").open("wb") as output, ExitStack() as stack:
        environment = {**os.environ, "TMPDIR": str(folder)}
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        stack.callback(_end, process)
        stack.enter_context(_environment(AWS_ACCESS_KEY_ID=access, AWS_SECRET_ACCESS_KEY=secret))
        endpoint = f"http://127.0.0.1:{ports['s3.port']}"
        _await(endpoint, process, folder)
        yield endpoint


def _await(endpoint: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            # A bucket that can be made shows that all of its parts have found each other.
            if Bucket(f"{endpoint}/ready", _REGION).ask("PUT").good:
                return
        except CatalogError:
            pass
        time.sleep(0.2)
    tail = (folder / "output.txt").read_text(errors="replace").splitlines()[-3:]
    pytest.skip(f"no S3 server: SeaweedFS did not start: {' | '.join(tail)}")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in held]


def _end(process: subprocess.Popen[bytes]) -> None:
    # Its data goes with it, and a polite end takes it ten seconds.
    process.kill()
    process.wait()
