"""Signed requests to an S3 server, for what an object client leaves out: versions and retention."""

from __future__ import annotations

import base64
import hashlib
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from corporeal.catalog.database import CatalogError
from corporeal.errors import MissingExtraError

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_TRIES = 4
_TIMEOUT_S = 30.0
_MAX_ANSWER = 16 << 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A signature is for one host: it is not shown to another."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer as it is."""


_OPENER = urllib.request.build_opener(_NoRedirect)


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def good(self) -> bool:
        """Whether it did what was asked."""
        return 200 <= self.status < 300


@dataclass(frozen=True)
class Bucket:
    """Where a bucket answers: `address` is its URL, without a slash at the end."""

    address: str
    region: str

    def ask(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request, again if the server is busy or gone; raises when it never answers."""
        reason = ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(0.2 * 2**attempt)
            try:
                answer = self._ask_once(method, key, query or {}, body, headers or {})
            except (urllib.error.URLError, HTTPException, OSError) as error:
                reason = str(getattr(error, "reason", error))
                continue
            if answer.status < 500:
                return answer
            reason = f"status {answer.status}"
        raise CatalogError(f"{self.address} does not answer: {reason}. Is the server running?")

    def _ask_once(
        self,
        method: str,
        key: str,
        query: Mapping[str, str],
        body: bytes,
        headers: Mapping[str, str],
    ) -> Answer:
        parts = urlsplit(self.address)
        path = quote(f"{parts.path}/{key}", safe="/-_.~")
        url = f"{parts.scheme}://{parts.netloc}{path}"
        if query:
            url += "?" + urlencode(query, quote_via=quote, safe="-_.~")
        sent = {"Host": parts.netloc, **headers}
        if body:
            digest = hashlib.md5(body, usedforsecurity=False).digest()
            sent["Content-MD5"] = base64.b64encode(digest).decode()
        sent = sign(method, url, sent, body, region=self.region, credentials=credentials())
        request = urllib.request.Request(url, data=body or None, headers=sent, method=method)
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_S) as reply:
                return Answer(reply.status, dict(reply.headers), reply.read(_MAX_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read(_MAX_ANSWER))


def credentials() -> Credentials:
    """From the environment and nowhere else."""
    access = os.environ.get("AWS_ACCESS_KEY_ID", "")
    secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    if not access or not secret:
        raise CatalogError(
            "a request to S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
            "environment, which are not set. Set them."
        )
    try:
        from botocore.credentials import Credentials
    except ModuleNotFoundError:
        raise MissingExtraError("botocore", "server") from None
    return Credentials(access, secret, os.environ.get("AWS_SESSION_TOKEN") or None)


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    region: str,
    credentials: Credentials,
) -> dict[str, str]:
    """The headers, with those of AWS Signature Version 4; `url` is encoded."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method=method, url=url, headers=dict(headers), data=body)
    S3SigV4Auth(credentials, "s3", region).add_auth(request)
    return dict(request.headers.items())
