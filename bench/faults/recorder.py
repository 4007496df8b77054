"""Random faults while recording: a recovery after each, and the worst loss.

Run: python -m bench.faults --subject recorder --count 610     # about two minutes
"""

from __future__ import annotations

import itertools
import mmap
import os
import resource
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.records import Chunk, Message
from mcap.stream_reader import breakup_chunk

from bench.faults.outcome import Outcome, Subject
from corporeal.capture.conversion import episode_from_journal
from corporeal.capture.driver import Driver, DriverError, Mark, RecordingSource, Rig, Sample
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.episode import Episode
from corporeal.episode.file import DAMAGED, find_leftovers
from corporeal.episode.file.journal import JOURNAL_SUFFIX, SYNC_EVERY_S, JournalError
from corporeal.episode.overview import verify
from corporeal.errors import CorporealError
from corporeal.schema import Part, Schema

ARM, CAMERA = "observations/arm", "observations/camera"
ARM_HZ, CAMERA_HZ = 200, 20
PROMISE_MS = 200.0
_PICTURES = [np.full((16, 32, 3), 10 * shade, np.uint8) for shade in range(20)]
_TOGETHER = 6
_FILLED = 10
# A clock that all processes of this machine share.
_now_s = time.monotonic


class Options(Part):
    """None."""


@dataclass
class Result:
    """One kind of fault: how often, what was lost, and everything that was not as promised."""

    fault: str
    tried: int = 0
    episodes: int = 0
    before_first_sample: int = 0
    samples: int = 0
    took_s: float = 0.0
    losses_ms: list[float] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def worst_ms(self) -> float | None:
        """The longest time of which nothing was recovered; None where that has no meaning."""
        return max(self.losses_ms, default=None)


def rig() -> Rig:
    """One signal whose samples hold their number and when they were made, one tiny camera."""
    streams = [
        {"name": "arm", "group": "observations", "shape": [2], "dtype": "float64",
         "rate_hz": ARM_HZ},
        {"name": "camera", "group": "observations", "kind": "video", "shape": [16, 32, 3],
         "rate_hz": CAMERA_HZ},
    ]  # fmt: skip
    head = {"document": "schema", "name": "faults", "version": "1.0.0"}
    return Rig(Schema.model_validate({**head, "streams": streams}))


