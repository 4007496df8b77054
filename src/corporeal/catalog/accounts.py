"""Accounts and their API tokens, of which the catalogue knows only the hash."""

from __future__ import annotations

import getpass
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from sqlalchemy import Connection, insert, select, update

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor, PermissionDeniedError, Role, check_role, require
from corporeal.catalog.tables import ACCOUNT, TOKEN

PREFIX = "crp_"
TOKEN_VARIABLE, ACCOUNT_VARIABLE = "CORPOREAL_TOKEN", "CORPOREAL_ACCOUNT"
_BYTES = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SECRET = re.compile(r"crp_[A-Za-z0-9_-]{43}")
_LABEL = 80


@dataclass(frozen=True)
class Account:
    """A person or a program that may do something."""

    name: str
    role: Role
    created_at: str
    disabled: bool


@dataclass(frozen=True)
class Token:
    """What is known of a token: never the secret, nor its hash."""

    account: str
    label: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None


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
    wanted, held = check_role(role), account(connection, name)
    if wanted == held.role:
        return
    if held.role == "admin":
        _keep_an_admin(connection, name)
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == name).values(role=wanted))
    details = {"from": held.role, "to": wanted}
    record(connection, [Change(by.name, "account role", f"account:{name}", why, details)])


def set_disabled(
    connection: Connection, name: str, disabled: bool, *, by: Actor, why: str | None = None
) -> None:
    """Shut an account, or open it again, inside a transaction; its tokens follow it."""
    require(by, "account")
    held = account(connection, name)
    if held.disabled == disabled:
        return
    if disabled and held.role == "admin":
        _keep_an_admin(connection, name)
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == name).values(disabled=disabled))
    what = "account disabled" if disabled else "account enabled"
    record(connection, [Change(by.name, what, f"account:{name}", why)])


def new_token(
    connection: Connection, name: str, label: str, expires: datetime | None = None, *, by: Actor
) -> str:
    """A new secret for an account, inside a transaction: shown once, stored as its SHA-256.

    While there is no token yet, whoever works on the machine itself makes the first, for an admin:
    nobody could show one.
    """
    held = account(connection, name)
    is_first = connection.execute(select(TOKEN.c.hash).limit(1)).first() is None
    if not (by.guest and is_first and held.role == "admin"):
        _check_owner(by, name)
    if held.disabled:
        raise CatalogError(f"account {name!r} is disabled; expected one in use. Enable it first.")
    if not label.isprintable() or not 0 < len(label) <= _LABEL:
        raise CatalogError(f"token label, got {label[:80]!r}; expected 1 to {_LABEL} characters.")
    if any(each.label == label and not each.revoked_at for each in tokens(connection, name)):
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
    """End a token, inside a transaction."""
    _check_owner(by, name)
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
    query = select(*(TOKEN.c[each.name] for each in fields(Token))).where(TOKEN.c.account == name)
    rows = connection.execute(query.order_by(TOKEN.c.created_at, TOKEN.c.label))
    return [Token(*row) for row in rows]


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


def current_actor(
    connection: Connection,
    *,
    named: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Actor:
    """Who works in a workspace from its own machine.

    Without accounts it is the user of the operating system, as admin: a laptop needs no log-in.
    With accounts it is the owner of CORPOREAL_TOKEN, or else the account that is named here or by
    CORPOREAL_ACCOUNT: whoever can write the database is believed, as it could not be prevented.
    Everyone else may look. A server asks for tokens alone: `actor_of_token`.
    """
    around = os.environ if environment is None else environment
    user = system_user()
    if not has_accounts(connection):
        return Actor(user, "admin")
    if named is None and (token := around.get(TOKEN_VARIABLE)):
        return actor_of_token(connection, token.strip())
    if name := named or around.get(ACCOUNT_VARIABLE):
        held = account(connection, name)
        if held.disabled:
            raise PermissionDeniedError(f"account {name!r} is disabled. Ask an admin.")
        return Actor(held.name, held.role)
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


def _admins(connection: Connection) -> list[str]:
    """Names of admins in use; their rows are held until the transaction ends."""
    query = select(ACCOUNT.c.name).where(ACCOUNT.c.role == "admin", ACCOUNT.c.disabled.is_(False))
    return list(connection.execute(query.with_for_update()).scalars())


def _keep_an_admin(connection: Connection, name: str) -> None:
    if not set(_admins(connection)) - {name}:
        raise CatalogError(f"account {name!r} is the last admin; expected another one to stay.")
