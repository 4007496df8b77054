"""What those who came by a share link see of an episode: the recording, none of the staff.

Names of people, places, sessions and devices, reasons and free text stay with those who log in.
What is shown is listed here; anything that is added to an episode later is left out until it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN_METADATA = ("task", "instruction", "language", "success", "failure", "mode", "robot")
"""Of the facts that an episode file has of itself; only plain values of them."""
HIDDEN_COLUMNS = ("operator", "station", "session", "batch", "environment", "calibration",
                  "software", "protocol", "policy")  # fmt: skip
"""Of the facts that the catalogue has of an episode."""


def shown_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an episode that say what was done, not by whom."""
    return {
        name: metadata[name]
        for name in SHOWN_METADATA
        if isinstance(metadata.get(name), str | bool | int | float)
    }


def shown_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the catalogue; the file goes by the episode's id, as its name may tell of people."""
    return {**columns, **dict.fromkeys(HIDDEN_COLUMNS), "file": columns["id"]}
