"""One clip from its file to an episode on disk, with whatever was asked for beside it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from corporeal import __version__
from corporeal.embodiment import Embodiment, open_robot
from corporeal.errors import CorporealError, WriteError
from corporeal.retargeting.goal.robot_map import RetargetingMap, robot_map
from corporeal.retargeting.job.clip_files import (
    ClipFile,
    ClipOutcome,
    Finished,
    check_target,
    find_finished,
    make_folder,
    piece_path,
    read_outcome,
    write_piece,
    write_whole,
)
from corporeal.retargeting.measure.metrics import Metrics, measure_result
from corporeal.retargeting.measure.report import draw_report, metric_rows
from corporeal.retargeting.motion import HumanMotion, MotionError
from corporeal.retargeting.preview.preview_file import SUFFIXES, write_preview
from corporeal.retargeting.reader import ClipHints, read_motion
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.robot_episode import file_sha256
from corporeal.retargeting.settings import RetargetSettings
from corporeal.retargeting.solve import retarget_motion, split_infeasible
from corporeal.retargeting.tracking.trackability import track

StageReport = Callable[[str, float], None]
# What is kept of a frame is some 5 kB: this many are 5 GB, and 2 hours at 120 Hz.
MAX_FRAMES = 1_000_000
# Too short for the low-pass to tell a motion from a tremor, s.
SHORT_S = 0.5
# What a page of figures may become.
PAGES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class ClipJob:
    """What is to be done with one clip; it travels to other processes.

    `kind` names the clip's format where its beginning does not tell. `preview` and `report` are
    files to write beside the episode. With `tracked`, the motion is followed in physics by the
    network in `tracker`, or with help at the base where there is none.
    """

    clip: Path
    episode: Path
    robot: Embodiment
    mapping: RetargetingMap | None = None
    hints: ClipHints = field(default_factory=ClipHints)
    kind: str | None = None
    settings: RetargetSettings = field(default_factory=RetargetSettings)
    preview: Path | None = None
    report: Path | None = None
    tracked: bool = False
    tracker: Path | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def fingerprint(self, source_sha256: str) -> str:
        """One word that stands for the clip, the robot, the settings and this version."""
        parts = {
            "clip": source_sha256,
            "robot": self.robot.hash,
            "map": None if self.mapping is None else self.mapping.hash,
            "hints": {name: str(value) for name, value in asdict(self.hints).items()},
            "settings": asdict(self.settings),
            "facts": dict(self.facts),
            "version": __version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def check(self) -> None:
        """Raise an error where the job could not be finished, before any of it is done."""
        if not os.path.lexists(self.episode):
            check_target(self.episode, "the episode")
        for path, what, suffixes in (
            (self.preview, "a preview", SUFFIXES),
            (self.report, "a report", PAGES),
        ):
            if path is None:
                continue
            if path.suffix.lower() not in suffixes:
                raise WriteError(
                    f"{path}: got {what} ending in {path.suffix!r}; expected one of "
                    f"{', '.join(suffixes)}. Name it so."
                )
            check_target(path, what)
        if self.tracker is not None and not self.tracker.is_file():
            raise MotionError(f"{self.tracker}: no such file; expected an ONNX network.")

    def wanting(self, finished: Finished) -> bool:
        """Whether something beside the finished episodes was asked for and is not there yet."""
        made = max(path.stat().st_mtime for path in finished.episodes)
        beside = [path for path in (self.preview, self.report) if path is not None]
        absent = any(not path.exists() or path.stat().st_mtime < made for path in beside)
        tried = finished.metadata[0].get("trackability")
        return absent or (self.tracked and tried is None)


def retarget(
    clip: Path | str,
    robot: Embodiment | str = "g1",
    out: Path | str | None = None,
    *,
    settings: RetargetSettings | None = None,
    hints: ClipHints | None = None,
    mapping: RetargetingMap | None = None,
    facts: Mapping[str, Any] | None = None,
    report: StageReport | None = None,
) -> Retargeted:
    """The robot's motion that follows the person in a clip; with `out` also written as an episode.

    `robot` is a ready name, a file or the robot itself, `hints` what the clip does not say of
    itself, `mapping` the map of a robot of your own, `facts` what is known of the take. `report` is
    called with a stage and the share of it that is done. Raises MotionError for a clip that holds
    no motion, WriteError where the episode cannot be made or another has its place.
    """
    job = ClipJob(
        clip=Path(clip),
        episode=Path() if out is None else Path(out),
        robot=open_robot(robot) if isinstance(robot, str) else robot,
        mapping=mapping,
        hints=hints or ClipHints(),
        settings=settings or RetargetSettings(),
        facts=facts or {},
    )
    say = report or (lambda *_: None)
    with _in_words(job.clip):
        motion = _read(job)
        digest = file_sha256(job.clip)
        if out is not None:
            job.check()
            find_finished(job.episode, job.fingerprint(digest))
        result = retarget_motion(motion, robot_map(job.robot, mapping), job.settings, say)
        if out is not None:
            _write(job, result, measure_result(result), job.facts, digest, say)
    return result


def run_job(job: ClipJob, report: StageReport | None = None) -> ClipOutcome:
    """Retarget a clip and write what was asked for; what is there already stays as it is.

    Raises MotionError for a clip that holds no motion, WriteError where a file cannot be made.
    """
    say = report or (lambda *_: None)
    say("reading", 0.0)
    job.check()
    with _in_words(job.clip):
        return _run(job, say)


@contextmanager
def _in_words(clip: Path) -> Iterator[None]:
    """Turn what may fail with a clip of any kind into a MotionError that says what to do."""
    try:
        yield
    except MemoryError:
        raise MotionError(f"{clip}: needs more memory than there is. Cut it.") from None
    except OSError as error:
        raise MotionError(f"{clip}: cannot be read: {error.strerror or error}.") from None
    except np.linalg.LinAlgError as error:
        raise MotionError(
            f"{clip}: the solve broke down ({error}). Look at the clip; it may not be a person."
        ) from None


def jobs_of(clips: Sequence[ClipFile], like: ClipJob, *, many: bool) -> list[ClipJob]:
    """A job for every clip, with the files of `like` named for it: below folders if `many`."""
    return [
        replace(
            like,
            clip=clip.path,
            episode=_output(like.episode, clip, (".h5",), many=many),
            preview=like.preview and _output(like.preview, clip, SUFFIXES, many=many),
            report=like.report and _output(like.report, clip, PAGES, many=many),
        )
        for clip in clips
    ]


def _output(target: Path, clip: ClipFile, suffixes: tuple[str, ...], *, many: bool) -> Path:
    """The file for one clip: the target itself, or in it and named after the clip.

    The first suffix is that of files whose names nobody gives.
    """
    if not many and not target.is_dir():
        if target.suffix.lower() not in suffixes:
            raise CorporealError(
                f"{target}: got a name ending in {target.suffix!r}; expected one of "
                f"{', '.join(suffixes)}, or a folder that is there."
            )
        return target
    if target.suffix.lower() in suffixes or target.is_file():
        raise CorporealError(f"{target}: is one file; expected a folder for many clips.")
    return target / clip.name.with_name(clip.name.name + suffixes[0])


def run_in_worker(_: None, job: ClipJob) -> ClipOutcome:
    """The same for `runner.run`."""
    return run_job(job)


def _run(job: ClipJob, say: StageReport) -> ClipOutcome:
    motion = _read(job)
    digest = file_sha256(job.clip)
    mark = job.fingerprint(digest)
    finished = find_finished(job.episode, mark)
    if finished is not None and not job.wanting(finished):
        return read_outcome(job.clip, job.settings.policy, finished)
    started = time.process_time()
    say("following the person", 0.0)
    result = retarget_motion(motion, robot_map(job.robot, job.mapping), job.settings, say)
    spent = time.process_time() - started
    say("measuring", 0.0)
    metrics = measure_result(result)
    tracked = _try_in_physics(job, result, say) if job.tracked else None
    facts = {**job.facts, **({} if tracked is None else {"trackability": tracked})}
    written = finished.episodes if finished else _write(job, result, metrics, facts, digest, say)
    _write_beside(job, result, metrics, say)
    return ClipOutcome(
        job.clip,
        written,
        job.settings.policy,
        was_there=finished is not None,
        frames=len(result),
        infeasible=int(result.infeasible.sum()),
        converged=result.converged,
        cpu_s=spent,
        metrics=metrics.to_json(),
        table=tuple(metric_rows(metrics)),
        tracked=tracked,
        notes=result.notes,
    )


def _read(job: ClipJob) -> HumanMotion:
    """The motion of the clip, if it is of a length that can be worked on."""
    motion = read_motion(job.clip, job.hints, kind=job.kind)
    rate_hz = max(motion.rate_hz, job.settings.rate_hz or 0.0)
    if (frames := int(motion.duration_s * rate_hz) + 1) > MAX_FRAMES:
        raise MotionError(
            f"{job.clip}: {frames} frames; expected at most {MAX_FRAMES}. Cut it into parts."
        )
    if len(motion) > 1 and motion.duration_s < SHORT_S:
        return motion.noting(f"only {motion.duration_s:.2f} s long: hardly a motion")
    return motion


def _write(
    job: ClipJob,
    result: Retargeted,
    metrics: Metrics,
    facts: Mapping[str, Any],
    digest: str,
    say: StageReport,
) -> tuple[Path, ...]:
    """One episode, one for each piece, or none, by policy."""
    pieces = split_infeasible(result, job.settings.policy)
    settings = {**asdict(job.settings), "fingerprint": job.fingerprint(digest)}
    written = []
    for number, piece in enumerate(pieces):
        say("writing", number / len(pieces))
        whole = len(piece) == len(result)
        counted = {} if whole else {"piece": number + 1, "pieces": len(pieces)}
        written.append(
            write_piece(
                piece,
                piece_path(job.episode, number + 1, len(pieces)),
                metrics=metrics if whole else measure_result(piece),
                facts=facts,
                settings={**settings, **counted},
                source_sha256=digest,
            )
        )
    return tuple(written)


def _write_beside(job: ClipJob, result: Retargeted, metrics: Metrics, say: StageReport) -> None:
    """The page of figures and the preview, as asked for."""
    if job.report is not None:
        say("drawing the report", 0.0)
        write_whole(job.report, lambda path: draw_report(result, metrics, path))
    if job.preview is not None:
        make_folder(job.preview)
        write_preview(
            result,
            job.preview,
            progress=lambda done, total: say("drawing the preview", done / max(1, total)),
        )


def _try_in_physics(job: ClipJob, result: Retargeted, say: StageReport) -> dict[str, Any]:
    return track(
        result.robot,
        result.rate_hz,
        result.q,
        result.base,
        tracker=job.tracker,
        contacts=result.goals.contacts,
        progress=lambda share: say("tracking in physics", share),
    ).to_json()
