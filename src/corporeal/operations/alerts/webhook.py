"""Alerts as one JSON document, posted to a web address."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Sequence
from email.message import Message
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from corporeal.operations.alert import Alert, AlertError, ChannelKind, ChannelSettings, Send
from corporeal.trust import is_here

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class _SameHost(HTTPRedirectHandler):
    """Follows a redirect only to the host that was asked, with the document still posted."""

    max_redirections = 3

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,  # noqa: ARG002  (the standard library passes it)
        headers: Message,
        newurl: str,
    ) -> Request | None:
        if code in (307, 308) and _origin(urlsplit(newurl)) == _origin(urlsplit(req.full_url)):
            sent = dict(req.header_items())
            return Request(newurl, data=req.data, headers=sent, method="POST")
        raise HTTPError(req.full_url, code, "redirect not followed", headers, fp)


def open_webhook(setting: ChannelSettings) -> Send:
    """Post to `url`, or to the address in the variable `url_variable` names.

    `token_variable` names the one that holds a bearer token. Each of `attempts` may take
    `timeout_s`; between them is a pause of `pause_s`, then twice as long.
    """
    url = setting.secret("url_variable") or setting.text("url")
    parts = _address(setting, url)
    token = setting.secret("token_variable")
    if token is not None and parts.scheme != "https" and not is_here(parts.hostname or ""):
        raise setting.wrong("url", "https, as a token is sent with it")
    if "url_variable" not in setting.values:
        setting.require_host(parts.scheme, parts.hostname or "", parts.port)
    timeout_s = setting.number("timeout_s", 10.0, lowest=0.1, highest=120)
    attempts = int(setting.number("attempts", 3, lowest=1, highest=10))
    pause_s = setting.number("pause_s", 1.0, lowest=0, highest=60)
    # An address may hold a key in its path, so only the host is ever shown.
    shown = f"{setting.where} {parts.scheme}://{parts.hostname}"
    opener = build_opener(_SameHost)

    def send(alerts: Sequence[Alert]) -> None:
        body = json.dumps({"alerts": [each.to_json() for each in alerts]}).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "corporeal"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        reason = ""
        for attempt in range(attempts):
            if attempt:
                time.sleep(pause_s * 2 ** (attempt - 1))
            request = Request(url, data=body, headers=headers, method="POST")
            reason, is_final = _post(opener, request, timeout_s)
            if not reason:
                return
            if is_final:
                break
        raise AlertError(f"{shown}: {reason} after {attempt + 1} of {attempts} attempts.")

    return send


def _post(opener: OpenerDirector, request: Request, timeout_s: float) -> tuple[str, bool]:
    """Why it failed ("" when it did not), and whether trying again is useless."""
    try:
        with opener.open(request, timeout=timeout_s):
            return "", True
    except HTTPError as error:
        with error:
            if 300 <= error.code < 400:
                return f"it redirects elsewhere ({error.code}), which is not followed", True
            return f"it answered {error.code}", error.code not in _AGAIN
    except TimeoutError:
        return f"no answer within {timeout_s:g} s", False
    except URLError as error:
        kind = error.reason
        said = kind.strerror if isinstance(kind, OSError) and kind.strerror else type(kind).__name__
        return f"it cannot be reached ({said})", False
    except (OSError, http.client.HTTPException) as error:
        return f"the connection broke ({type(error).__name__})", False


def _address(setting: ChannelSettings, url: str) -> SplitResult:
    option = "url_variable" if "url_variable" in setting.values else "url"
    wrong = AlertError(
        f"{setting.where} {option}; expected an address such as https://host/path, without a user "
        "or password in it."
    )
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise wrong from None
    if not fine or "@" in parts.netloc or any(ord(each) <= 32 or ord(each) > 126 for each in url):
        raise wrong
    return parts


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


CHANNEL = ChannelKind(
    open_webhook,
    options=("url", "url_variable", "token_variable", "timeout_s", "attempts", "pause_s"),
)
