"""Accounts, their tokens and sessions, of which the catalogue knows only the hash."""

from __future__ import annotations

import getpass
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.permission import Actor, PermissionDeniedError, Role, check_role, require
from corporeal.catalog.tables import ACCOUNT, LOGIN, TOKEN

PREFIX = "crp_"
TOKEN_VARIABLE = "CORPOREAL_TOKEN"
SESSION_DAYS, MOST_SESSIONS = 14, 50
"""How long a session lasts, and how many of one token stay open: the oldest ends for one more."""
_BYTES = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SECRET = re.compile(r"crp_[A-Za-z0-9_-]{43}")
_LABEL, _ID = 80, 16


@dataclass(frozen=True)
class Account:
    """A person or a program that may do something."""

    name: str
    role: Role
    created_at: str
    disabled: bool


@dataclass(frozen=True)
class Token:
    """What is known of a token: never the secret; `id` is the beginning of its hash."""

    id: str
    account: str
    label: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None


@dataclass(frozen=True)
class LoginSession:
    """A browser that is logged in with a token; `id` is the beginning of the secret's hash."""

    id: str
    account: str
    label: str
    address: str
    created_at: str
    expires_at: str


def accounts(connection: Connection) -> list[Account]:
    """Every account, in the order of their names."""
    rows = connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.name))
    return [Account(**row) for row in rows.mappings()]


def account(connection: Connection, name: str) -> Account:
    """The account of this name; raises CatalogError when there is none."""
    rows = connection.execute(select(ACCOUNT).where(ACCOUNT.c.name == name))
    for row in rows.mappings():
        return Account(**row)
    raise CatalogError(f"account, got {name[:80]!r}; expected one that exists. Add it first.")


def add_account(connection: Connection, name: str, role: str, *, by: Actor) -> Account:
    """Add an account, inside a transaction. The first one is an admin, or nobody could add more."""
    require(by, "account")
    if not _NAME.fullmatch(name):
        raise CatalogError(
            f"account name, got {name[:80]!r}; expected up to 64 small letters, digits, "
            "points, dashes and underscores."
        )
    wanted = check_role(role)
    if connection.execute(select(ACCOUNT.c.name).where(ACCOUNT.c.name == name)).first():
        raise CatalogError(f"account {name!r} exists already. Change its role instead.")
    if wanted != "admin" and not _admins(connection):
        raise CatalogError(f"role of the first account, got {role}; expected admin.")
    made = Account(name, wanted, now(), disabled=False)
    connection.execute(insert(ACCOUNT).values(vars(made)))
    record(connection, [Change(by.name, "account added", f"account:{name}",
                               details={"role": wanted})])  # fmt: skip
    return made


def change_role(
    connection: Connection, name: str, role: str, *, by: Actor, why: str | None = None
) -> None:
    """Give an account another role, inside a transaction; one admin always stays."""
    require(by, "account")
    wanted, there = check_role(role), account(connection, name)
    if wanted == there.role:
        return
    if there.role == "admin":
        _keep_an_admin(connection, name)
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == name).values(role=wanted))
    details = {"from": there.role, "to": wanted}
    record(connection, [Change(by.name, "account role", f"account:{name}", why, details)])


def set_disabled(
    connection: Connection, name: str, disabled: bool, *, by: Actor, why: str | None = None
) -> None:
    """Shut an account, or open it again, inside a transaction.

    Its tokens, sessions and share links are worth nothing while it is shut; sessions end for good.
    """
    require(by, "account")
    there = account(connection, name)
    if there.disabled == disabled:
        return
    if disabled and there.role == "admin":
        _keep_an_admin(connection, name)
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == name).values(disabled=disabled))
    if disabled:
        _end(connection, LOGIN.c.token.in_(_hashes_of(name)))
    what = "account disabled" if disabled else "account enabled"
    record(connection, [Change(by.name, what, f"account:{name}", why)])


