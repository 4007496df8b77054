"""Alerts reach files, web addresses and mailboxes, and carry neither secrets nor tricks."""

from __future__ import annotations

import json
import shutil
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from corporeal.operations.alert import (
    Alert,
    AlertChannel,
    AlertError,
    alert_channels,
    channel_kinds,
    tell,
)
from corporeal.operations.alerts.mail import compose

HOSTILE = "score\r\nBcc: thief@example.org\r\n\r\nbody\u2028\x00"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def _alert(number: int = 1, text: str = "the score fell") -> Alert:
    return Alert(f"alert {number}", text, facts={"number": number})


def _open(tmp_path: Path, kind: str, environment: dict[str, str] | None = None,
          **options: Any) -> AlertChannel:  # fmt: skip
    raw = {"alerts": {"here": {"kind": kind, **options}}}
    (channel,) = alert_channels(raw, root=tmp_path, environment=environment or {"HOME": "/"})
    return channel


# Configuration


def test_every_kind_of_channel_is_found() -> None:
    assert sorted(channel_kinds()) == ["file", "mail", "webhook"]


def test_no_section_is_no_channel() -> None:
    assert alert_channels({"workspace": {}}) == []


@pytest.mark.parametrize(
    ("section", "words"),
    [
        (5, "expected a section"),
        ({"kind": "pigeon"}, "expected one of: file, mail, webhook"),
        ({"kind": ["file"]}, "expected one of: file"),
        ({"kind": "file", "colour": "red"}, "got option 'colour'"),
        ({"kind": "file", "path": "../outside.jsonl"}, "inside the workspace"),
        ({"kind": "file", "path": "/etc/passwd"}, "inside the workspace"),
        ({"kind": "file", "path": "."}, "inside the workspace"),
        ({"kind": "file", "path": ""}, "a text on one line"),
        ({"kind": "file", "max_bytes": 3}, "expected 1024 to"),
        ({"kind": "file", "keep": True}, "a number"),
        ({"kind": "webhook"}, "url, got nothing"),
        ({"kind": "webhook", "url": "file:///etc/passwd"}, "https://host/path"),
        ({"kind": "webhook", "url": "ftp://host/x"}, "https://host/path"),
        ({"kind": "webhook", "url": "https://user:hunter2@host/x"}, "without a user or password"),
        ({"kind": "webhook", "url": "https://host/a b"}, "https://host/path"),
        ({"kind": "webhook", "url": "https://host:99999/"}, "https://host/path"),
        ({"kind": "webhook", "url": "http://h/", "token": "hunter2"}, "no secret in this file"),
        ({"kind": "webhook", "url": "http://h/", "token_variable": "hunter2!"}, "the name of an"),
        ({"kind": "webhook", "url": "http://h/", "token_variable": "CORPOREAL_NO"}, "is not set"),
        ({"kind": "mail", "server": "h", "sender": "a@b", "to": []}, "one address or a list"),
        ({"kind": "mail", "server": "h", "sender": "a@b\nc", "to": "x@y"}, "on one line"),
        ({"kind": "mail", "server": "h", "sender": "a@b", "to": ["x@y\r\nRCPT"]}, "an address"),
        ({"kind": "mail", "server": "h h", "sender": "a@b", "to": "x@y"}, "name of a host"),
        ({"kind": "mail", "server": "h", "sender": "a@b", "to": "x@y", "user": "u"}, "both user"),
        ({"kind": "mail", "server": "h", "sender": "a@b", "to": "x@y", "password": "hunter2"},
         "no secret in this file"),
    ],
)  # fmt: skip
def test_a_wrong_section_is_named_with_what_was_expected(
    tmp_path: Path, section: Any, words: str
) -> None:
    with pytest.raises(AlertError, match=words) as caught:
        alert_channels({"alerts": {"here": section}}, root=tmp_path, environment={"HOME": "/"})
    assert "[alerts.here]" in str(caught.value)
    assert "hunter2" not in str(caught.value)


# To a file


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_alerts_are_appended_to_a_file_as_lines_of_json(tmp_path: Path) -> None:
    channel = _open(tmp_path, "file", path="log/alerts.jsonl")
    assert tell([channel], [_alert(1), _alert(2, HOSTILE)])[0].reason is None
    tell([channel], [_alert(3)])
    found = _lines(tmp_path / "log" / "alerts.jsonl")
    assert [each["facts"]["number"] for each in found] == [1, 2, 3]
    assert found[1]["text"] == HOSTILE


