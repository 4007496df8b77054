"""OpenCV, where it is installed; its types say too little to be of use."""

from __future__ import annotations

from typing import Any

from corporeal.errors import MissingExtraError


def import_opencv() -> Any:
    """The package cv2 with its contributed parts; raises MissingExtraError without it."""
    try:
        import cv2
    except ModuleNotFoundError:
        raise MissingExtraError("opencv", "vision") from None
    return cv2