def new_token(
    connection: Connection, name: str, label: str, expires: datetime | None = None, *, by: Actor
) -> str:
    """A new secret for an account, inside a transaction: shown once, stored as its SHA-256.

    While there is no token yet, whoever works on the machine itself makes the first, for an admin:
    nobody could show one.
    """
    owner = account(connection, name)
    is_first = connection.execute(select(TOKEN.c.hash).limit(1)).first() is None
    if not (by.guest and is_first and owner.role == "admin"):
        _check_owner(by, name)
    if owner.disabled:
        raise CatalogError(f"account {name!r} is disabled; expected one in use. Enable it first.")
    if not label.isprintable() or not 0 < len(label) <= _LABEL:
        raise CatalogError(f"token label, got {label[:80]!r}; expected 1 to {_LABEL} characters.")
    if any(token.label == label and not token.revoked_at for token in tokens(connection, name)):
        raise CatalogError(f"token {label!r} of {name!r} exists already. Revoke it first.")
    until, stamp = _expiry(expires), now()
    secret = PREFIX + secrets.token_urlsafe(_BYTES)
    connection.execute(
        insert(TOKEN).values(
            hash=digest_of_token(secret),
            account=name,
            label=label,
            created_at=stamp,
            expires_at=until,
        )
    )
    details = {"label": label, "expires_at": until}
    record(connection, [Change(by.name, "token made", f"account:{name}", details=details)])
    return secret


def revoke_token(connection: Connection, name: str, label: str, *, by: Actor) -> None:
    """End a token and its sessions, inside a transaction."""
    _check_owner(by, name)
    _end(connection, LOGIN.c.token.in_(_hashes_of(name).where(TOKEN.c.label == label)))
    ended = connection.execute(
        update(TOKEN)
        .where(TOKEN.c.account == name, TOKEN.c.label == label, TOKEN.c.revoked_at.is_(None))
        .values(revoked_at=now())
    )
    if not ended.rowcount:
        raise CatalogError(f"token {label[:80]!r} of {name[:80]!r} is not in use. List them first.")
    details = {"label": label}
    record(connection, [Change(by.name, "token revoked", f"account:{name}", details=details)])


def tokens(connection: Connection, name: str) -> list[Token]:
    """The tokens of an account, the newest last."""
    columns = (TOKEN.c[column.name] for column in fields(Token)[1:])
    query = select(TOKEN.c.hash, *columns).where(TOKEN.c.account == name)
    rows = connection.execute(query.order_by(TOKEN.c.created_at, TOKEN.c.label))
    return [Token(str(digest)[:_ID], *rest) for digest, *rest in rows]


def begin_session(connection: Connection, token: str, *, address: str) -> str:
    """A secret for the cookie of a browser, made of a good token inside a transaction."""
    actor, digest = actor_of_token(connection, token), digest_of_token(token)
    connection.execute(delete(LOGIN).where(LOGIN.c.expires_at <= now()))
    is_open = (LOGIN.c.token == digest, LOGIN.c.ended_at.is_(None))
    newest = select(LOGIN.c.hash).where(*is_open).order_by(LOGIN.c.created_at.desc())
    kept = list(connection.execute(newest.limit(MOST_SESSIONS - 1)).scalars())
    if len(kept) == MOST_SESSIONS - 1:
        connection.execute(delete(LOGIN).where(*is_open, LOGIN.c.hash.not_in(kept)))
    secret = secrets.token_urlsafe(_BYTES)
    until = _expiry(datetime.now(UTC) + timedelta(days=SESSION_DAYS))
    own = digest_of_token(secret)
    values = {"hash": own, "token": digest, "address": address[:64], "created_at": now(),
              "expires_at": until}  # fmt: skip
    connection.execute(insert(LOGIN).values(values))
    details = {"session": own[:_ID], "address": address[:64]}
    record(connection, [Change(actor.name, "logged in", f"account:{actor.name}", details=details)])
    return secret