def test_a_full_file_is_turned_over_and_the_oldest_goes(tmp_path: Path) -> None:
    channel = _open(tmp_path, "file", max_bytes=1024, keep=2)
    for number in range(40):
        tell([channel], [_alert(number, "x" * 200)])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["alerts.jsonl", "alerts.jsonl.1", "alerts.jsonl.2"]
    assert all(path.stat().st_size <= 1024 for path in tmp_path.iterdir())
    order = [
        each["facts"]["number"] for name in reversed(names) for each in _lines(tmp_path / name)
    ]
    assert order == list(range(40 - len(order), 40))


def test_many_writers_of_one_file_lose_nothing(tmp_path: Path) -> None:
    channel = _open(tmp_path, "file", max_bytes=4096, keep=100)

    def work(first: int) -> None:
        for number in range(first, first + 40):
            tell([channel], [_alert(number)])

    threads = [threading.Thread(target=work, args=(100 * each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [each["facts"]["number"] for path in tmp_path.iterdir() for each in _lines(path)]
    assert sorted(found) == [100 * each + number for each in range(4) for number in range(40)]


def test_a_link_that_leads_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(AlertError, match="inside the workspace"):
        _open(inside, "file", path="link/alerts.jsonl")


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "alerts.jsonl").mkdir()
    (delivery,) = tell([_open(tmp_path, "file")], [_alert()])
    assert delivery.reason is not None
    assert "cannot be written" in delivery.reason


# To a web address


class _Web:
    """A real server that answers as told and remembers what it was asked."""

    def __init__(self, answers: list[tuple[int, dict[str, str]]]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                web.asked.append((self.command, self.path, dict(self.headers), body))
                code, headers = web.answers.pop(0) if web.answers else (204, {})
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET = _answer  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def _web(*answers: tuple[int, dict[str, str]]) -> Iterator[_Web]:
    web = _Web(list(answers))
    thread = threading.Thread(target=web.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield web
    finally:
        web.server.shutdown()
        thread.join()
        web.server.server_close()


def test_a_webhook_gets_all_alerts_in_one_document(tmp_path: Path) -> None:
    with _web() as web:
        channel = _open(tmp_path, "webhook", {"CORPOREAL_HOOK": "hunter2"}, url=f"{web.url}/hook",
                        token_variable="CORPOREAL_HOOK")  # fmt: skip
        assert tell([channel], [_alert(1), _alert(2)])[0].reason is None
    ((method, path, headers, body),) = web.asked
    assert (method, path) == ("POST", "/hook")
    assert headers["Authorization"] == "Bearer hunter2"
    assert headers["Content-Type"] == "application/json"
    assert [each["title"] for each in json.loads(body)["alerts"]] == ["alert 1", "alert 2"]


def test_a_webhook_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    with _web((503, {}), (429, {})) as web:
        channel = _open(tmp_path, "webhook", url=web.url, pause_s=0.01)
        assert tell([channel], [_alert()])[0].reason is None
    assert len(web.asked) == 3


def test_a_webhook_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    with _web((403, {})) as web:
        channel = _open(tmp_path, "webhook", url=f"{web.url}/key-hunter2?k=hunter2", pause_s=0.01)
        (delivery,) = tell([channel], [_alert()])
    assert len(web.asked) == 1
    assert delivery.reason is not None
    assert "it answered 403 after 1 of 3 attempts" in delivery.reason
    assert "hunter2" not in delivery.reason


def test_a_redirect_to_another_host_is_not_followed(tmp_path: Path) -> None:
    with _web() as other, _web((307, {"Location": f"{other.url}/steal"})) as web:
        channel = _open(tmp_path, "webhook", {"CORPOREAL_HOOK": "hunter2"}, url=web.url,
                        token_variable="CORPOREAL_HOOK", pause_s=0.01)  # fmt: skip
        (delivery,) = tell([channel], [_alert()])
    assert other.asked == []
    assert delivery.reason is not None
    assert "redirects elsewhere (307)" in delivery.reason


@pytest.mark.parametrize("target", ["file:///etc/passwd", "/elsewhere"])
def test_a_redirect_that_would_not_post_is_not_followed(tmp_path: Path, target: str) -> None:
    with _web((302, {"Location": target})) as web:
        (delivery,) = tell([_open(tmp_path, "webhook", url=web.url, pause_s=0.01)], [_alert()])
    assert len(web.asked) == 1
    assert delivery.reason is not None


def test_a_redirect_on_the_same_host_is_followed_with_the_document(tmp_path: Path) -> None:
    with _web((308, {"Location": "/new"})) as web:
        channel = _open(tmp_path, "webhook", url=web.url)
        assert tell([channel], [_alert()])[0].reason is None
    assert [(each[0], each[1]) for each in web.asked] == [("POST", "/"), ("POST", "/new")]
    assert web.asked[0][3] == web.asked[1][3]


def test_a_webhook_that_is_not_there_is_reported_and_the_others_are_told(tmp_path: Path) -> None:
    with _web() as gone:
        url = gone.url
    dead = _open(tmp_path, "webhook", url=f"{url}/hunter2", attempts=2, pause_s=0.01)
    first, second = tell([dead, _open(tmp_path, "file")], [_alert()])
    assert first.reason is not None
    assert "cannot be reached (Connection refused) after 2 of 2 attempts" in first.reason
    assert "hunter2" not in first.reason
    assert second.reason is None


def test_a_webhook_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as silent:
        url = f"http://127.0.0.1:{silent.server_address[1]}"
        channel = _open(tmp_path, "webhook", url=url, attempts=1, timeout_s=0.2)
        (delivery,) = tell([channel], [_alert()])
    assert delivery.reason is not None
    assert "no answer within 0.2 s" in delivery.reason


# To a mailbox


class _Post(socketserver.ThreadingTCPServer):
    """A small real SMTP server; with a `trust` it offers STARTTLS and asks for a login."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, trust: ssl.SSLContext | None = None, *, refuse: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _PostHandler)
        self.trust, self.refuse = trust, refuse
        self.commands: list[str] = []
        self.mails: list[str] = []
        self.was_encrypted = False


class _PostHandler(socketserver.StreamRequestHandler):
    server: _Post
    line: ssl.SSLSocket | None = None

    def handle(self) -> None:
        self._say("220 test")
        while line := self.rfile.readline():
            word = line.decode().strip()
            self.server.commands.append(word)
            if not self._reply(word.upper()):
                return

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def _encrypt(self, trust: ssl.SSLContext) -> bool:
        try:
            self.line = trust.wrap_socket(self.request, server_side=True)
        except ssl.SSLError:
            return False
        self.server.was_encrypted = True
        self.rfile = self.line.makefile("rb")
        self.wfile = self.line.makefile("wb", buffering=0)  # type: ignore[assignment]
        return True

    def finish(self) -> None:
        super().finish()
        if self.line is not None:
            self.line.close()

    def _reply(self, word: str) -> bool:
        if word.startswith("EHLO"):
            offers = []
            if self.server.trust is not None:
                offers = ["AUTH PLAIN"] if self.server.was_encrypted else ["STARTTLS"]
            lines = ["test", *offers]
            for number, each in enumerate(lines):
                self._say(f"250{' ' if number == len(lines) - 1 else '-'}{each}")
        elif word == "STARTTLS" and self.server.trust is not None:
            self._say("220 go")
            return self._encrypt(self.server.trust)
        elif word == "DATA":
            self._say("354 go on")
            kept = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                kept.append(line.decode())
            self.server.mails.append("".join(kept))
            self._say("250 kept")
        elif word.startswith("RCPT") and self.server.refuse:
            self._say("550 no such mailbox")
        elif word.startswith("AUTH"):
            self._say("235 welcome")
        elif word == "QUIT":
            self._say("221 bye")
            return False
        else:
            self._say("250 fine")
        return True


@contextmanager
def _post(trust: ssl.SSLContext | None = None, *, refuse: bool = False) -> Iterator[_Post]:
    with _Post(trust, refuse=refuse) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _mail(server: _Post, **more: Any) -> dict[str, Any]:
    base = {"server": "127.0.0.1", "port": server.server_address[1], "timeout_s": 5}
    people = {"sender": "robots@example.org", "to": ["a@example.org", "b@example.org"]}
    return base | people | more


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 with its key, in one folder."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "certificate.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


def _trust(certificate: Path) -> ssl.SSLContext:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    return trust


def test_a_mail_goes_to_all_recipients(tmp_path: Path) -> None:
    with _post() as server:
        channel = _open(tmp_path, "mail", **_mail(server))
        assert tell([channel], [_alert(1), _alert(2)])[0].reason is None
    assert [each for each in server.commands if each.upper().startswith("RCPT")] == [
        "rcpt TO:<a@example.org>",
        "rcpt TO:<b@example.org>",
    ]
    (mail,) = server.mails
    assert "Subject: [corporeal] alert 1 and 1 more" in mail
    assert "the score fell" in mail


def test_an_alert_cannot_add_a_header_or_a_recipient(tmp_path: Path) -> None:
    hostile = Alert(HOSTILE, f"{HOSTILE}\r\n.\r\nRCPT TO:<thief@example.org>\r\n")
    with _post() as server:
        channel = _open(tmp_path, "mail", **_mail(server))
        assert tell([channel], [hostile])[0].reason is None
    assert not any("thief" in each for each in server.commands)
    header = server.mails[0].partition("\r\n\r\n")[0]
    assert not any(line.lower().startswith("bcc") for line in header.splitlines())
    assert len(server.mails) == 1
    message = compose([hostile], sender="a@example.org", to=["b@example.org"])
    assert message["Subject"] == "[corporeal] score Bcc: thief@example.org body"
    assert message["Bcc"] is None


def test_a_line_is_encrypted_before_the_password_is_said(tmp_path: Path, certificate: Path) -> None:
    with _post(_trust(certificate)) as server:
        shutil.copy(certificate / "certificate.pem", tmp_path / "trusted.pem")
        options = _mail(
            server, user="robots", password_variable="CORPOREAL_MAIL", authorities="trusted.pem"
        )
        channel = _open(tmp_path, "mail", {"CORPOREAL_MAIL": "hunter2"}, **options)
        assert tell([channel], [_alert()])[0].reason is None
    order = [each.split()[0].upper() for each in server.commands]
    assert order.index("STARTTLS") < order.index("AUTH")
    assert server.was_encrypted


def test_a_server_with_an_unknown_certificate_gets_nothing(
    tmp_path: Path, certificate: Path
) -> None:
    with _post(_trust(certificate)) as server:
        channel = _open(tmp_path, "mail", **_mail(server))
        (delivery,) = tell([channel], [_alert()])
    assert delivery.reason is not None
    assert "SSLCertVerificationError" in delivery.reason
    assert server.mails == []


@pytest.mark.parametrize(
    "more", [{"require_tls": True}, {"user": "robots", "password_variable": "CORPOREAL_MAIL"}]
)
def test_no_password_is_said_on_an_open_line(tmp_path: Path, more: dict[str, Any]) -> None:
    with _post() as server:
        channel = _open(tmp_path, "mail", {"CORPOREAL_MAIL": "hunter2"}, **_mail(server, **more))
        (delivery,) = tell([channel], [_alert()])
    assert delivery.reason is not None
    assert "offers no STARTTLS" in delivery.reason
    assert not any(each.upper().startswith("AUTH") for each in server.commands)


def test_a_refused_mail_is_reported(tmp_path: Path) -> None:
    with _post(refuse=True) as server:
        channel = _open(tmp_path, "mail", **_mail(server))
        (delivery,) = tell([channel], [_alert()])
    assert delivery.reason is not None
    assert "SMTPRecipientsRefused" in delivery.reason


def test_a_mail_server_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with _post() as server:
        options = _mail(server)
    (delivery,) = tell([_open(tmp_path, "mail", **options)], [_alert()])
    assert delivery.reason is not None
    assert "cannot be used (ConnectionRefusedError)" in delivery.reason


def test_an_error_that_may_hold_a_secret_is_reported_by_its_kind() -> None:
    def send(_: Any) -> None:
        raise ValueError("password hunter2")

    assert tell([AlertChannel("bad", "test", send)], [_alert()])[0].reason == "ValueError"
