"""A library that reads our datasets is asked in a process of its own, and not believed blindly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest

from corporeal.errors import CorporealError
from corporeal.exchange.format import Consumer
from corporeal.exchange.library import (
    MAX_ROWS,
    LibraryAnswer,
    UnsuitedError,
    ask,
    find_python,
)

HEAD = """
import json, sys, os, time
from pathlib import Path
import numpy as np
def main(request):
    folder = Path(sys.argv[3])
"""
BODY = """
answer = {"library": "fake", "version": "1.2",
          "episodes": [{"length": 5, "instructions": ["wave"]},
                       {"length": 7, "instructions": None}],
          "statistics": {"action": {"mean": [0.5, 1.5]}}}
samples = {f"{n}|{key}": np.array([episode, row], np.float32)
           for n, (episode, row) in enumerate(request["rows"]) for key in request["keys"]}
samples |= {f"{n}|{key}": np.full((4, 6, 3), 7, np.uint8)
            for n in range(len(request["rows"])) for key in request["cameras"]}
"""
TAIL = "return answer, samples\n"
# For what no answer of `main` can hold: the files themselves, and an end before they are written.
FILES = """
(folder / "answer.json").write_text(json.dumps(answer))
np.savez(folder / "samples.npz", **samples)
"""
END = "os._exit(0)\n"
ROWS = [(0, 1), (1, 6)]


def fake(folder: Path, between: str = "", *, tail: str = TAIL) -> Consumer:
    """A consumer whose script lies in a folder; its library is numpy, which is always there."""
    script = folder / "fake.py"
    script.write_text(HEAD + indent(BODY + between + tail, "    "))
    return Consumer(str(script), "numpy", "pip install numpy")


def answer_of(consumer: Consumer, folder: Path, *, timeout_s: float = 60) -> LibraryAnswer:
    return ask(consumer, folder / "dataset", ROWS, ["action"], ["head"], python=sys.executable,
               timeout_s=timeout_s)  # fmt: skip


def test_an_answer_comes_back_as_the_library_gave_it(tmp_path: Path) -> None:
    answer = answer_of(fake(tmp_path), tmp_path)
    assert (answer.library, answer.version) == ("fake", "1.2")
    episodes = [(episode.length, episode.instructions) for episode in answer.episodes]
    assert episodes == [(5, ["wave"]), (7, None)]
    np.testing.assert_array_equal(answer.statistics["action"]["mean"], [0.5, 1.5])
    assert set(answer.samples) == {(n, key) for n in (0, 1) for key in ("action", "head")}
    np.testing.assert_array_equal(answer.samples[1, "action"], np.array([1, 6], np.float32))
    assert answer.samples[0, "head"].shape == (4, 6, 3)


def test_columns_in_either_memory_order_come_back_right(tmp_path: Path) -> None:
    grid = "samples['0|action'] = np.asfortranarray(np.arange(6.0).reshape(2, 3))\n"
    answer = answer_of(fake(tmp_path, grid), tmp_path)
    np.testing.assert_array_equal(answer.samples[0, "action"], np.arange(6.0).reshape(2, 3))


def test_what_the_library_does_not_have_is_left_out(tmp_path: Path) -> None:
    answer = answer_of(fake(tmp_path, "del samples['1|action']\n"), tmp_path)
    assert (1, "action") not in answer.samples
    assert (0, "action") in answer.samples


def test_the_python_given_goes_before_the_one_named_and_that_before_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Consumer("any", "numpy", "pip install numpy")
    monkeypatch.delenv("CORPOREAL_NUMPY_PYTHON", raising=False)
    assert find_python(here) == sys.executable
    monkeypatch.setenv("CORPOREAL_NUMPY_PYTHON", "/named/python")
    assert find_python(here) == "/named/python"
    assert find_python(here, python="/given/python") == "/given/python"


def test_a_library_that_nobody_has_has_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Consumer("any", "no_such_library", "pip install it")
    monkeypatch.delenv("CORPOREAL_NO_SUCH_LIBRARY_PYTHON", raising=False)
    assert find_python(absent) is None


def test_a_crash_is_one_sentence_with_the_library_and_the_last_line(tmp_path: Path) -> None:
    consumer = fake(tmp_path, "raise ValueError('no such\\x1b episode')\n")
    with pytest.raises(CorporealError) as caught:
        answer_of(consumer, tmp_path)
    said = str(caught.value)
    assert said.startswith(f"numpy {np.__version__} cannot read {tmp_path / 'dataset'}: ")
    assert said.endswith("ValueError: no such  episode")


def test_a_reason_that_stands_below_the_name_of_the_error_is_told(tmp_path: Path) -> None:
    consumer = fake(tmp_path, "raise ValueError('\\nthe set is too old')\n")
    with pytest.raises(CorporealError, match="ValueError: the set is too old"):
        answer_of(consumer, tmp_path)


def test_a_script_that_ends_without_an_answer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorporealError, match="cannot read"):
        answer_of(fake(tmp_path, tail="os._exit(3)\n"), tmp_path)
    with pytest.raises(CorporealError, match="ended with 0 and no answer"):
        answer_of(fake(tmp_path, tail=END), tmp_path)


def test_a_script_that_hangs_is_ended_with_everything_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    hang = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
Path({str(mark)!r}).write_text(str(child.pid))
time.sleep(60)
"""
    began = time.monotonic()
    with pytest.raises(CorporealError, match=r"could not read .* within 1 s"):
        answer_of(fake(tmp_path, hang), tmp_path, timeout_s=1)
    assert time.monotonic() - began < 30
    if mark.exists():
        assert _has_ended(int(mark.read_text()))