def actor_of_session(connection: Connection, secret: str) -> Actor:
    """Whose session it is; raises PermissionDeniedError when it, its token or account ended."""
    query = select(LOGIN.c.token).where(
        LOGIN.c.hash == digest_of_token(secret), LOGIN.c.ended_at.is_(None),
        LOGIN.c.expires_at > now(),
    )  # fmt: skip
    token = connection.execute(query).scalar()
    if token is None:
        raise PermissionDeniedError("session, got one that has ended. Log in again.")
    return actor_of_digest(connection, str(token))


def end_session(connection: Connection, secret: str) -> None:
    """Log a browser out, inside a transaction; a session that has ended already stays so."""
    digest = digest_of_token(secret)
    query = select(TOKEN.c.account).join(LOGIN, LOGIN.c.token == TOKEN.c.hash)
    name = connection.execute(query.where(LOGIN.c.hash == digest)).scalar()
    if name is not None and _end(connection, LOGIN.c.hash == digest):
        details = {"session": digest[:_ID]}
        record(connection, [Change(name, "logged out", f"account:{name}", details=details)])


def end_sessions(
    connection: Connection, name: str, *, by: Actor, session: str | None = None
) -> int:
    """End the sessions of an account, or the one with this id, inside a transaction; how many."""
    _check_owner(by, name)
    account(connection, name)
    chosen: ColumnElement[bool] = LOGIN.c.token.in_(_hashes_of(name))
    if session is not None:
        chosen &= func.substr(LOGIN.c.hash, 1, _ID) == session
    ended = _end(connection, chosen)
    if session is not None and not ended:
        raise CatalogError(f"session {session[:80]!r} of {name!r} is not open. List them first.")
    if ended:
        details = {"session": session, "ended": ended}
        record(connection, [Change(by.name, "sessions ended", f"account:{name}", details=details)])
    return ended


def sessions(connection: Connection, name: str) -> list[LoginSession]:
    """The open sessions of an account, the newest last."""
    query = (
        select(LOGIN, TOKEN.c.account, TOKEN.c.label)
        .join(TOKEN, LOGIN.c.token == TOKEN.c.hash)
        .join(ACCOUNT, ACCOUNT.c.name == TOKEN.c.account)
        .where(TOKEN.c.account == name, LOGIN.c.ended_at.is_(None), LOGIN.c.expires_at > now(),
               TOKEN.c.revoked_at.is_(None), ACCOUNT.c.disabled.is_(False))
        .order_by(LOGIN.c.created_at)
    )  # fmt: skip
    return [
        LoginSession(str(row.hash)[:_ID], row.account, row.label, row.address, row.created_at,
                     row.expires_at)
        for row in connection.execute(query)
    ]  # fmt: skip


def recover_token(database: Database, name: str) -> str:
    """A new token for an admin who has lost theirs, for whoever owns the file of the catalogue.

    They could write anything into it. A catalogue on a server has no such owner: raises
    PermissionDeniedError there and for everybody else.
    """
    user = system_user()
    if not database.is_sqlite or not _owns(Path(str(database.url.database))):
        raise PermissionDeniedError(
            f"to recover a token, got {user!r}; expected the owner of a catalogue in a file. "
            "Ask another admin for a token: corporeal account token NAME."
        )
    with database.write() as connection:
        if account(connection, name).role != "admin":
            raise CatalogError(f"account {name!r} is no admin; expected one. An admin makes it.")
        label = f"recovered {now()[:19]}"
        secret = new_token(connection, name, label, by=Actor(name, "admin"))
        details = {"label": label}
        record(connection, [Change(user, "token recovered", f"account:{name}", details=details)])
    return secret


def actor_of_token(connection: Connection, token: str) -> Actor:
    """Whose token it is; raises PermissionDeniedError without repeating the token."""
    if not _SECRET.fullmatch(token):
        raise PermissionDeniedError(f"token, got something else; expected {PREFIX} and 43 letters.")
    return actor_of_digest(connection, digest_of_token(token))


