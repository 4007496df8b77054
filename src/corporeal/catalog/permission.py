"""Who may do what: one table of roles, each a set of actions, and what a workspace adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from corporeal.catalog.database import CatalogError
from corporeal.errors import UnknownNameError

Role = Literal["viewer", "operator", "annotator", "lead", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

Action = Literal[
    "read", "ingest", "export", "share", "annotate", "judge", "release", "verify", "erase",
    "account", "migrate",
]  # fmt: skip
ACTIONS: Mapping[Action, str] = {
    "read": "list, look at and play episodes; see releases, lineage and figures",
    "ingest": "record and put episodes in; make batches of them",
    "export": "copy data out: recorded files, other formats, the catalogue as Parquet",
    "share": "make links that show episodes to people without an account",
    "annotate": "add and correct labels; decide in reviews",
    "judge": "change the state of an episode; make queues and reviews; decide between people",
    "release": "make a release",
    "verify": "read the audit log, check every object, end share links of others",
    "erase": "remove an episode for good",
    "account": "add, disable and change accounts; make and end tokens and sessions of others",
    "migrate": "change the catalogue's tables, or carry it to other servers",
}
"""Every action in words, as the documents have them."""

_COLLECT: frozenset[Action] = frozenset(("read", "ingest", "export", "share"))
_LEAD: frozenset[Action] = _COLLECT | frozenset(("annotate", "judge", "release", "verify"))
PERMISSIONS: Mapping[Role, frozenset[Action]] = {
    "viewer": frozenset(("read",)),
    "operator": _COLLECT,
    # Often people from outside: they see what they label, and take nothing with them.
    "annotator": frozenset(("read", "annotate")),
    "lead": _LEAD,
    "admin": frozenset(ACTIONS),
}
GRANTABLE: tuple[Action, ...] = ("ingest", "export", "share", "annotate")
"""What a workspace may add to a role; all else stays with leads and admins."""
Grants = Mapping[Role, frozenset[Action]]


class PermissionDeniedError(CatalogError):
    """An actor asks for something that takes another role."""


@dataclass(frozen=True)
class Actor:
    """Who does something; `name` is what the audit log says. `guest`: nobody has vouched.

    `granted` is what the workspace lets their role do besides.
    """

    name: str
    role: Role
    guest: bool = False
    granted: frozenset[Action] = frozenset()


def may(actor: Actor, action: Action) -> bool:
    """Whether the actor's role, or the workspace, allows an action."""
    if action not in ACTIONS:
        raise UnknownNameError("action", action, ACTIONS)
    return action in PERMISSIONS[check_role(actor.role)] or action in actor.granted


def require(actor: Actor, action: Action) -> None:
    """Raise PermissionDeniedError unless the actor may do this."""
    if may(actor, action):
        return
    needed = [role for role in ROLES if action in PERMISSIONS[role]]
    mend = "Set CORPOREAL_TOKEN to a token of yours" if actor.guest else "Ask an admin for the role"
    raise PermissionDeniedError(
        f"to {action}, got {actor.name!r} with role {actor.role}; "
        f"expected {' or '.join(needed)}. {mend}."
    )


def grant(actor: Actor, grants: Grants) -> Actor:
    """The actor with what the workspace adds to their role; guests get nothing of it."""
    added = grants.get(actor.role, frozenset())
    return actor if actor.guest or not added else replace(actor, granted=added)


def read_grants(values: Any, where: str) -> Grants:
    """The section [roles] of a workspace: a role and the actions that it is given besides.

    Raises CatalogError where it names an action that no workspace can give away.
    """
    if not isinstance(values, Mapping):
        raise CatalogError(f"{where}: roles, got a value; expected a section [roles].")
    grants: dict[Role, frozenset[Action]] = {}
    for name, actions in values.items():
        role = check_role(str(name))
        known = [action for action in GRANTABLE if isinstance(actions, list) and action in actions]
        if not isinstance(actions, list) or len(known) != len(actions):
            raise CatalogError(
                f"{where}: roles.{role}, got {actions!r:.80}; expected a list of "
                f"{', '.join(GRANTABLE)}."
            )
        grants[role] = frozenset(known)
    return grants


def describe_roles() -> str:
    """The table of actions and roles in Markdown, as the guide has it."""
    lines = [f"| action | {' | '.join(ROLES)} |", f"|---|{'---|' * len(ROLES)}"]
    for action, words in ACTIONS.items():
        cells = ("yes" if action in PERMISSIONS[role] else "" for role in ROLES)
        lines.append(f"| `{action}`: {words} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def check_role(role: str) -> Role:
    """The role of this name; raises UnknownNameError with the list of them."""
    for known in ROLES:
        if known == role:
            return known
    raise UnknownNameError("role", role[:80], ROLES)
