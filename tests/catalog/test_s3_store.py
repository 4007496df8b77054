"""S3: keys stay secret, held objects stay, and a server that falters is asked again."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from tests.catalog.s3_server import S3Server

from corporeal.catalog.store import Store, StoreError, object_lock, verify_store
from corporeal.catalog.store.signed_request import Bucket, credentials, sign
from corporeal.catalog.store.store import open_store
from corporeal.catalog.stores.s3 import ObjectStore

_ABSENT = "sha256:" + "0" * 64


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file of these bytes."""

    def make(content: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


@pytest.mark.parametrize(
    "url",
    ["s3://", "s3://UPPER", "s3://bucket/../other", "s3://bucket/a//b", "s3://bucket/.hidden",
     "s3://bucket/a b"],
)  # fmt: skip
def test_a_bucket_and_its_prefix_are_plain_names(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="expected s3://bucket/prefix"):
        open_store(url, root=tmp_path)


@pytest.mark.parametrize("options", [{"secret_access_key": "hush"}, {"addressing": "hush"}])
def test_options_of_s3_take_no_keys(options: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="expected"):
        open_store("s3://bucket", root=tmp_path, options=options)


def test_keys_in_an_address_are_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as told:
        open_store("s3://key:hush@bucket/prefix", root=tmp_path)
    assert "hush" not in str(told.value)


def test_a_request_is_signed_as_amazon_documents_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # The worked example "GET Bucket Lifecycle" of the documentation of Signature Version 4 for S3.
    pytest.importorskip("botocore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    that_day = datetime(2013, 5, 24, tzinfo=UTC)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: that_day)
    keys = credentials()
    sent = sign("GET", "https://examplebucket.s3.amazonaws.com/?lifecycle=",
                {"Host": "examplebucket.s3.amazonaws.com"}, b"", region="us-east-1",
                credentials=keys)  # fmt: skip
    wanted = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    assert sent["Authorization"].endswith(f"Signature={wanted}")
    assert "wJalr" not in repr(keys)


@pytest.mark.slow
@pytest.mark.xdist_group("s3")
def test_a_held_object_withstands_erasure_shortening_and_a_delete_marker(
    s3_server: S3Server, write: Callable[..., Path]
) -> None:
    store = s3_server.open(s3_server.locked)
    path = write(os.urandom(100))
    until = datetime.now(UTC) + timedelta(seconds=6)
    digest = store.put(path, retain_until=until)
    with pytest.raises(StoreError, match="is held until"):
        store.erase(digest)
    assert list(verify_store(store, [digest])) == []
    # An earlier date changes nothing; an object that is there can be held for longer.
    store.put(path, retain_until=datetime.now(UTC) + timedelta(seconds=1))
    bucket = Bucket(f"{s3_server.endpoint}/{s3_server.locked}", s3_server.region)
    name = digest.removeprefix("sha256:")
    key = f"{store.url.rpartition('/')[2]}/{name[:2]}/{name[2:4]}/{name}"
    held = object_lock.held_until(bucket, key)
    assert held is not None
    assert timedelta(0) <= held - until < timedelta(seconds=1)
    # Whoever deletes it the plain way hides it; the next put brings it back.
    assert bucket.ask("DELETE", key).good
    assert store.has(digest) is None
    assert store.put(path) == digest
    time.sleep(max(0.0, (held - datetime.now(UTC)).total_seconds()) + 1.1)
    store.erase(digest)
    assert store.has(digest) is None


@pytest.mark.slow
@pytest.mark.xdist_group("s3")
def test_a_date_without_a_time_zone_is_refused(s3_store: Store, write: Callable[..., Path]) -> None:
    with pytest.raises(StoreError, match="time zone"):
        s3_store.put(write(b"x"), retain_until=datetime(2030, 1, 1))


@pytest.mark.slow
@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [("AWS_SECRET_ACCESS_KEY", "hush", "SignatureDoesNotMatch|status 403"),
     ("AWS_ACCESS_KEY_ID", "nobody", "InvalidAccessKeyId|status 403")],
)  # fmt: skip
def test_wrong_keys_are_said_in_one_sentence_without_them(
    s3_server: S3Server,
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    told: str,
) -> None:
    monkeypatch.setenv(variable, value)
    store = s3_server.open(s3_server.plain)
    for use in (lambda: store.put(write(b"x")), store.abilities, lambda: store.erase(_ABSENT)):
        with pytest.raises(StoreError, match=told) as caught:
            use()
        assert value not in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.xdist_group("s3")
def test_a_file_that_changes_while_it_is_sent_is_not_stored(
    s3_store: Store, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (100, 40 << 20):
        path = write(bytes(size))
        monkeypatch.setattr("corporeal.catalog.stores.s3.digest_of", lambda _: _ABSENT)
        with pytest.raises(StoreError, match="was changed"):
            s3_store.put(path)
    assert list(s3_store.digests()) == []


@pytest.mark.slow
@pytest.mark.xdist_group("s3")
def test_a_forked_process_is_told_to_start_anew_instead_of_hanging(s3_store: Store) -> None:
    assert s3_store.has(_ABSENT) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python knows that forks are risky.
        child = os.fork()
    if child == 0:
        try:
            s3_store.has(_ABSENT)
        except StoreError as error:
            os._exit(7 if "spawn" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


class _Busy(BaseHTTPRequestHandler):
    """Refuses two requests, then answers."""

    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self.asked.append(self.path)
        self.send_response(503 if len(self.asked) < 3 else 200)
        self.send_header("Content-Length", "12")
        self.send_header("Last-Modified", "Sun, 15 Nov 2026 10:00:00 GMT")
        self.send_header("ETag", '"x"')
        self.end_headers()

    do_GET = do_HEAD  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Busy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            endpoint = f"http://127.0.0.1:{server.server_port}"
            store = open_store("s3://bucket/in", root=tmp_path, options={"endpoint": endpoint})
            assert store.has(_ABSENT) == 12
            assert len(_Busy.asked) == 3
            assert _Busy.asked[0] == f"/bucket/in/00/00/{'0' * 64}"
            _Busy.asked.clear()
            assert Bucket(f"{endpoint}/bucket", "us-east-1").ask("HEAD", "key").good
            assert len(_Busy.asked) == 3
        finally:
            server.shutdown()
            thread.join()


class _Elsewhere(BaseHTTPRequestHandler):
    """Sends everybody to another host, which is itself under another name."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.headers["Host"])
        self.send_response(307)
        assert isinstance(self.server, ThreadingHTTPServer)
        place = f"http://localhost:{self.server.server_port}{self.path}"
        self.send_header("Location", place)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_signature_is_not_carried_to_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            answer = Bucket(f"http://127.0.0.1:{server.server_port}/bucket", "r").ask("GET", "key")
        finally:
            server.shutdown()
            thread.join()
    assert answer.status == 307
    assert _Elsewhere.asked == [f"127.0.0.1:{server.server_port}"]


def test_a_server_that_is_gone_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setattr("corporeal.catalog.stores.s3._RETRIES", 1)
    store = open_store("s3://bucket", root=tmp_path, options={"endpoint": "http://127.0.0.1:9"})
    with pytest.raises(StoreError, match="it does not answer") as told:
        store.has(_ABSENT)
    assert "hush" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({"region": "eu-west-1"}, "https://bucket.s3.eu-west-1.amazonaws.com"),
        ({"addressing": "path"}, "https://s3.us-east-1.amazonaws.com/bucket"),
        ({"endpoint": "http://host:9000/"}, "http://host:9000/bucket"),
        ({"endpoint": "https://host", "addressing": "virtual"}, "https://bucket.host"),
    ],
)
def test_a_bucket_is_addressed_by_path_or_by_host(
    options: dict[str, str], address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    store = open_store("s3://bucket/prefix", root=tmp_path, options=options)
    assert store.url == "s3://bucket/prefix"
    assert isinstance(store, ObjectStore)
    assert store.place.address == address
