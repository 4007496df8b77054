"""Damaged files by the thousand: each must be read, or answered in one sentence, within limits.

Run: python -m bench.fuzz --count 20000 --seed 1 --out out/bench_fuzz.jsonl   # goes on where it was
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.fuzz.readers import READERS, Sample
from bench.fuzz.samples import make_samples
from corporeal.errors import CorporealError

# Of processor time, since a machine that others use gives little; a reader that sleeps is silent.
LIMIT_S, SILENT_S, ROOM_BYTES = 20, 180, 3 << 30
SEQUENCES = (b"[/x]", b"\x1b[2J", b"NaN", b"-1", b"1e308", b"99999999999999999999", b"\0", b"null",
             b"../../x", b"{", b"[" * 200, b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f")  # fmt: skip
FAULTS = ("traceback", "late", "died")


@dataclass(frozen=True)
class Outcome:
    """What came of one damaged sample: read, sentence, or one of FAULTS, and its last words."""

    case: int
    sample: str
    kind: str
    words: str = ""
    took_s: float = 0.0


class _LateError(BaseException):
    """The time for one case is over; nothing that is tried may catch it."""


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to six changes of any kind."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 7))):
        size = len(changed)
        if not size:
            break
        # Heads and tails say what the rest is.
        near = min(size, int(rng.choice([64, 1024, size])))
        at = int(rng.integers(near)) if rng.random() < 0.7 else size - 1 - int(rng.integers(near))
        length = int(rng.integers(1, 65))
        match int(rng.integers(7)):
            case 0:
                changed[at] ^= 1 << int(rng.integers(8))
            case 1:
                changed[at : at + 1] = bytes([int(rng.choice([0, 1, 127, 128, 255]))])
            case 2:
                sequence = SEQUENCES[int(rng.integers(len(SEQUENCES)))]
                changed[at : at + int(rng.choice([0, len(sequence)]))] = sequence
            case 3:
                del changed[at : at + length]
            case 4:
                changed[at:at] = changed[at : at + length] * int(rng.choice([1, 2, 50]))
            case 5:
                changed[at : at + length] = rng.bytes(length)
            case _:
                del changed[size - int(rng.integers(size)) :]
    return bytes(changed)


def try_case(sample: Sample, case: int, seed: int) -> Outcome:
    """Damage one file of the sample and read it."""
    rng = np.random.default_rng([seed, case])
    start = time.process_time()
    with tempfile.TemporaryDirectory(prefix="corporeal-fuzz-") as name:
        source, path = Path(sample.path), Path(name) / Path(sample.path).name
        shutil.copytree(source, path) if source.is_dir() else shutil.copy(source, path)
        files = sorted(file for file in path.rglob("*") if file.is_file()) or [path]
        chosen = files[int(rng.integers(len(files)))]
        chosen.write_bytes(damage(chosen.read_bytes(), rng))
        _limit(LIMIT_S)
        try:
            READERS[sample.reader](path)
            kind, words = "read", ""
        except CorporealError as error:
            kind, words = "sentence", str(error)[:200].replace(name, "")
        except _LateError:
            kind, words = "late", traceback.format_exc(limit=-3)
        # What nobody expected is what is looked for here.
        except BaseException as error:
            kind, words = "traceback", f"{type(error).__name__} {_where(error)}: {error}"[:300]
        finally:
            _limit(0)
    return Outcome(case, sample.name, kind, words, round(time.process_time() - start, 3))


def _limit(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _where(error: BaseException) -> str:
    ours = [frame for frame in traceback.extract_tb(error.__traceback__)
            if "corporeal" in frame.filename]  # fmt: skip
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "elsewhere"


def _end_case(*_: object) -> None:
    raise _LateError


def work(folder: Path, seed: int) -> None:
    """Try the cases whose numbers come on standard input, within bounds of time and memory."""
    samples = [Sample(**each) for each in json.loads((folder / "samples.json").read_text())]
    signal.signal(signal.SIGPROF, _end_case)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        outcome = try_case(samples[int(line) % len(samples)], int(line), seed)
        answers.write(json.dumps(asdict(outcome)) + "\n")
        answers.flush()


class _Worker:
    """A process that tries cases; one that dies or stays silent is replaced."""

    def __init__(self, folder: Path, seed: int) -> None:
        command = [sys.executable, "-m", "bench.fuzz", "--seed", str(seed), "--work", str(folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, case: int) -> dict[str, Any] | str:
        """The outcome, or why there is none."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{case}\n".encode())
        process.stdin.flush()
        if not select.select([process.stdout], [], [], SILENT_S)[0]:
            return "late"
        line = process.stdout.readline()
        outcome: dict[str, Any] | str = json.loads(line) if line else "died"
        return outcome

    def end(self) -> None:
        """Stop the process, whatever it does."""
        self._process.kill()
        self._process.wait()


def run(folder: Path, out: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Every case that `out` does not have yet; all outcomes."""
    names = [each["name"] for each in json.loads((folder / "samples.json").read_text())]
    lines = out.read_text().splitlines() if out.is_file() else []
    outcomes = [json.loads(line) for line in lines]
    tried = {outcome["case"] for outcome in outcomes}
    worker = _Worker(folder, seed)
    with out.open("a") as file:
        for case in (case for case in range(count) if case not in tried):
            outcome = worker.ask(case)
            if isinstance(outcome, str):
                outcome = asdict(Outcome(case, names[case % len(names)], outcome))
                worker.end()
                worker = _Worker(folder, seed)
            outcomes.append(outcome)
            file.write(json.dumps(outcome) + "\n")
            file.flush()
    worker.end()
    return outcomes


def page_of(outcomes: list[dict[str, Any]]) -> str:
    """A table in Markdown, a row for each kind of sample, and every kind of fault below it."""
    lines = [
        "| damaged | tried | read | one sentence | faults | slowest (CPU) |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted({outcome["sample"] for outcome in outcomes}):
        own = [outcome for outcome in outcomes if outcome["sample"] == name]
        kinds = Counter(outcome["kind"] for outcome in own)
        faults = sum(kinds[kind] for kind in FAULTS)
        slowest = max(outcome["took_s"] for outcome in own)
        lines.append(f"| {name} | {len(own)} | {kinds['read']} | {kinds['sentence']} | {faults} "
                     f"| {slowest:.1f} s |")  # fmt: skip
    faults_by_words = Counter(
        f"{outcome['sample']}: {outcome['kind']} {outcome['words']}"
        for outcome in outcomes
        if outcome["kind"] in FAULTS
    )
    return "\n".join(
        [*lines, "", *(f"{n} x {words}" for words, n in faults_by_words.most_common())]
    )


def main() -> None:
    """Run the campaign, or a worker of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/bench_fuzz.jsonl"))
    parser.add_argument("--samples", type=Path, default=Path(".cache/fuzz"))
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("CORPOREAL_DATA", "../shared/data")
    )
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.seed)
        return
    if not (options.samples / "samples.json").is_file():
        shutil.rmtree(options.samples, ignore_errors=True)
        samples = make_samples(options.samples.resolve(), Path(options.data).resolve())
        text = json.dumps([asdict(sample) for sample in samples])
        (options.samples / "samples.json").write_text(text, "utf-8")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    outcomes = run(options.samples, options.out, options.count, options.seed)
    sys.stdout.write(page_of(outcomes) + "\n")


if __name__ == "__main__":
    main()