def actor_of_digest(connection: Connection, digest: str) -> Actor:
    """Whose token has this hash, as a session remembers it; raises PermissionDeniedError."""
    query = select(TOKEN, ACCOUNT.c.role, ACCOUNT.c.disabled).join(
        ACCOUNT, ACCOUNT.c.name == TOKEN.c.account
    )
    row = connection.execute(query.where(TOKEN.c.hash == digest)).first()
    # The search may take longer for some hashes; the last word is a comparison that does not.
    if row is None or not hmac.compare_digest(str(row.hash), digest):
        raise PermissionDeniedError("token, got one that is not known. Ask an admin for a new one.")
    if row.revoked_at is not None:
        raise PermissionDeniedError("token, got one that was revoked. Ask an admin for a new one.")
    if row.expires_at is not None and row.expires_at <= now():
        raise PermissionDeniedError("token, got one that has expired. Ask an admin for a new one.")
    if row.disabled:
        raise PermissionDeniedError("token, got one of a disabled account. Ask an admin.")
    return Actor(row.account, check_role(row.role))


def current_actor(connection: Connection, *, environment: Mapping[str, str] | None = None) -> Actor:
    """Who works in a workspace from its own machine.

    Without accounts it is the user of the operating system, as admin: a laptop needs no log-in.
    With accounts it is the owner of CORPOREAL_TOKEN; everyone else may look.
    """
    around = os.environ if environment is None else environment
    user = system_user()
    if not has_accounts(connection):
        return Actor(user, "admin")
    if token := around.get(TOKEN_VARIABLE):
        return actor_of_token(connection, token.strip())
    return Actor(user, "viewer", guest=True)


def system_user() -> str:
    """The user of the operating system, as the audit log may have it."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        name = "local"
    return re.sub(r"[^A-Za-z0-9._@-]", "_", name)[:64] or "local"


def _check_owner(by: Actor, name: str) -> None:
    """People may make and end tokens of their own; for others it takes an admin."""
    if by.guest or by.name != name:
        require(by, "account")


def has_accounts(connection: Connection) -> bool:
    """Whether anybody has to say who they are."""
    return connection.execute(select(ACCOUNT.c.name).limit(1)).first() is not None


def digest_of_token(token: str) -> str:
    """What the catalogue has instead of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _expiry(expires: datetime | None) -> str | None:
    if expires is None:
        return None
    if expires.tzinfo is None or expires <= datetime.now(UTC):
        raise CatalogError(f"expiry, got {expires}; expected a later time, with its time zone.")
    until = expires.astimezone(UTC).isoformat(timespec="microseconds")
    return until.replace("+00:00", "Z")


def _hashes_of(name: str) -> Select[tuple[str]]:
    return select(TOKEN.c.hash).where(TOKEN.c.account == name)


def _end(connection: Connection, which: ColumnElement[bool]) -> int:
    """End the open sessions among these; how many there were."""
    is_open = (which, LOGIN.c.ended_at.is_(None), LOGIN.c.expires_at > now())
    return connection.execute(update(LOGIN).where(*is_open).values(ended_at=now())).rowcount


def _owns(path: Path) -> bool:
    user = os.geteuid()
    return user in (0, path.stat().st_uid)


def _admins(connection: Connection) -> list[str]:
    """Names of admins in use; their rows are held until the transaction ends."""
    query = select(ACCOUNT.c.name).where(ACCOUNT.c.role == "admin", ACCOUNT.c.disabled.is_(False))
    return list(connection.execute(query.with_for_update()).scalars())


def _keep_an_admin(connection: Connection, name: str) -> None:
    if not set(_admins(connection)) - {name}:
        raise CatalogError(f"account {name!r} is the last admin; expected another one to stay.")
