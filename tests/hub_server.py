"""A small server on this machine that answers as the Hugging Face hub does, for some folders.

Only the requests that reading and writing a dataset need; it counts what was asked and sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_test"


@dataclass
class Hub:
    """Its address, the folders that it serves by OWNER/NAME, and what was asked of it."""

    datasets: dict[str, Path]
    gated: set[str] = field(default_factory=set)
    address: str = ""
    sent: list[str] = field(default_factory=list)
    pushed: dict[str, dict[str, bytes]] = field(default_factory=dict)
    is_private: dict[str, bool] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._serve(with_body=False)

    def do_GET(self) -> None:
        self._serve(with_body=True)

    def _serve(self, *, with_body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        parts = path.strip("/").split("/")
        name = "/".join(parts[2:4] if parts[0] == "api" else parts[1:3])
        if name in self.hub.gated:
            self._error(403, "GatedRepo")
        elif name not in self.hub.datasets:
            self._error(404, "RepoNotFound")
        elif parts[0] == "api":
            self._api(self.hub.datasets[name], name, parts[4:])
        elif parts[4] not in ("main", COMMIT):
            self._error(404, "RevisionNotFound")
        else:
            self._file(self.hub.datasets[name], "/".join(parts[5:]), with_body=with_body)

    def _api(self, folder: Path, name: str, parts: list[str]) -> None:
        revision = parts[1] if len(parts) > 1 else "main"
        if revision not in ("main", COMMIT):
            self._error(404, "RevisionNotFound")
        elif parts[:1] == ["tree"]:
            self._json([
                {"type": "file", "path": file.relative_to(folder).as_posix(), "oid": _digest(file),
                 "size": file.stat().st_size}
                for file in sorted(folder.rglob("*")) if file.is_file()
            ])  # fmt: skip
        else:
            self._json({"id": name, "sha": COMMIT, "private": False, "tags": [], "siblings": []})

    def _file(self, folder: Path, path: str, *, with_body: bool) -> None:
        file = folder / path
        if not file.is_file():
            self._error(404, "EntryNotFound")
            return
        content = file.read_bytes()
        if with_body:
            self.hub.sent.append(path)
        self.send_response(200)
        self.send_header("ETag", f'"{_digest(file)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._chunks()
        path = urlsplit(self.path).path
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._error(401, "")
        elif path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            is_private = asked.get("private") or asked.get("visibility") == "private"
            self.hub.is_private[name] = bool(is_private)
            self._json({"url": f"{self.hub.address}/datasets/{name}", "name": name, "id": name})
        elif "/preupload/" in path:
            files = json.loads(body)["files"]
            self._json({"files": [{"path": each["path"], "uploadMode": "regular",
                                   "shouldIgnore": False} for each in files]})  # fmt: skip
        elif "/commit/" in path:
            name = "/".join(path.split("/")[3:5])
            lines = [json.loads(line) for line in body.splitlines()]
            self.hub.pushed[name] = {
                line["value"]["path"]: base64.b64decode(line["value"]["content"])
                for line in lines if line["key"] == "file"
            }  # fmt: skip
            self._json({"commitUrl": f"{self.hub.address}/datasets/{name}/commit/{COMMIT}",
                        "commitOid": COMMIT, "success": True})  # fmt: skip
        else:
            self._error(404, "")

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _json(self, values: object) -> None:
        content = json.dumps(values).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _error(self, status: int, code: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _digest(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


@contextmanager
def hub_server(datasets: dict[str, Path]) -> Iterator[Hub]:
    """The hub, on a free port of this machine, as long as it is needed."""
    hub = Hub(datasets)
    handler = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
