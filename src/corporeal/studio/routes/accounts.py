"""Who may work here, with which tokens, and in which browsers they are logged in; for admins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.catalog.accounts import (
    Account,
    account,
    accounts,
    add_account,
    change_role,
    end_sessions,
    has_accounts,
    new_token,
    revoke_token,
    sessions,
    set_disabled,
    tokens,
)
from corporeal.catalog.permission import ACTIONS, PERMISSIONS, ROLES
from corporeal.studio.authentication import AccountAdmin
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["accounts"])
FIRST_DAYS = 90
Words = Annotated[str, Field(max_length=500)]


class TokenFacts(BaseModel):
    """A token without its secret."""

    label: str
    created_at: str
    expires_at: str | None


class SessionFacts(BaseModel):
    """A browser that is logged in."""

    id: str
    label: str
    address: str
    created_at: str
    expires_at: str


class AccountFacts(BaseModel):
    """An account with all that lets somebody in by it: tokens in use and open sessions."""

    name: str
    role: str
    created_at: str
    disabled: bool
    tokens: list[TokenFacts]
    sessions: list[SessionFacts]


class RoleFacts(BaseModel):
    """A role and what it may do, in words."""

    name: str
    may: list[str]


class AccountList(BaseModel):
    """Everybody who may work here, and the roles there are."""

    accounts: list[AccountFacts]
    roles: list[RoleFacts]


class NewAccount(BaseModel):
    """Whom to add."""

    name: str = Field(min_length=1, max_length=64)
    role: str = Field(max_length=20)


class MadeAccount(BaseModel):
    """A new account; the first one comes with a token, as nobody could log in to make it."""

    account: AccountFacts
    token: str | None


class AccountChange(BaseModel):
    """What is to be different, and why."""

    role: str | None = Field(default=None, max_length=20)
    disabled: bool | None = None
    why: Words | None = None


class NewToken(BaseModel):
    """What a token is for, and for how many days it is good."""

    label: str = Field(min_length=1, max_length=80)
    days: int = Field(default=90, ge=1, le=3650)


class MadeToken(BaseModel):
    """A new token, shown this once."""

    token: str


@ROUTER.get("/accounts")
def list_accounts(studio: StudioDep, _: AccountAdmin) -> AccountList:
    """Every account with its tokens and sessions."""
    with studio.workspace.database.read() as connection:
        known = [_facts(connection, each) for each in accounts(connection)]
    roles = [
        RoleFacts(name=role, may=[ACTIONS[each] for each in ACTIONS if each in PERMISSIONS[role]])
        for role in ROLES
    ]
    return AccountList(accounts=known, roles=roles)


@ROUTER.post("/accounts", status_code=201)
def add(wish: NewAccount, studio: StudioDep, actor: AccountAdmin) -> MadeAccount:
    """Add an account; from the first one on, everybody has to log in."""
    with studio.workspace.database.write() as connection:
        is_first = not has_accounts(connection)
        made = add_account(connection, wish.name, wish.role, by=actor)
        until = datetime.now(UTC) + timedelta(days=FIRST_DAYS)
        token = new_token(connection, made.name, "browser", until, by=actor) if is_first else None
        return MadeAccount(account=_facts(connection, made), token=token)


@ROUTER.patch("/accounts/{name}")
def change(name: str, wish: AccountChange, studio: StudioDep, actor: AccountAdmin) -> AccountFacts:
    """Another role, or shut and opened again; it counts from the next request on."""
    with studio.workspace.database.write() as connection:
        if wish.role is not None:
            change_role(connection, name, wish.role, by=actor, why=wish.why)
        if wish.disabled is not None:
            set_disabled(connection, name, wish.disabled, by=actor, why=wish.why)
        return _facts(connection, account(connection, name))


@ROUTER.post("/accounts/{name}/tokens", status_code=201)
def make_token(name: str, wish: NewToken, studio: StudioDep, actor: AccountAdmin) -> MadeToken:
    """Make a token; it is told this once."""
    until = datetime.now(UTC) + timedelta(days=wish.days)
    with studio.workspace.database.write() as connection:
        return MadeToken(token=new_token(connection, name, wish.label, until, by=actor))


@ROUTER.delete("/accounts/{name}/tokens", status_code=204)
def end_token(
    name: str,
    label: Annotated[str, Query(min_length=1, max_length=80)],
    studio: StudioDep,
    actor: AccountAdmin,
) -> None:
    """End a token and the sessions that were made of it."""
    with studio.workspace.database.write() as connection:
        revoke_token(connection, name, label, by=actor)


@ROUTER.delete("/accounts/{name}/sessions", status_code=204)
def end_browser_sessions(
    name: str,
    studio: StudioDep,
    actor: AccountAdmin,
    session: Annotated[str | None, Query(max_length=80)] = None,
) -> None:
    """Log an account out of one browser, or of all."""
    with studio.workspace.database.write() as connection:
        end_sessions(connection, name, by=actor, session=session)


def _facts(connection: Connection, known: Account) -> AccountFacts:
    return AccountFacts(
        **vars(known),
        tokens=[
            TokenFacts(label=each.label, created_at=each.created_at, expires_at=each.expires_at)
            for each in tokens(connection, known.name)
            if each.revoked_at is None
        ],
        sessions=[
            SessionFacts(id=each.id, label=each.label, address=each.address,
                         created_at=each.created_at, expires_at=each.expires_at)
            for each in sessions(connection, known.name)
        ],
    )  # fmt: skip
