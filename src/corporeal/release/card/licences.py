"""Licences under the names that catalogues of datasets know."""

from __future__ import annotations

# As SPDX writes them, since addresses tell upper case from lower.
_SPDX = (
    "AFL-3.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-2.0", "CC-BY-2.5",
    "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-ND-4.0",
    "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0",
    "CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "ECL-2.0", "EPL-1.0",
    "EPL-2.0", "EUPL-1.1", "EUPL-1.2", "GPL-2.0", "GPL-3.0", "ISC", "LGPL-2.1", "LGPL-3.0", "MIT",
    "MPL-2.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "Unlicense", "WTFPL", "Zlib",
)  # fmt: skip
_HUB = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}


def spdx_name(licence: str) -> str | None:
    """The name with the letters that SPDX gives it; None for a licence of one's own."""
    said = licence.strip().lower()
    return next((name for name in _SPDX if said in (name.lower(), _HUB.get(name))), None)


def hub_name(licence: str) -> str | None:
    """How the Hugging Face Hub calls it; None for one that it does not know."""
    name = spdx_name(licence)
    return None if name is None else _HUB.get(name, name.lower())


def address(licence: str) -> str | None:
    """Where the text of a well-known licence stands."""
    name = spdx_name(licence)
    return None if name is None else f"https://spdx.org/licenses/{name}.html"
