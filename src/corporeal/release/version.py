"""The version of a release, and what a change of each of its three numbers promises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from corporeal.catalog.database import CatalogError

Change = Literal["first", "major", "minor", "patch"]
MEANING: dict[Change, str] = {
    "first": "the first of its name",
    "major": "another schema, robot or order of joints: what reads the old one may not read this",
    "minor": "other episodes or splits, read in the same way",
    "patch": "the same episodes in the same splits; only what is said of them has changed",
}
_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, order=True)
class Version:
    """Three numbers; `str` gives them with dots."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `1.4.0`."""
        match = _VERSION.fullmatch(text)
        if match is None:
            raise CatalogError(f"version, got {text[:40]!r}; expected three numbers such as 1.4.0.")
        return cls(*(int(part) for part in match.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    def after(self, change: Change) -> Version:
        """The next version for such a change."""
        if change == "major":
            return Version(self.major + 1, 0, 0)
        if change == "minor":
            return Version(self.major, self.minor + 1, 0)
        return Version(self.major, self.minor, self.patch + 1)


FIRST = Version(1, 0, 0)


def step_between(old: Version, new: Version) -> Change:
    """Which number has changed, the leftmost one."""
    if old.major != new.major:
        return "major"
    return "minor" if old.minor != new.minor else "patch"


def check_name(name: str) -> str:
    """A release's name; raises CatalogError for one that would not do as a part of a path."""
    if not _NAME.fullmatch(name):
        raise CatalogError(
            f"name of a release, got {name[:80]!r}; expected lower-case letters, digits, _ and -, "
            "at most 64, the first one a letter."
        )
    return name


def split_reference(reference: str) -> tuple[str, Version | None]:
    """The name and the version in `walks@1.4.0`; no version in `walks`, the newest is meant."""
    name, at, version = reference.partition("@")
    return check_name(name), Version.parse(version) if at else None


def decide_version(asked: str | None, latest: Version | None, change: Change) -> Version:
    """The version to give: the one asked for if it promises enough, or the smallest that does."""
    least = FIRST if latest is None else latest.after(change)
    if asked is None:
        return least
    version = Version.parse(asked)
    if latest is not None and version < least:
        raise CatalogError(
            f"version, got {version} after {latest}; expected {least} or higher, because this is a "
            f"{change} change ({MEANING[change]}). Leave the version out to get {least}."
        )
    return version
