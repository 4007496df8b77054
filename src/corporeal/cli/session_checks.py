"""The marker checks of a session while it is recorded: asked for, made, and what follows."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification import (
    CalibrationCheck,
    CameraLook,
    LoggedCheck,
    StationStanding,
    compare_looks,
    log_of,
    logged,
    markers_of,
    read_log,
    standing_of,
)
from corporeal.capture.health import CalibrationHealth
from corporeal.catalog.accounts import system_user
from corporeal.cli.check_notes import moment_now, note_check
from corporeal.cli.workspaces import enter_workspace
from corporeal.errors import CorporealError
from corporeal.operations.monitoring import read_station_log
from corporeal.protocol import Calibration
from corporeal.words import counted

# Pictures of a look come so far apart; a look is tried so often, and Studio asked for lifts.
_PICTURE_S, _LOOK_S, _ASK_S = 1 / 15, 1.0, 5.0
# A check at the end is the one of a moment ago where that is no older than this.
_FRESH_S = 1.0
_FIXED = ("world", "camera")


class SessionChecks:
    """Keeps the last pictures of the cameras that see markers, and looks when a check is due.

    Cameras that stand still are looked at by themselves; one on the robot only when somebody asks
    (`request`), since it has to be where it was for the reference. Used with `with`; the end of
    the block makes the check at the end of the session.
    """

    def __init__(
        self,
        path: Path,
        document: Calibration,
        *,
        root: Path | None = None,
        station: str | None = None,
        override: str | None = None,
        say: Callable[[str], object],
        pause_s: float = _LOOK_S,
    ) -> None:
        self._path, self._document, self._root, self._station = path, document, root, station
        self._override, self._say, self._pause_s = override, say, pause_s
        self._references = markers_of(document)
        self._began = datetime.now(UTC)
        self._rings: dict[str, deque[NDArray[np.uint8]]] = {}
        plan = document.verification
        assert plan is not None
        for reference in self._references:
            self._rings[reference.camera] = deque(maxlen=plan.frames)
        frames = {camera.name: camera.frame for camera in document.cameras}
        self._fixed = {name for name in self._rings if frames[name] in (None, *_FIXED)}
        self._kept_s = dict.fromkeys(self._rings, 0.0)
        self._lock = threading.Lock()
        self._log: tuple[tuple[int, int], list[LoggedCheck]] = ((-1, -1), [])
        self._stored: list[LoggedCheck] = []
        self._obstacle = ""
        self._asked, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="marker checks", daemon=True)
        self._ask_workspace()

    def require_good(self) -> None:
        """Raise while collection is halted and nobody overrode it; says what to do."""
        standing = self.standing()
        if self._override is None and standing.failed is not None:
            failed = standing.failed
            raise CorporealError(
                f"calibration {self._document.reference}, got a failed check at "
                f"{failed.at[:16]} ({_cause_words(failed)}); expected one that passed. Fasten and "
                f"calibrate again, then corporeal calibrate verify; or corporeal calibrate lift "
                f"-c {self._path} --reason WHY; to record all the same, --despite-halt WHY."
            )

    def show_picture(self, stream: str, picture: Any) -> None:
        """Keep a picture of a camera that sees markers; the memory may be used again after."""
        name = stream.rpartition("/")[2]
        moment = time.monotonic()
        if name not in self._rings or moment - self._kept_s[name] < _PICTURE_S:
            return
        self._kept_s[name] = moment
        kept = np.array(picture)
        with self._lock:
            self._rings[name].append(kept)

    def request(self) -> None:
        """Look at all markers as soon as they can be seen."""
        self._asked.set()

    @property
    def is_halted(self) -> bool:
        """Whether no episode may begin."""
        return self._override is None and self.standing().state == "halted"

    def facts(self) -> Mapping[str, Any]:
        """What an episode that begins now says of its calibration."""
        standing = self.standing()
        facts = standing.facts(self._document)
        if standing.failed is not None:
            facts["halt"] = {"at": standing.failed.at, "cause": _cause_words(standing.failed),
                             "override": self._override, "who": system_user()}  # fmt: skip
        return facts

    def health(self) -> CalibrationHealth:
        """Where the calibration stands, for the terminal and for pages."""
        standing = self.standing()
        return CalibrationHealth(
            self._document.reference, standing.state, self._sentence(standing),
            None if standing.good is None else standing.good.at,
            standing.due_at.isoformat(timespec="seconds"), self._ask(standing),
        )  # fmt: skip

    def standing(self) -> StationStanding:
        """Where the station stands by its log, and by the workspace where there is one."""
        entries = self._read()
        known = {(entry.calibration, entry.at[:19], entry.what) for entry in entries}
        entries += [entry for entry in list(self._stored)
                    if (entry.calibration, entry.at[:19], entry.what) not in known]  # fmt: skip
        return standing_of(self._document, entries, began=self._began, now=datetime.now(UTC))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stopping.set()
        self._asked.set()
        self._thread.join(timeout=30)
        self._check_at_end()

    def _run(self) -> None:
        asked_s = time.monotonic()
        while not self._stopping.wait(self._pause_s):
            if time.monotonic() - asked_s > _ASK_S:
                asked_s = time.monotonic()
                # A workspace that is away for a while must not end the checks.
                with suppress(CorporealError):
                    self._ask_workspace()
            is_asked = self._asked.is_set()
            if is_asked or self.standing().state in ("due", "overdue"):
                cameras = set(self._rings) if is_asked else self._fixed
                if cameras:
                    self._look(cameras)

    def _look(self, cameras: set[str], *, least: int | None = None) -> bool:
        """One check, if every camera has pictures; what kept it from being made is remembered."""
        with self._lock:
            looks = [CameraLook(name, list(ring), f"live {name}")
                     for name, ring in self._rings.items() if name in cameras]  # fmt: skip
            full = all(len(ring) >= (least or ring.maxlen or 0)
                       for name, ring in self._rings.items() if name in cameras)  # fmt: skip
        if not full:
            self._obstacle = "too few pictures so far"
            return False
        references = [each for each in self._references if each.camera in cameras]
        try:
            shifts = compare_looks(self._document, looks, references)
            self._note(CalibrationCheck(
                self._document.reference, shifts, moment_now(), system_user(),
                ", ".join(look.source for look in looks),
            ))  # fmt: skip
        except CorporealError as error:
            self._obstacle = str(error)
            return False
        self._asked.clear()
        self._obstacle = ""
        return True

    def _note(self, check: CalibrationCheck) -> None:
        """Into the log and the workspace, and said."""
        halt = note_check(check, self._path, root=self._root, station=self._station,
                          log_only=self._root is None, quiet=True)  # fmt: skip
        if check.passed:
            self._say(f"{self._document.reference} holds: {_error_words(logged(check))}")
        else:
            held = "" if halt is None else f"; {counted(halt.held, 'episode')} quarantined"
            self._say(f"halt: {_cause_words(logged(check))}{held}. No episode begins until the "
                      f"check passes or the halt is lifted.")  # fmt: skip

    def _check_at_end(self) -> None:
        """The session's last check, from the last pictures; where there are none, who must."""
        standing = self.standing()
        good = standing.good
        if standing.failed is not None or (
            good is not None and (datetime.now(UTC) - good.time).total_seconds() < _FRESH_S
        ):
            return
        if self._fixed and self._look(self._fixed, least=3):
            return
        why = f" ({self._obstacle})" if self._obstacle else ""
        self._say(f"no check of the calibration at the end{why}. Next: corporeal calibrate verify "
                  f"SOURCE -c {self._path}")  # fmt: skip

    def _read(self) -> list[LoggedCheck]:
        """The log, read again when it has changed."""
        path = log_of(self._path)
        try:
            seen = path.stat()
        except OSError:
            return []
        stamp = (seen.st_mtime_ns, seen.st_size)
        if stamp != self._log[0]:
            self._log = (stamp, read_log(path))
        return list(self._log[1])

    def _ask_workspace(self) -> None:
        """Checks and lifts that others noted, such as in Studio."""
        if self._root is None:
            return
        with (
            enter_workspace(self._root, "read") as (workspace, _),
            workspace.database.read() as connection,
        ):
            self._stored = read_station_log(connection, self._document.name)

    def _sentence(self, standing: StationStanding) -> str:
        name = self._document.reference
        if standing.failed is not None:
            if self._override is not None:
                return f"{name} is halted ({_cause_words(standing.failed)}); recording all the same"
            return f"{name} is halted: {_cause_words(standing.failed)}; no episode begins"
        if standing.good is None:
            return f"{name} was never checked against its markers"
        age = _minutes(datetime.now(UTC), standing.good.time)
        if standing.state == "overdue":
            return f"{name} was checked {age} ago; a check is overdue"
        return f"{name} was checked {age} ago"

    def _ask(self, standing: StationStanding) -> str:
        if standing.state == "halted":
            return (f"fasten what moved and calibrate again, or: corporeal calibrate lift "
                    f"-c {self._path} --reason WHY")  # fmt: skip
        if standing.state == "good" and not self._asked.is_set():
            return ""
        seen = "; ".join(f"{each.name} to {each.camera}" for each in self._references)
        told = f" ({self._obstacle})" if self._obstacle else ""
        return f"check of the calibration: show {seen}, all at rest{told}"


def _cause_words(check: LoggedCheck) -> str:
    moved = [shift for shift in check.shifts if shift.cause in ("camera", "camera or marker")]
    if not moved:
        return check.why or "its markers were not where they were"
    worst = max(moved, key=lambda each: each.distance_m)
    who = worst.camera if worst.cause == "camera" else f"{worst.camera} or {worst.marker}"
    return (f"{who} was moved by {1e3 * worst.distance_m:.1f} mm and "
            f"{np.degrees(worst.angle_rad):.1f} degrees")  # fmt: skip


def _error_words(check: LoggedCheck) -> str:
    parts: Sequence[str] = [
        f"{shift.marker} by {shift.camera} off by {1e3 * shift.distance_m:.2f} mm and "
        f"{np.degrees(shift.angle_rad):.2f} degrees"
        for shift in check.shifts
    ]
    return "; ".join(parts)


def _minutes(now: datetime, then: datetime) -> str:
    minutes = max(0, round((now - then).total_seconds() / 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"
