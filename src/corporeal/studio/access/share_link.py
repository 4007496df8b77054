"""Links that show some episodes to whoever has them, and nothing else, until a day."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, Row, insert, select, update

from corporeal.catalog.accounts import Account, accounts
from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.episodes import UnknownEpisodeError, states_of
from corporeal.catalog.permission import Actor, Grants, grant, may, require
from corporeal.catalog.tables import SHARE
from corporeal.errors import CorporealError, UnknownNameError

MOST_EPISODES, MOST_DAYS, LONGEST_ADDRESS, LONGEST_LABEL = 50, 366, 2000, 120
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_ID = 16
_COLUMNS = ("label", "address", "created_by", "created_at", "expires_at", "revoked_at")


@dataclass(frozen=True)
class ShareLink:
    """A link: never its secret. `id` is the beginning of the secret's hash."""

    id: str
    label: str
    address: str
    episodes: tuple[str, ...]
    created_by: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None

    @property
    def is_open(self) -> bool:
        """Whether it still shows anything."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now())


def make_share(
    connection: Connection,
    episodes: Sequence[str],
    *,
    address: str,
    label: str,
    days: int,
    by: Actor,
) -> tuple[str, ShareLink]:
    """A new link, inside a transaction: its secret, which is shown once, and what is stored."""
    require(by, "share")
    wanted = tuple(dict.fromkeys(episodes))
    _check_episodes(connection, wanted)
    secret = secrets.token_urlsafe(32)
    until = datetime.now(UTC) + timedelta(days=days)
    digest = _digest(secret)
    connection.execute(
        insert(SHARE).values(
            hash=digest,
            label=label,
            address=checked_address(address),
            episodes=list(wanted),
            created_by=by.name,
            created_at=now(),
            expires_at=until.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        )
    )
    made = _share(connection.execute(select(SHARE).where(SHARE.c.hash == digest)).one())
    details = {"episodes": list(wanted), "expires_at": made.expires_at, "label": label}
    record(connection, [Change(by.name, "share made", f"share:{made.id}", details=details)])
    return secret, made


def shares(connection: Connection, *, by: Actor, episode: str | None = None) -> list[ShareLink]:
    """The links that are open, the newest first: one's own, and for those who verify, all."""
    query = select(SHARE).where(SHARE.c.revoked_at.is_(None)).order_by(SHARE.c.created_at.desc())
    if not may(by, "verify"):
        query = query.where(SHARE.c.created_by == by.name)
    found = [_share(row) for row in connection.execute(query.limit(2000))]
    return [
        each for each in found if each.is_open and (episode is None or episode in each.episodes)
    ]


def revoke_share(connection: Connection, name: str, *, by: Actor) -> None:
    """End a link, inside a transaction; one's own, or as a lead anybody's."""
    there = {each.id: each for each in shares(connection, by=by)}
    if name not in there:
        raise UnknownNameError("share", name[:80], list(there)[:10])
    query = update(SHARE).where(SHARE.c.hash.startswith(name, autoescape=True))
    connection.execute(query.values(revoked_at=now()))
    record(connection, [Change(by.name, "share revoked", f"share:{name}")])


def open_shares(
    connection: Connection, secrets_given: Iterable[str], grants: Grants
) -> list[ShareLink]:
    """The links of these secrets that still show something.

    A link is as good as its maker: it shows nothing while their account is disabled, or when they
    may share no more. Links from before there were accounts have no such maker.
    """
    digests = [_digest(each) for each in secrets_given if _SECRET.fullmatch(each)]
    if not digests:
        return []
    rows = connection.execute(select(SHARE).where(SHARE.c.hash.in_(digests)))
    links = [link for link in map(_share, rows) if link.is_open]
    makers = {account.name: account for account in accounts(connection)} if links else {}
    return [link for link in links if _may_still_share(makers.get(link.created_by), grants)]


def _may_still_share(maker: Account | None, grants: Grants) -> bool:
    if maker is None:
        return True
    actor = grant(Actor(maker.name, maker.role), grants)
    return not maker.disabled and may(actor, "share")


def checked_address(address: str) -> str:
    """A path of Studio; raises for anything that would lead elsewhere."""
    parts = urlsplit(address)
    is_plain = address.isascii() and address.isprintable() and "\\" not in address
    is_path = address.startswith("/") and not address.startswith(("//", "/api", "/s/"))
    if not is_plain or not is_path or parts.scheme or parts.netloc:
        raise CorporealError(
            f"address of a share, got {address[:80]!r}; expected a path of Studio such as "
            "/episodes/ID?t=1200000000."
        )
    return address


def _check_episodes(connection: Connection, wanted: Sequence[str]) -> None:
    states = states_of(connection, wanted)
    for name in wanted:
        if states.get(name, "erased") == "erased":
            raise UnknownEpisodeError(
                f"episode {name[:120]!r} is not in the catalogue. Share one that is."
            )


def _share(row: Row[Any]) -> ShareLink:
    facts = row._mapping
    return ShareLink(
        id=str(facts["hash"])[:_ID],
        episodes=tuple(str(each) for each in facts["episodes"]),
        **{name: facts[name] for name in _COLUMNS},
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
