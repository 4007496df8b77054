"""Who may do what: one table of actions and the role that each of them takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from corporeal.catalog.database import CatalogError
from corporeal.errors import UnknownNameError

Role = Literal["viewer", "operator", "annotator", "lead", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the least to the most; each may do what those before it may."""

Action = Literal[
    "read", "ingest", "export", "annotate", "judge", "release", "verify", "erase", "account",
    "migrate",
]  # fmt: skip
PERMISSIONS: Mapping[Action, Role] = {
    # List, look at and play episodes; see releases, lineage and figures.
    "read": "viewer",
    # Record and put episodes in; make batches of them.
    "ingest": "operator",
    # Copy data out in another format, and the catalogue as Parquet.
    "export": "operator",
    # Add and correct labels.
    "annotate": "annotator",
    # Change the state of an episode against or without a verdict.
    "judge": "lead",
    # Make a release.
    "release": "lead",
    # Read the audit log and check every object.
    "verify": "lead",
    # Remove an episode for good.
    "erase": "admin",
    # Add, disable and change accounts, and make tokens for others.
    "account": "admin",
    # Change the catalogue's tables, or carry it to other servers.
    "migrate": "admin",
}


class PermissionDeniedError(CatalogError):
    """An actor asks for something that takes a higher role."""


@dataclass(frozen=True)
class Actor:
    """Who does something; `name` is what the audit log says. `guest`: nobody has vouched."""

    name: str
    role: Role
    guest: bool = False


def may(actor: Actor, action: Action) -> bool:
    """Whether the actor's role is enough for an action."""
    if action not in PERMISSIONS:
        raise UnknownNameError("action", action, PERMISSIONS)
    return ROLES.index(check_role(actor.role)) >= ROLES.index(PERMISSIONS[action])


def require(actor: Actor, action: Action) -> None:
    """Raise PermissionDeniedError unless the actor may do this."""
    if may(actor, action):
        return
    needed = ROLES[ROLES.index(PERMISSIONS[action]) :]
    mend = (
        "Set CORPOREAL_TOKEN to a token of yours, or name your account"
        if actor.guest
        else "Ask an admin for the role"
    )
    raise PermissionDeniedError(
        f"to {action}, got {actor.name!r} with role {actor.role}; "
        f"expected {' or '.join(needed)}. {mend}."
    )


def check_role(role: str) -> Role:
    """The role of this name; raises UnknownNameError with the list of them."""
    for known in ROLES:
        if known == role:
            return known
    raise UnknownNameError("role", role[:80], ROLES)
