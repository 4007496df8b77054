"""Signed requests to an S3 server, for what an object client leaves out: versions and retention."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlsplit

from corporeal.catalog.database import CatalogError

_ALGORITHM = "AWS4-HMAC-SHA256"
_TRIES = 4
_TIMEOUT_S = 30.0
_MAX_ANSWER = 16 << 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A signature is for one host: it is not shown to another."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer as it is."""


_OPENER = urllib.request.build_opener(_NoRedirect)


@dataclass(frozen=True)
class Keys:
    """What requests are signed with; it is never shown."""

    access: str = field(repr=False)
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)


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
        asked = canonical_query(query)
        sent = {"host": parts.netloc, **headers}
        if body:
            sent["content-md5"] = base64.b64encode(
                hashlib.md5(body, usedforsecurity=False).digest()
            ).decode()
        sent = signed(method, path, asked, sent, body, region=self.region, keys=keys())
        url = f"{parts.scheme}://{parts.netloc}{path}" + (f"?{asked}" if asked else "")
        request = urllib.request.Request(url, data=body or None, headers=sent, method=method)
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_S) as reply:
                return Answer(reply.status, dict(reply.headers), reply.read(_MAX_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read(_MAX_ANSWER))


def keys() -> Keys:
    """From the environment and nowhere else."""
    access = os.environ.get("AWS_ACCESS_KEY_ID", "")
    secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    if not access or not secret:
        raise CatalogError(
            "a request to S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
            "environment, which are not set. Set them."
        )
    return Keys(access, secret, os.environ.get("AWS_SESSION_TOKEN", ""))


def canonical_query(query: Mapping[str, str]) -> str:
    """Names and values percent-encoded, in order of the names."""
    encoded = sorted((quote(name, safe="-_.~"), quote(query[name], safe="-_.~")) for name in query)
    return "&".join(f"{name}={value}" for name, value in encoded)


def signed(
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    region: str,
    keys: Keys,
    at: datetime | None = None,
) -> dict[str, str]:
    """The headers, with those of AWS Signature Version 4; `path` and `query` are encoded."""
    stamp = (at or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    payload = hashlib.sha256(body).hexdigest()
    sent = {**headers, "x-amz-date": stamp, "x-amz-content-sha256": payload}
    if keys.token:
        sent["x-amz-security-token"] = keys.token
    names = sorted(sent)
    listed = ";".join(names)
    lines = [method, path, query, *(f"{name}:{sent[name].strip()}" for name in names), "", listed,
             payload]  # fmt: skip
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    asked = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    key = f"AWS4{keys.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"{_ALGORITHM}\n{stamp}\n{scope}\n{asked}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    sent["authorization"] = (
        f"{_ALGORITHM} Credential={keys.access}/{scope},SignedHeaders={listed},"
        f"Signature={signature}"
    )
    return sent
