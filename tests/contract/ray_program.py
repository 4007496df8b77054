"""What the contract of the Ray runner does in the partner's environment; it prints JSON.

Run: python -m tests.contract.ray_program TOPIC FOLDER
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.runner_work import dawdle, die_always, die_once, place, stubborn, stumble

from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.quality import inspection
from corporeal.quality.inspection import InspectionOptions, inspect
from corporeal.quality.policy import default_policy
from corporeal.runner import run

ON = ("serial", "processes", "ray")


def told(function: Callable[[Any, Any], Any], items: Iterable[int]) -> list[list[Any]]:
    """Value, error and attempts of every item, in order."""
    results = sorted(run(function, items, on="ray", jobs=2), key=lambda done: done.place)
    return [
        [each.value, each.error and f"{type(each.error).__name__}: {each.error}", each.attempts]
        for each in results
    ]


def own_cluster(folder: Path) -> dict[str, Any]:
    """A cluster that is started for the work, loses a worker, and is gone after it."""
    ray = import_module("ray")
    values = [value for value, *_ in told(partial(die_once, folder / "died"), range(40))]
    return {"values": values, "still_there": ray.is_initialized()}


def losses(folder: Path) -> dict[str, Any]:
    """Errors, mistakes and an item that kills, on a cluster that was there before."""
    ray = import_module("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    mistake = ""
    try:
        told(stumble, range(40))
    except ZeroDivisionError as error:
        mistake = "\n".join(error.__notes__)
    return {
        "errors": told(stubborn, range(9)),
        "mistake": mistake,
        "killing": told(die_always, range(40)),
        "visited": visited(ray.get_runtime_context().gcs_address),
        "home": visit(folder),
        "still_there": ray.is_initialized(),
    }


def visited(address: str) -> list[list[Any]]:
    """What another program is told by this cluster, which it finds by RAY_ADDRESS."""
    command = [sys.executable, "-m", "tests.contract.ray_program", "visit", "."]
    environment = os.environ | {"RAY_ADDRESS": address}
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    answer: list[list[Any]] = json.loads(said.stdout)
    return answer


def visit(folder: Path) -> list[list[Any]]:
    """Where the work of a visitor is done."""
    return [
        [done.value, done.attempts] for done in run(place, range(4), on="ray", prepare=os.getppid)
    ]


def files(folder: Path) -> dict[str, str]:
    """Every file of an export by what is in it; ours beside it has the time of day in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "corporeal" not in path.relative_to(folder).parts
    }


def equal(folder: Path) -> dict[str, Any]:
    """The same episodes inspected and exported on every runner, on one cluster."""
    ray = import_module("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    opener = partial(open_dataset, folder / "recorded")
    request = InspectionOptions(default_policy())
    setattr(inspection, "_WORTH_A_PROCESS", 1)  # noqa: B010 - so that few episodes do.
    reports, exports = {}, {}
    for on in ON:
        reports[on] = inspect(opener, request, on=on, jobs=2).to_json()
        made = export(
            opener,
            folder / on / "set",
            "lerobot",
            ExportOptions(episodes=(0, 1, 2), on=on, jobs=2),
        )
        exports[on] = {
            "files": files(made.out),
            "pieces": [each.to_json() for each in made.episodes],
        }
    return {"reports": reports, "exports": exports}


def endless(folder: Path) -> dict[str, Any]:
    """Work that never ends by itself, even where an interrupt was to be ignored from the start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for _ in run(partial(dawdle, folder), itertools.count(), on="ray", jobs=2):
        pass
    return {}


TOPICS = {each.__name__: each for each in (own_cluster, losses, visit, equal, endless)}

if __name__ == "__main__":
    print(json.dumps(TOPICS[sys.argv[1]](Path(sys.argv[2]))))
