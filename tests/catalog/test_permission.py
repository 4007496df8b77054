"""One table says who may do what."""

from __future__ import annotations

from typing import get_args

import pytest

from corporeal.catalog.permission import (
    PERMISSIONS,
    ROLES,
    Action,
    Actor,
    PermissionDeniedError,
    Role,
    may,
    require,
)
from corporeal.errors import UnknownNameError

# Written out by hand, so that a change of the table is seen here.
EXPECTED: dict[Role, set[str]] = {
    "viewer": {"read"},
    "operator": {"read", "ingest", "export"},
    "annotator": {"read", "ingest", "export", "annotate"},
    "lead": {"read", "ingest", "export", "annotate", "judge", "release", "verify"},
    "admin": set(get_args(Action)),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("action", PERMISSIONS)
def test_every_role_may_do_its_actions_and_no_others(role: Role, action: Action) -> None:
    actor = Actor("ann", role)
    allowed = action in EXPECTED[role]
    assert may(actor, action) == allowed
    if allowed:
        require(actor, action)
    else:
        with pytest.raises(PermissionDeniedError, match=f"to {action}, got 'ann' with role {role}"):
            require(actor, action)


def test_every_action_is_in_the_table() -> None:
    assert set(PERMISSIONS) == set(get_args(Action))


def test_a_guest_is_told_how_to_sign_in() -> None:
    with pytest.raises(PermissionDeniedError, match="CORPOREAL_TOKEN"):
        require(Actor("someone", "viewer", guest=True), "ingest")


def test_an_unknown_action_or_role_allows_nothing() -> None:
    with pytest.raises(UnknownNameError, match="unknown action"):
        require(Actor("ann", "admin"), "everything")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown role"):
        require(Actor("ann", "root"), "read")  # type: ignore[arg-type]
