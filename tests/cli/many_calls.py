"""Calls of the program, one after the other in one process of their own: a tenth of the time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

_SCRIPT = """
import importlib.abc, io, json, sys
from contextlib import redirect_stderr, redirect_stdout

sys.argv[0] = "corporeal"
calls, blocked = json.loads(sys.argv[1]), set(json.loads(sys.argv[2]))


class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Without())
from corporeal.cli.program import main

for call in calls:
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv[1:] = call
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        except BaseException as error:
            code = repr(error)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=sys.__stdout__)
"""


def run_calls(
    calls: Sequence[Sequence[str | Path]],
    folder: Path,
    *,
    without: Collection[str] = (),
    environment: Mapping[str, str] | None = None,
) -> list[tuple[object, str, str]]:
    """Exit code, standard output and error of every call; packages in `without` are not found."""
    plain = json.dumps([[str(word) for word in call] for call in calls])
    script = [sys.executable, "-c", _SCRIPT, plain, json.dumps(sorted(without))]
    result = subprocess.run(
        script, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return [tuple(json.loads(line)) for line in result.stdout.splitlines()]
