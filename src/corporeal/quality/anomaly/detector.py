"""What every detector of unusual segments has, and how one is opened from its file."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Protocol

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError
from corporeal.quality.anomaly.envelope import Envelope, UnusualSegment
from corporeal.quality.anomaly.network import NetworkDetector as Network


class AnomalyDetector(Protocol):
    """Learnt from good episodes, it says which stretches of another are not like them."""

    def segments(self, recording: Recording) -> list[UnusualSegment]:
        """The stretches that are not as usual."""

    def save(self, path: Path) -> None:
        """Write it as a file."""


def open_detector(path: Path) -> AnomalyDetector:
    """Read what a detector's `save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            kind = json.loads(str(file["head"]))["detector"]
        return Network.load(path) if kind == "network" else Envelope.load(path)
    except FileNotFoundError:
        raise CorporealError(f"{path} does not exist; make it with: corporeal learn.") from None
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise CorporealError(
            f"{path} is not a detector ({error}); expected a file that corporeal learn wrote."
        ) from None