def items(
    count: int, *, realtime: bool, note: Callable[[int, float], None] = lambda *_: None
) -> Iterator[Sample | Mark]:
    """`count` samples of the arm, a picture to every tenth; `note` hears of each as it is made."""
    begin_s, begin_ns = _now_s(), time.time_ns()
    yield Mark("start", begin_ns)
    for number in range(count):
        due_s = number / ARM_HZ
        if realtime:
            time.sleep(max(0.0, begin_s + due_s - _now_s()))
        made_s = _now_s()
        stamp = begin_ns + round((made_s - begin_s if realtime else due_s) * 1e9)
        note(number, made_s)
        yield Sample(ARM, stamp, stamp, np.array([number, made_s]))
        if number % (ARM_HZ // CAMERA_HZ) == 0:
            yield Sample(CAMERA, stamp, stamp, _PICTURES[number // 10 % 20])


def recorder(
    folder: Path,
    read: Callable[[], Iterator[Sample | Mark]],
    name: str,
    *,
    sync_every_s: float = SYNC_EVERY_S,
) -> Recorder:
    """A recorder of such items."""
    driver = Driver(Options, lambda _: rig(), lambda _: read())
    facts = {"task": "fault", "session": name}
    return Recorder(
        [RecordingSource("small", driver, Options())],
        RecorderSettings(folder, metadata=facts, sync_every_s=sync_every_s),
    )


# What must hold after every fault.


def check(result: Result, journal: Path, *, at_least: int, exactly: bool) -> float:
    """Recover one journal and look at the episode; returns when its last sample was made.

    All of the first `at_least` samples must be there, in order, and nothing that was never made.
    """
    try:
        target = episode_from_journal(journal)
    except JournalError as error:
        if at_least:
            result.broken.append(f"{journal.name}: {at_least} samples lost: {error}")
        result.before_first_sample += 1
        return 0.0
    result.episodes += 1
    return check_episode(result, target, at_least=at_least, exactly=exactly)


def check_episode(result: Result, path: Path, *, at_least: int, exactly: bool) -> float:
    """The second half of `check`, for an episode that is there."""
    damage = verify(path)
    with Episode.open(path) as episode:
        # A stream of which nothing came is not in the file.
        arm = episode[ARM][:] if ARM in episode else np.zeros((0, 2))
        pictures = len(episode[CAMERA]) if CAMERA in episode else 0
        recovered, quarantine = episode.recovered, episode.metadata.get("quarantine")
        if pictures:
            _ = episode[CAMERA][pictures - 1]
    found = len(arm)
    result.samples += found
    problems = [f"{one.path}: {one.message}" for one in damage]
    if not np.array_equal(arm[:, 0], np.arange(found)):
        problems.append("samples are missing inside, or invented")
    if found < at_least or (exactly and found != at_least):
        problems.append(f"{found} samples; expected {at_least}")
    if recovered is None or recovered != quarantine:
        problems.append(f"recovered is {recovered!r}, quarantine {quarantine!r}")
    result.broken += [f"{path.name}: {problem}" for problem in problems]
    return float(arm[-1, 1]) if found else 0.0


# Faults on the bytes: a power cut, and rot.


@dataclass(frozen=True)
class Template:
    """A good journal: after byte `edges[k]`, `counts[k]` samples of the arm are whole."""

    data: bytes
    edges: tuple[int, ...]
    counts: tuple[int, ...]
    made_s: tuple[float, ...]

    def whole_at(self, size: int) -> int:
        """How many samples are in whole chunks of the first `size` bytes."""
        return max((n for edge, n in zip(self.edges, self.counts, strict=True) if edge <= size),
                   default=0)  # fmt: skip

    def whole_behind(self, place: int) -> int:
        """How many samples there are up to the end of the chunk that byte `place` is in."""
        edges = zip(self.edges, self.counts, strict=True)
        return min((n for edge, n in edges if edge > place), default=len(self.made_s))


def make_template(folder: Path, seconds: float = 3.0) -> Template:
    """Record in real time and copy the journal just before it would become an episode."""
    read = partial(items, round(seconds * ARM_HZ), realtime=True)
    made = recorder(folder, read, "template")
    kept: list[bytes] = []

    def keep(journal: Path, reason: str | None) -> None:
        del reason
        kept.append(journal.read_bytes())
        journal.unlink()

    made._converter._work = keep
    made.run()
    (data,) = kept
    edges, counts, made_s, place = [], [], [], 8
    while place < len(data) - 8:
        opcode, length = struct.unpack_from("<BQ", data, place)
        body = data[place + 9 : place + 9 + length]
        place += 9 + length
        if opcode == 6:
            for record in breakup_chunk(Chunk.read(ReadDataStream(BytesIO(body)))):
                if isinstance(record, Message) and len(record.data) == 16:
                    made_s.append(struct.unpack("<2d", record.data)[1])
        edges.append(place)
        counts.append(len(made_s))
    return Template(data, tuple(edges), tuple(counts), tuple(made_s))


def truncate(template: Template, folder: Path, seed: int, result: Result) -> None:
    """The power goes: the file ends at a random byte, sometimes with zeros behind."""
    rng = np.random.default_rng([1, seed])
    size = int(rng.integers(0, len(template.data)))
    tail = bytes(int(rng.integers(1, 4096))) if rng.random() < 0.2 else b""
    journal = folder / f"cut{seed}{JOURNAL_SUFFIX}"
    journal.write_bytes(template.data[:size] + tail)
    result.tried += 1
    whole = template.whole_at(size)
    last_s = check(result, journal, at_least=whole, exactly=True)
    if whole < len(template.made_s):
        torn = min(n for n in template.counts if n > whole)
        loss_ms = 1e3 * (template.made_s[torn - 1] - (last_s or template.made_s[0]))
        result.losses_ms.append(loss_ms)
        if loss_ms > PROMISE_MS:
            result.broken.append(f"{journal.name}: {loss_ms:.0f} ms lost")
    _remove(folder)


def flip(template: Template, folder: Path, seed: int, result: Result) -> None:
    """One bit of the file has changed, anywhere: only the chunk that it is in may be missing."""
    rng = np.random.default_rng([2, seed])
    place = int(rng.integers(len(template.data)))
    data = bytearray(template.data)
    data[place] ^= 1 << int(rng.integers(8))
    journal = folder / f"flip{seed}{JOURNAL_SUFFIX}"
    journal.write_bytes(data)
    result.tried += 1
    try:
        target = episode_from_journal(journal)
    except JournalError as error:
        result.broken.append(f"{journal.name}: not recovered: {error}")
        _remove(folder)
        return
    result.episodes += 1
    with Episode.open(target) as episode:
        numbers, is_marked = episode[ARM][:][:, 0], episode.recovered is not None
    result.samples += len(numbers)
    everything = np.arange(len(template.made_s))
    hit = np.arange(template.whole_at(place), template.whole_behind(place))
    # Only the times of a chunk's head have no checksum, and no sample needs them.
    expected = np.delete(everything, hit) if is_marked else everything
    problems = [f"{one.path}: {one.message}" for one in verify(target)]
    if not np.array_equal(numbers, expected):
        problems.append(f"{len(numbers)} samples; expected all {len(expected)} of whole chunks")
    if is_marked and not journal.with_name(journal.name + DAMAGED).exists():
        problems.append("the damaged journal was not kept")
    if is_marked and len(hit):
        result.losses_ms.append(1e3 * (template.made_s[hit[-1]] - template.made_s[hit[0]]))
    result.broken += [f"{journal.name}: {problem}" for problem in problems]
    _remove(folder)


# Faults on a process.


def kill_recording(folder: Path, seed: int, result: Result) -> None:
    """kill -9 of a process with several recorders at a random instant."""
    rng = np.random.default_rng([3, seed])
    board = _board(folder)
    _run_victim("record_until_killed", folder, seed, kill_after_s=float(rng.uniform(0.15, 1.0)))
    journals = {journal.name.split("_")[1]: journal for journal in find_leftovers(folder)}
    for place in range(_TOGETHER):
        result.tried += 1
        last, made_s = struct.unpack_from("<qd", board, 16 * place)
        journal = journals.get(f"kill{seed}r{place}")
        if journal is None:
            # It had no journal yet; then it cannot have been at work for long.
            result.before_first_sample += 1
            continue
        last_s = check(result, journal, at_least=0, exactly=False)
        if last_s:
            result.losses_ms.append(1e3 * max(0.0, made_s - last_s))
            if result.losses_ms[-1] > PROMISE_MS:
                result.broken.append(f"{journal.name}: {result.losses_ms[-1]:.0f} ms lost")
        elif last > PROMISE_MS / 1e3 * ARM_HZ:
            result.broken.append(f"{journal.name}: {last} samples, none recovered")
    _remove(folder)


def kill_conversion(template: Template, folder: Path, seed: int, result: Result) -> None:
    """kill -9 while journals become episodes; the second attempt must succeed."""
    rng = np.random.default_rng([4, seed])
    size = template.edges[-3] + 5
    journals = [folder / f"convert{seed}n{number}{JOURNAL_SUFFIX}" for number in range(5)]
    for journal in journals:
        journal.write_bytes(template.data[:size])
    _run_victim("convert_all", folder, seed, kill_after_s=float(rng.uniform(0.0, 0.15)))
    result.tried += 1
    for journal in journals:
        if journal.exists():
            check(result, journal, at_least=template.whole_at(size), exactly=True)
        else:
            episode = journal.with_suffix(".h5")
            result.episodes += 1
            check_episode(result, episode, at_least=template.whole_at(size), exactly=True)
    left = [path.name for path in folder.iterdir() if path.suffix != ".h5"]
    if left:
        result.broken.append(f"convert{seed}: left over: {left}")
    _remove(folder)


def fill_disk(folder: Path, seed: int, result: Result) -> None:
    """No room for more than a random number of bytes while recording; ten times in one process."""
    board = _board(folder)
    _run_victim("record_without_room", folder, seed)
    for place in range(_FILLED):
        result.tried += 1
        if struct.unpack_from("<qd", board, 16 * place)[0] != 1:
            result.broken.append(f"full{seed}n{place}: no clear word that the disk was full")
    for journal in find_leftovers(folder):
        whole = _whole_samples(journal.read_bytes())
        check(result, journal, at_least=whole, exactly=True)
    _remove(folder)


def fill_disk_converting(template: Template, folder: Path, seed: int, result: Result) -> None:
    """No room for the episode: the journal must stay, for when there is."""
    size = template.edges[-3] + 5
    journals = [folder / f"room{seed}n{number}{JOURNAL_SUFFIX}" for number in range(_FILLED)]
    for journal in journals:
        journal.write_bytes(template.data[:size])
    board = _board(folder)
    _run_victim("convert_without_room", folder, seed)
    for place, journal in enumerate(journals):
        result.tried += 1
        if struct.unpack_from("<qd", board, 16 * place)[0] != 1:
            result.broken.append(f"{journal.name}: no error that a user can read")
        check(result, journal, at_least=template.whole_at(size), exactly=True)
    _remove(folder)


def kill_driver(folder: Path, seed: int, result: Result) -> None:
    """The source raises at a random sample: all before it must be in the episode."""
    rng = np.random.default_rng([7, seed])
    count = int(rng.integers(1, 400))

    def read() -> Iterator[Sample | Mark]:
        yield from items(count, realtime=False)
        raise OSError("unplugged")

    made = recorder(folder, read, f"driver{seed}")
    try:
        made.run()
        result.broken.append(f"driver{seed}: no error")
    except DriverError:
        pass
    result.tried += 1
    for path in made.episodes:
        result.episodes += 1
        check_episode(result, path, at_least=count, exactly=True)
    if len(made.episodes) != 1:
        result.broken.append(f"driver{seed}: {len(made.episodes)} episodes")
    _remove(folder)


def _note(board: mmap.mmap, place: int, number: int, made_s: float) -> None:
    struct.pack_into("<qd", board, 16 * place, number, made_s)


def _whole_samples(data: bytes) -> int:
    """Samples of the arm in the whole chunks of a journal that was cut."""
    found, place = 0, 8
    while place + 9 <= len(data):
        opcode, length = struct.unpack_from("<BQ", data, place)
        body = data[place + 9 : place + 9 + length]
        if len(body) < length:
            break
        place += 9 + length
        if opcode == 6:
            chunk = Chunk.read(ReadDataStream(BytesIO(body)))
            found += sum(isinstance(record, Message) and len(record.data) == 16
                         for record in breakup_chunk(chunk))  # fmt: skip
    return found


# What the victims do, each in a process of its own.


def record_until_killed(folder: Path, seed: int) -> None:
    """Several recorders at once, in real time."""
    board = _board(folder)
    threads = []
    for place in range(_TOGETHER):
        read = partial(items, 100_000, realtime=True, note=partial(_note, board, place))
        made = recorder(folder, read, f"kill{seed}r{place}")
        threads.append(threading.Thread(target=made.run))
    _say_ready()
    for thread in threads:
        thread.start()
    threads[0].join()


def convert_all(folder: Path, seed: int) -> None:
    """Every journal, one after the other."""
    del seed
    _say_ready()
    for journal in find_leftovers(folder):
        episode_from_journal(journal)


def record_without_room(folder: Path, seed: int) -> None:
    """Recorders that may write so many bytes and no more."""
    board = _board(folder)
    rng = np.random.default_rng([5, seed])
    for place in range(_FILLED):
        read = partial(items, 30_000, realtime=False)
        made = recorder(folder, read, f"full{seed}n{place}", sync_every_s=0.005)
        with _little_room(int(rng.integers(200, 200_000))):
            try:
                made.run()
            except CorporealError as error:
                is_clear = "File too large" in str(error) and made.state == "ended"
                _note(board, place, 1 if is_clear else 2, 0.0)


def convert_without_room(folder: Path, seed: int) -> None:
    """Conversions that may write so many bytes and no more."""
    board = _board(folder)
    rng = np.random.default_rng([6, seed])
    for place, journal in enumerate(find_leftovers(folder)):
        with _little_room(int(rng.integers(100, 12_000))):
            try:
                episode_from_journal(journal)
            except CorporealError:
                _note(board, place, 1, 0.0)


@contextmanager
def _little_room(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _board(folder: Path) -> mmap.mmap:
    """Memory that outlives a process which is killed."""
    path = folder.with_name(folder.name + ".board")
    size = 16 * max(_TOGETHER, _FILLED)
    if not path.exists():
        path.write_bytes(bytes(size))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), size)


def _say_ready() -> None:
    os.write(1, b"ready\n")


def _run_victim(name: str, folder: Path, seed: int, *, kill_after_s: float | None = None) -> None:
    """Run one of the functions above; one that is killed has no time to tidy up."""
    code = "import sys; from pathlib import Path; from bench.faults import recorder; " + (
        f"recorder.{name}(Path(sys.argv[1]), {seed})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            if kill_after_s is not None and process.stdout is not None:
                process.stdout.readline()
                time.sleep(kill_after_s)
                process.kill()
            process.wait(60)
        finally:
            process.kill()


def _remove(folder: Path) -> None:
    folder.with_name(folder.name + ".board").unlink(missing_ok=True)
    shutil.rmtree(folder)
    folder.mkdir()


# The campaign.

Fault = Callable[[int, Result], None]
# A round of the campaign is a twentieth of it.
_ROUNDS = 20


def campaign(folder: Path, share: float = 1.0, *, first_seed: int = 0) -> list[Result]:
    """Every kind of fault, `share` of the full number of times."""
    results = []
    for name, count, fault in _plan(folder):
        result = Result(name)
        begin_s = _now_s()
        for seed in range(first_seed, first_seed + max(1, round(count * share))):
            fault(seed, result)
        result.took_s = round(_now_s() - begin_s, 1)
        results.append(result)
    return results


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """At least `count` faults, the kinds in the proportion of the campaign."""
    plan = _plan(folder)
    made = 0
    for turn in itertools.count():
        for name, times, fault in plan:
            share = max(1, times // _ROUNDS)
            for number in range(seed + turn * share, seed + (turn + 1) * share):
                result = Result(name)
                fault(number, result)
                yield from _outcomes(result)
                made += result.tried
                if made >= count:
                    return


def _plan(folder: Path) -> list[tuple[str, int, Fault]]:
    """The kinds of fault, how often the whole campaign makes each, and how."""
    folder.mkdir(parents=True, exist_ok=True)
    template = make_template(folder)
    return [
        ("power cut: journal ends at a random byte", 400, partial(truncate, template, folder)),
        ("one bit of the journal changed", 40, partial(flip, template, folder)),
        ("kill -9 while recording", 60 // _TOGETHER, partial(kill_recording, folder)),
        ("kill -9 while converting", 20, partial(kill_conversion, template, folder)),
        ("disk full while recording", 3, partial(fill_disk, folder)),
        ("disk full while converting", 2, partial(fill_disk_converting, template, folder)),
        ("driver dies", 40, partial(kill_driver, folder)),
    ]


def _outcomes(result: Result) -> Iterator[Outcome]:
    """One outcome for each fault that was tried; what broke stands with the first of them."""
    for number in range(result.tried):
        loss_ms = result.losses_ms[number] if number < len(result.losses_ms) else None
        detail = result.broken[number] if number < len(result.broken) else ""
        yield Outcome(result.fault, not detail, loss_ms, detail)


SUBJECT = Subject("recorder", run)
