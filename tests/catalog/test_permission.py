"""One table says who may do what."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import (
    ACTIONS,
    GRANTABLE,
    PERMISSIONS,
    ROLES,
    Action,
    Actor,
    PermissionDeniedError,
    Role,
    describe_roles,
    grant,
    may,
    read_grants,
    require,
)
from corporeal.catalog.workspace import FILE, make_workspace, open_workspace
from corporeal.errors import UnknownNameError

# Written out by hand, so that a change of the table is seen here.
EXPECTED: dict[Role, set[str]] = {
    "viewer": {"read"},
    "operator": {"read", "ingest", "export", "share"},
    "annotator": {"read", "annotate"},
    "lead": {"read", "ingest", "export", "share", "annotate", "judge", "release", "verify"},
    "admin": set(get_args(Action)),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("action", ACTIONS)
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
    assert set(ACTIONS) == set(get_args(Action))
    assert set(PERMISSIONS) == set(ROLES)
    assert set().union(*PERMISSIONS.values()) == set(ACTIONS)


def test_a_guest_is_told_how_to_sign_in() -> None:
    with pytest.raises(PermissionDeniedError, match="CORPOREAL_TOKEN"):
        require(Actor("someone", "viewer", guest=True), "ingest")


def test_an_unknown_action_or_role_allows_nothing() -> None:
    with pytest.raises(UnknownNameError, match="unknown action"):
        require(Actor("ann", "admin"), "everything")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown role"):
        require(Actor("ann", "root"), "read")  # type: ignore[arg-type]


def test_a_workspace_may_let_annotators_take_data_out_and_guests_get_nothing_of_it(
    tmp_path: Path,
) -> None:
    with make_workspace(tmp_path / "lab") as workspace:
        assert not may(grant(Actor("ann", "annotator"), workspace.grants), "export")
    path = tmp_path / "lab" / FILE
    path.write_text(path.read_text() + '\n[roles]\nannotator = ["export"]\n')
    with open_workspace(tmp_path / "lab") as workspace:
        ann = grant(Actor("ann", "annotator"), workspace.grants)
        assert may(ann, "export")
        assert not may(ann, "share")
        assert not may(grant(Actor("bo", "viewer"), workspace.grants), "export")
        guest = grant(Actor("x", "annotator", guest=True), workspace.grants)
        assert not may(guest, "export")


@pytest.mark.parametrize(
    "wrong", [{"annotator": ["account"]}, {"viewer": "export"}, {"annotator": ["read", 3]}, []]
)
def test_a_workspace_cannot_give_away_what_is_a_leads_or_an_admins(wrong: object) -> None:
    with pytest.raises(CatalogError, match=r"expected a (list of ingest|section)"):
        read_grants(wrong, "corporeal.toml")
    assert not {"judge", "release", "verify", "erase", "account", "migrate"} & set(GRANTABLE)


@pytest.mark.parametrize("page", ["guides/workspace.md", "security.md"])
def test_the_documents_have_the_table_of_roles_as_the_program_has_it(page: str) -> None:
    path = Path(__file__).parents[2] / "docs" / page
    assert describe_roles() in path.read_text("utf-8"), "paste what describe_roles() gives"
