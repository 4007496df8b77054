"""Runs a recorder whose left camera dies: python -m tests.studio.dying_recorder FOLDER SECONDS."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from corporeal.capture.broadcast import Broadcast
from corporeal.capture.driver import Loss, Mark, RecordingSource, Sample, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings


def main(folder: Path, dies_s: float) -> None:
    """Print the port, and record until the end of the demonstration."""
    whole = drivers()["synthetic"]

    def read(options: Any) -> Iterator[Sample | Mark | Loss]:
        begin = time.monotonic()
        for item in whole.read(options):
            is_left = isinstance(item, Sample) and item.stream == "observations/head_left"
            if not (is_left and time.monotonic() - begin > dies_s):
                yield item

    driver = replace(whole, read=read, is_live=True)
    wanted = {"realtime": True, "seconds": 60, "height": 60, "width": 80}
    options = parse_options(driver, wanted)
    with Broadcast(0) as broadcast:
        print(broadcast.port, flush=True)
        Recorder(
            [RecordingSource("robot", driver, options)],
            RecorderSettings(folder, metadata={"task": "reach", "session": "s"}),
            on_health=broadcast.publish,
            on_picture=broadcast.show,
        ).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
