"""Taxonomies as the catalogue keeps them: every version that a label refers to, by its hash."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import Connection, insert, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import DOCUMENT
from corporeal.errors import UnknownNameError
from corporeal.labelling.taxonomy.document import Taxonomy, open_taxonomy, taxonomy_names


def keep_taxonomy(connection: Connection, taxonomy: Taxonomy) -> str:
    """Store a taxonomy unless it is there, inside a transaction; its hash."""
    digest = taxonomy.hash
    there = select(DOCUMENT.c.hash).where(DOCUMENT.c.hash == digest)
    if connection.execute(there).first() is None:
        connection.execute(
            insert(DOCUMENT).values(
                hash=digest, kind=Taxonomy.kind, name=taxonomy.name, version=taxonomy.version,
                text=taxonomy.canonical(),
            )
        )  # fmt: skip
    return digest


def kept_taxonomy(connection: Connection, digest: str) -> Taxonomy:
    """The taxonomy with this hash; raises CatalogError when it was never used here."""
    query = select(DOCUMENT.c.text).where(
        DOCUMENT.c.hash == digest, DOCUMENT.c.kind == Taxonomy.kind
    )
    text = connection.execute(query).scalar()
    if text is None:
        raise CatalogError(
            f"taxonomy, got {digest[:80]!r}, which is not in the catalogue; expected one that "
            "tasks or labels refer to."
        )
    return _parsed(str(text))


def kept_taxonomies(connection: Connection) -> list[Taxonomy]:
    """Every taxonomy that was used, in the order of name and version."""
    query = select(DOCUMENT.c.text).where(DOCUMENT.c.kind == Taxonomy.kind)
    found = [_parsed(str(text)) for text in connection.execute(query).scalars()]
    return sorted(found, key=lambda each: (each.name, _numbers(each.version), each.hash))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split("."))


@lru_cache(maxsize=64)
def _parsed(text: str) -> Taxonomy:
    return Taxonomy.parse(text, source="catalogue", suffix=".json")


def usable_taxonomies(connection: Connection) -> list[Taxonomy]:
    """Every taxonomy that can be used, the newest version of each name first."""
    found = {each.reference: each for each in map(open_taxonomy, taxonomy_names())}
    # What the catalogue keeps counts: labels refer to exactly that text.
    found |= {each.reference: each for each in kept_taxonomies(connection)}
    newest = sorted(found.values(), key=lambda each: _numbers(each.version), reverse=True)
    return sorted(newest, key=lambda each: each.name)


def find_taxonomy(connection: Connection, reference: str) -> Taxonomy:
    """The taxonomy of name@version; raises UnknownNameError with the list of them."""
    known = {each.reference: each for each in usable_taxonomies(connection)}
    if reference not in known:
        raise UnknownNameError("taxonomy", reference[:120], list(known))
    return known[reference]
