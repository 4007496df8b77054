"""The kinds of faults, one small function each, in a file per topic."""

from __future__ import annotations

from bench.detection.fault import Fault
from bench.detection.faults import dynamics, frames, joints, pictures, records, sets, time


def every_fault() -> dict[str, Fault]:
    """All faults by name."""
    listed = [
        fault
        for module in (time, joints, frames, dynamics, pictures, sets, records)
        for fault in module.FAULTS
    ]
    return {fault.name: fault for fault in listed}
