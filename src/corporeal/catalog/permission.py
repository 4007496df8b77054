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


PrivacyMode = Literal["data-only", "self", "managed"]
PRIVACY_MODES: Mapping[PrivacyMode, str] = {
    "data-only": "nobody sees figures of single operators; the data alone is judged",
    "self": "operators see their own figures, others see groups of at least five people",
    "managed": "leads and admins see figures of single operators, for a recorded purpose",
}
"""What a workspace may say of figures of single people."""
LEAST_PEOPLE = 5
"""People of a group whose figures may be shown without showing anybody's own."""
_MANAGERS: frozenset[Role] = frozenset(("lead", "admin"))


class PermissionDeniedError(CatalogError):
    """An actor asks for something that takes another role."""


class PersonHiddenError(PermissionDeniedError):
    """An actor asks for figures of single people that the workspace does not show them."""


@dataclass(frozen=True)
class Actor:
    """Who does something; `name` is what the audit log says. `guest`: nobody has vouched.

    `granted` is what the workspace lets their role do besides. `privacy` is the workspace's mode
    for figures of people, and `operator` the pseudonym of whoever this is, where they are one.
    """

    name: str
    role: Role
    guest: bool = False
    granted: frozenset[Action] = frozenset()
    privacy: PrivacyMode = "data-only"
    operator: str | None = None


def sees_everybody(actor: Actor) -> bool:
    """Whether figures of any single operator may be shown to this actor."""
    return actor.privacy == "managed" and actor.role in _MANAGERS and not actor.guest


def sees_person(actor: Actor, operator: str | None) -> bool:
    """Whether figures of this operator may be shown to this actor: their own, or anybody's."""
    is_own = operator is not None and operator == actor.operator and not actor.guest
    return sees_everybody(actor) or (is_own and actor.privacy != "data-only")


def sees_group(actor: Actor, people: int) -> bool:
    """Whether figures of so many operators together may be shown to this actor."""
    if sees_everybody(actor):
        return True
    return actor.privacy != "data-only" and people >= LEAST_PEOPLE and not actor.guest


def require_person(actor: Actor, operator: str | None, *, what: str) -> None:
    """Raise PersonHiddenError unless this operator's figures, or all for None, may be shown."""
    if not (sees_everybody(actor) if operator is None else sees_person(actor, operator)):
        raise PersonHiddenError(f"{what}: {why_hidden(actor)}")


def why_hidden(actor: Actor) -> str:
    """Why figures of single people are not shown to this actor, and what would show them."""
    mode = actor.privacy
    said = f"not shown, since the privacy mode of this workspace is {mode}: {PRIVACY_MODES[mode]}."
    if mode == "managed":
        return f"{said} Your role is {actor.role}; ask a lead."
    if mode == "self" and actor.operator is None:
        return f"{said} Your account is no operator's. Ask a lead to join them."
    if mode == "self":
        return f"{said} Yours is {actor.operator}."
    return f"{said} An admin changes it: corporeal operator privacy."


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