def test_a_script_ends_when_the_asker_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "script"
    consumer = fake(tmp_path, f"Path({str(mark)!r}).write_text(str(os.getpid()))\ntime.sleep(60)\n")
    asker = f"""
import sys
from pathlib import Path
from corporeal.exchange.library import ask
from corporeal.exchange.format import Consumer
ask(Consumer({consumer.script!r}, "numpy", ""), Path(), [], [], [], python=sys.executable)
"""
    with subprocess.Popen([sys.executable, "-c", asker]) as process:
        while not (mark.exists() and mark.read_text()) and process.poll() is None:
            time.sleep(0.05)
        process.kill()
    assert _has_ended(int(mark.read_text()))


def _has_ended(process: int) -> bool:
    for _ in range(100):
        try:
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_neither_the_folder_of_the_script_nor_pythonpath_stands_in_for_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError('the wrong one')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert answer_of(fake(tmp_path), tmp_path).library == "fake"


def test_a_relative_python_is_found_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(sys.executable).parent)
    relative = f"./{Path(sys.executable).name}"
    answer = ask(fake(tmp_path), tmp_path, ROWS, ["action"], [], python=relative)
    assert answer.library == "fake"


def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorporealError, match="'/no/such/python' cannot be run"):
        ask(fake(tmp_path), tmp_path, ROWS, [], [], python="/no/such/python")
    odd = tmp_path / "odd"
    odd.write_text("no program")
    odd.chmod(0o755)
    with pytest.raises(CorporealError, match="cannot be run: Exec format error"):
        ask(fake(tmp_path), tmp_path, ROWS, [], [], python=str(odd))


def test_too_many_rows_are_refused_before_anything_runs(tmp_path: Path) -> None:
    rows = [(0, row) for row in range(MAX_ROWS + 1)]
    with pytest.raises(CorporealError, match="at most"):
        ask(fake(tmp_path), tmp_path, rows, [], [], python="/no/such/python")


def test_a_release_that_is_not_for_the_dataset_is_told_from_a_failure(tmp_path: Path) -> None:
    consumer = fake(tmp_path, "answer = {'unsuited': 'too old'}\n")
    with pytest.raises(UnsuitedError, match=r"too old\. Use another one: pip install numpy"):
        answer_of(consumer, tmp_path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("samples['0|action'] = np.array([{}], object)\n", "samples.npz cannot be read|numbers"),
        ("samples['0|action'] = np.array(['text'])\n", "numbers"),
        ("samples['5|action'] = samples.pop('0|action')\n", "one for each row and label"),
        ("samples['0|head'] = np.zeros((4, 6, 3))\n", "uint8"),
        ("samples['0|head'] = np.zeros((3, 4, 6), np.uint8)\n", "uint8"),
        ("samples['more'] = np.zeros(1)\n", "4 of"),
        ("answer = []\n", "nonsense: .* a valid dictionary"),
        ("answer['library'] = 3\n", "library: .* a valid string"),
        ("answer['episodes'] = {}\n", "episodes: .* a valid list"),
        ("answer['episodes'][0]['length'] = -1\n", "episodes.0.length: .* equal to 0"),
        ("answer['episodes'][0]['instructions'] = [4]\n", "instructions.0: .* a valid string"),
        ("answer['episodes'][0]['instructions'] = 'wave'\n", "instructions: .* a valid list"),
        ("answer['statistics']['action'] = 5\n", "statistics.action: .* a valid dictionary"),
        ("answer['statistics']['action']['mean'] = ['x']\n", "statistics.action.mean: "),
    ],
)
def test_nonsense_in_an_answer_is_refused(tmp_path: Path, spoil: str, reason: str) -> None:
    with pytest.raises(CorporealError, match=reason):
        answer_of(fake(tmp_path, spoil), tmp_path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("b'not a zip'", "cannot be read"),
        ("(folder / 'samples.npz').read_bytes()[:200]", "cannot be read"),
    ],
)
def test_samples_that_are_no_archive_are_refused(tmp_path: Path, spoil: str, reason: str) -> None:
    tail = FILES + f"(folder / 'samples.npz').write_bytes({spoil})\n" + END
    with pytest.raises(CorporealError, match=reason):
        answer_of(fake(tmp_path, tail=tail), tmp_path)


def test_an_array_that_claims_more_than_it_holds_is_refused_before_memory_is_taken(
    tmp_path: Path,
) -> None:
    claim = """
import io, zipfile
data = io.BytesIO()
np.lib.format.write_array_header_1_0(
    data, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
with zipfile.ZipFile(folder / "samples.npz", "w") as archive:
    archive.writestr("0|action.npy", data.getvalue() + b"12345678")
"""
    with pytest.raises(CorporealError, match="numbers that are there"):
        answer_of(fake(tmp_path, tail=FILES + claim + END), tmp_path)


def test_an_answer_that_is_not_json_is_refused(tmp_path: Path) -> None:
    tail = FILES + "(folder / 'answer.json').write_text('{')\n" + END
    with pytest.raises(CorporealError, match="not JSON"):
        answer_of(fake(tmp_path, tail=tail), tmp_path)


def test_the_request_says_what_was_asked(tmp_path: Path) -> None:
    copy = f"Path({str(tmp_path / 'seen.json')!r}).write_text(json.dumps(request))\n"
    answer_of(fake(tmp_path, copy), tmp_path)
    assert json.loads((tmp_path / "seen.json").read_text()) == {
        "path": str((tmp_path / "dataset").resolve()),
        "rows": [[0, 1], [1, 6]],
        "keys": ["action"],
        "cameras": ["head"],
    }
