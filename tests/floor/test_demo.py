"""`corporeal floor demo` plays a day by itself, and ends."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.alone
def test_a_day_is_played_at_a_high_speed_and_ends_by_itself() -> None:
    pytest.importorskip("ortools")
    program = [
        sys.executable, "-m", "corporeal", "floor", "demo", "--speed", "1e6", "--stations", "3",
        "--operators", "10", "--hours", "1", "--history", "0", "--no-open", "--port", "0", "--json",
    ]  # fmt: skip
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reader = json.JSONDecoder()
    opened, end = reader.raw_decode(done.stdout)
    told, _ = reader.raw_decode(done.stdout[end:].lstrip())
    assert opened["address"].endswith("/board")
    assert told["takes"] == sum(told.get(name, 0) for name in
                                ("accepted", "failed", "quarantined"))  # fmt: skip
    assert told["accepted"] > 5
