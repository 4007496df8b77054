"""Versions say what changed, and never less."""

from __future__ import annotations

import pytest

from corporeal.catalog.database import CatalogError
from corporeal.release.version import (
    Version,
    check_name,
    decide_version,
    split_reference,
    step_between,
)


def test_numbers_are_compared_as_numbers() -> None:
    assert Version.parse("1.10.0") > Version.parse("1.9.3")


@pytest.mark.parametrize(
    "text", ["1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0\n", "1.-1.0", "٣.0.0"]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(CatalogError, match="three numbers such as"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("change", "expected"), [("major", "3.0.0"), ("minor", "2.4.0"), ("patch", "2.3.2")]
)
def test_the_smallest_version_that_says_enough_is_proposed(change: str, expected: str) -> None:
    latest = Version(2, 3, 1)
    assert str(decide_version(None, latest, change)) == expected  # type: ignore[arg-type]


def test_a_version_that_promises_too_little_is_refused() -> None:
    with pytest.raises(CatalogError, match=r"expected 2\.0\.0 or higher, because this is a major"):
        decide_version("1.5.0", Version(1, 4, 0), "major")
    assert str(decide_version("3.0.0", Version(1, 4, 0), "minor")) == "3.0.0"


def test_a_version_that_was_given_is_refused() -> None:
    with pytest.raises(CatalogError, match=r"got 1\.4\.0 after 1\.4\.0"):
        decide_version("1.4.0", Version(1, 4, 0), "patch")


@pytest.mark.parametrize("name", ["../x", "a/b", "", "Walks", "a@b", "x" * 65, "a\n"])
def test_a_name_that_could_leave_its_folder_is_refused(name: str) -> None:
    with pytest.raises(CatalogError, match="name of a release"):
        check_name(name)


def test_a_reference_has_a_name_and_maybe_a_version() -> None:
    assert split_reference("walks@1.2.3") == ("walks", Version(1, 2, 3))
    assert split_reference("walks") == ("walks", None)
    assert step_between(Version(1, 2, 3), Version(1, 3, 0)) == "minor"
