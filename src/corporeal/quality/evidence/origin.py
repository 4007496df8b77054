"""Where the motion of an episode comes from, as far as checks must know it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RETARGETED = "retargeted mocap"


def was_computed(metadata: Mapping[str, Any]) -> bool:
    """Whether the motion was computed from a person's: neither measured nor repeated."""
    return metadata.get("mode") == RETARGETED
