"""What a model says: a program of yours is asked in JSON, and its answer is believed in nothing."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pydantic import ValidationError

from corporeal.labelling.annotation import Annotation, AnnotationError
from corporeal.labelling.proposal import ProposalRequest, Proposer, check_proposal

VARIABLE, PICTURES = "CORPOREAL_PROPOSER", "CORPOREAL_PROPOSER_PICTURES"
LIMIT_S, MOST_BYTES, MOST_PICTURES = 120.0, 4 << 20, 64
_MOST_STAMPS = 200_000


def propose(
    question: ProposalRequest,
    *,
    command: Sequence[str] | None = None,
    pictures: int | None = None,
    limit_s: float = LIMIT_S,
) -> Annotation | None:
    """The answer of a program; None where neither `command` nor CORPOREAL_PROPOSER names one.

    It reads one JSON object from its input (episode, task, taxonomy, reference, stamps_ns, events,
    and the paths of as many `pictures` as were asked for) and writes an annotation as JSON. It has
    `limit_s` seconds and 4 MB; boundaries are put on frames, and whatever does not fit the taxonomy
    is an error.
    """
    command = command or shlex.split(os.environ.get(VARIABLE, ""))
    if not command:
        return None
    count = _count(os.environ.get(PICTURES, "0")) if pictures is None else pictures
    with tempfile.TemporaryDirectory(prefix="corporeal-proposer-") as folder:
        asked = _asked(question, _pictures(question, min(count, MOST_PICTURES), Path(folder)))
        answer = _run(command, json.dumps(asked).encode(), limit_s, Path(folder))
    return check_proposal(_read(answer, command[0]), question)


def _asked(question: ProposalRequest, pictures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    stamps = question.recording.signals[question.reference].time_ns[:_MOST_STAMPS]
    return {
        "episode": question.recording.id,
        "task": question.task,
        "taxonomy": question.taxonomy.model_dump(mode="json"),
        "reference": question.reference,
        "stamps_ns": stamps.tolist(),
        "events": [
            {"time_ns": event.time_ns, "name": event.name, "side": event.side,
             "confidence": round(event.confidence, 3)}
            for event in question.events
        ],
        "pictures": list(pictures),
    }  # fmt: skip


def _pictures(question: ProposalRequest, count: int, folder: Path) -> list[dict[str, Any]]:
    """Evenly spread pictures of the reference camera as files."""
    camera = question.recording.signals[question.reference]
    if count < 1 or camera.spec.kind != "video" or not len(camera):
        return []
    chosen = np.unique(np.linspace(0, len(camera) - 1, count).round().astype(int))
    found = []
    for number, picture in zip(chosen.tolist(), camera[chosen], strict=True):
        path = folder / f"{number:06d}.jpg"
        Image.fromarray(picture).save(path, quality=90)
        found.append({"frame": number, "time_ns": int(camera.time_ns[number]), "path": str(path)})
    return found


def _run(command: Sequence[str], asked: bytes, limit_s: float, folder: Path) -> bytes:
    """What the program wrote; it and its children are ended when time or room runs out."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=folder, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise AnnotationError(
            f"proposer {command[0]!r} cannot be started ({error}). Put right {VARIABLE}."
        ) from error
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(limit_s, end)
    feeder = threading.Thread(target=_feed, args=(process, asked), daemon=True)
    timer.start()
    feeder.start()
    try:
        assert process.stdout is not None
        answer = process.stdout.read(MOST_BYTES + 1)
        if len(answer) <= MOST_BYTES:
            process.wait()
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
        feeder.join()
        if process.stdout is not None:
            process.stdout.close()
    _complain(command[0], process.returncode, len(answer), late.is_set(), limit_s)
    return answer


def _complain(name: str, code: int, size: int, late: bool, limit_s: float) -> None:
    if late:
        raise AnnotationError(f"proposer {name!r} took longer than {limit_s:g} s; it was ended.")
    if size > MOST_BYTES:
        raise AnnotationError(f"proposer {name!r} wrote more than {MOST_BYTES >> 20} MB.")
    if code != 0:
        raise AnnotationError(f"proposer {name!r} ended with {code}; expected 0.")


def _feed(process: subprocess.Popen[bytes], asked: bytes) -> None:
    assert process.stdin is not None
    # A program may answer without reading to the end.
    with suppress(OSError):
        process.stdin.write(asked)
    with suppress(OSError):
        process.stdin.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(answer: bytes, name: str) -> Annotation:
    try:
        return Annotation.model_validate(json.loads(answer))
    except (ValueError, RecursionError, ValidationError) as error:
        what = str(error).splitlines()[0][:200]
        raise AnnotationError(
            f"proposer {name!r}, got an answer that is no annotation ({what}). "
            "Write one JSON object as docs/guides/proposals.md shows it."
        ) from error


def _count(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else 0


PROPOSER = Proposer(propose)
