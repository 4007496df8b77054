"""Who has logged in: a signed cookie that outlives the server and ends with its session.

The cookie holds a secret of the session, when it was signed, and a signature by a key in the
workspace: not the token itself, since browsers send a cookie to every port of a machine. The
catalogue is asked at each request, so that a log-out, a token that is revoked and an account that
is disabled end sessions at once.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from itsdangerous import BadSignature, TimestampSigner

from corporeal.catalog.accounts import SESSION_DAYS
from corporeal.files import publish_file

FILE = ".studio-key"
DAYS = SESSION_DAYS
_BYTES = 32


@dataclass(frozen=True)
class SessionKey:
    """Signs sessions of one workspace; made by `session_key`."""

    secret: bytes

    @property
    def cookie(self) -> str:
        """The cookie's name; two Studios on one machine do not log each other out."""
        return f"studio_{hashlib.sha256(b'name' + self.secret).hexdigest()[:8]}"

    @property
    def share_cookie(self) -> str:
        """The name of the cookie of those who came by a link."""
        return f"{self.cookie}_share"

    def sign(self, secret: str) -> str:
        """What the cookie holds for the secret of a session."""
        return self._signer.sign(secret).decode()

    def read(self, cookie: str) -> str | None:
        """The secret in a cookie that is ours and still good."""
        try:
            return self._signer.unsign(cookie, max_age=DAYS * 86400).decode()
        except BadSignature:
            return None

    @property
    def _signer(self) -> TimestampSigner:
        return TimestampSigner(self.secret, salt="studio session", digest_method=hashlib.sha256)


def session_key(root: Path) -> SessionKey:
    """The key of the workspace, made when it is first asked for and readable by its owner alone.

    In a folder that cannot be written to, the key lasts as long as the server.
    """
    path, fresh = root / FILE, secrets.token_bytes(_BYTES)
    if (found := _stored(path)) is None:
        with suppress(OSError):
            _store(path, fresh)
        found = _stored(path)
    return SessionKey(found or fresh)


def _stored(path: Path) -> bytes | None:
    try:
        found = path.read_bytes()
    except OSError:
        return None
    return found if len(found) == _BYTES else None


def _store(path: Path, key: bytes) -> None:
    """Written beside and linked: of two servers that start at once, both take the first key."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key)
        publish_file(draft, path)
    finally:
        draft.unlink(missing_ok=True)
