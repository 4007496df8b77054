"""`corporeal calibrate reference, verify, checks, lift`: whether a station's calibration holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
import yaml

from corporeal.calibration.board import open_board
from corporeal.calibration.verification import (
    CalibrationCheck,
    CameraLook,
    LoggedCheck,
    append,
    camera_of,
    check_resolution,
    compare_looks,
    find_creeps,
    log_of,
    look_at,
    markers_of,
    plot_checks,
    plot_looks,
    read_log,
    reference_from,
    with_reference,
)
from corporeal.catalog.accounts import system_user
from corporeal.cli.check_notes import lift_in, moment_now, note_check, show_creep
from corporeal.cli.command import argument, option
from corporeal.cli.live_pictures import take_pictures
from corporeal.cli.output import (
    AsJson,
    check_picture,
    console,
    make_table,
    print_json,
    save_picture,
)
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.files import atomic_write
from corporeal.protocol import Calibration
from corporeal.protocol.verification import MarkerReference
from corporeal.words import counted

Station = Annotated[
    Path, option("The station's calibration document.", "--calibration", "-c")
]  # fmt: skip
_Sources = Annotated[
    list[str] | None,
    argument("Pictures, a movie or an episode; of several cameras CAMERA=SOURCE each."),
]
_Driver = Annotated[
    list[str] | None, option("A live source: DRIVER, or CAMERA=DRIVER.", metavar="DRIVER")
]
_Settings = Annotated[list[str] | None, option("An option of the driver, NAME=VALUE.", "--set")]
_Report = Annotated[Path | None, option("A picture of it: .png, .pdf or .svg.")]
_When = Annotated[str, option("Which pictures of an episode or movie: start or end.")]


def reference(
    sources: _Sources = None,
    calibration: Station = Path("cell.yaml"),
    board: Annotated[str, option("The marker: a ready board, or the path of its document.")] = (
        "verification_a4"
    ),
    camera: Annotated[str | None, option("The camera that sees it; by default the only one.")] = (
        None
    ),
    marker: Annotated[str | None, option("What the marker is called.")] = None,
    driver: _Driver = None,
    settings: _Settings = None,
    when: _When = "end",
    every_min: Annotated[float | None, option("A check is due so often.", min=1, max=480)] = None,
    max_mm: Annotated[float | None, option("The shift that halts collection.", min=0.01)] = None,
    max_deg: Annotated[float | None, option("The turn that halts it.", min=0.01)] = None,
    frames: Annotated[int | None, option("Pictures of one look.", min=3, max=200)] = None,
    as_json: AsJson = False,
) -> None:
    """Note where a camera sees a marker while the calibration is known to be right.

    Give several sources, taken some minutes apart, and what differs between them counts as well.

    Example: [bold]corporeal calibrate reference marker.mp4 -c cell.yaml[/bold]
    """
    document = Calibration.load(calibration)
    known = camera_of(document, camera or _only_camera(document))
    target = open_board(board)
    plan = document.verification
    wanted = frames or (30 if plan is None else plan.frames)
    looks = _looks([known.name], document, sources, driver, settings, frames=wanted, when=when)
    noted = reference_from(looks, marker or target.name, target, known)
    limits = {
        "every_min": every_min,
        "frames": frames,
        "max_position_m": None if max_mm is None else max_mm / 1e3,
        "max_rotation_rad": None if max_deg is None else float(np.radians(max_deg)),
    }
    stated = {name: value for name, value in limits.items() if value is not None}
    new = with_reference(plan, noted, stated)
    check_resolution(noted, new)
    written = _write(calibration, document, new.model_dump(mode="json", exclude_none=True))
    if as_json:
        print_json({"calibration": written.reference, "out": calibration,
                    "marker": noted.model_dump(mode="json", exclude={"board"})})  # fmt: skip
        return
    _show_reference(noted, written)
    console().print(f"wrote {calibration}")
    console().print(f"next: corporeal calibrate verify SOURCE -c {calibration}")


def verify(
    sources: _Sources = None,
    calibration: Station = Path("cell.yaml"),
    camera: Annotated[str | None, option("Only this camera; by default every one given.")] = None,
    driver: _Driver = None,
    settings: _Settings = None,
    when: _When = "end",
    station: Annotated[str | None, option("Where; episodes say it as well.")] = None,
    root: WorkspaceOption = None,
    here: Annotated[
        bool, option("Note it in the log alone, not in a workspace.", "--log-only")
    ] = False,
    report: _Report = None,
    as_json: AsJson = False,
) -> None:
    """Look at the markers of a station: does its calibration still hold?

    Exit 1 when a camera was moved: collection halts, and every episode since the last good check
    is quarantined. Due at the start, at the end and every 30 to 60 minutes of a session.

    Example: [bold]corporeal calibrate verify marker.mp4 -c cell.yaml[/bold]
    """
    if report is not None:
        check_picture(report)
    document = Calibration.load(calibration)
    named = [camera] if camera else _cameras_given(document, sources, driver)
    references = markers_of(document, named)
    plan = document.verification
    assert plan is not None
    cameras = list(dict.fromkeys(each.camera for each in references))
    looks = _looks(cameras, document, sources, driver, settings, frames=plan.frames, when=when)
    shifts = compare_looks(document, looks, references)
    check = CalibrationCheck(
        document.reference, shifts, _when(sources, when),
        system_user(), ", ".join(dict.fromkeys(look.source for look in looks)),
    )  # fmt: skip
    if report is not None:
        save_picture(plot_looks(document, looks, references, shifts), report)
    note_check(check, calibration, root=root, station=station, log_only=here, as_json=as_json)
    if not check.passed:
        raise typer.Exit(1)


def checks(
    calibration: Annotated[Path, argument("The station's calibration document.")],
    last: Annotated[int, option("How many to show.", min=1)] = 20,
    report: _Report = None,
    as_json: AsJson = False,
) -> None:
    """The checks of a station, and whether a marker creeps: EWMA and CUSUM beside the limits.

    Example: [bold]corporeal calibrate checks cell.yaml[/bold]
    """
    document = Calibration.load(calibration)
    entries = read_log(log_of(calibration))
    creeps = find_creeps(entries, document.reference)
    if report is not None:
        check_picture(report)
        save_picture(plot_checks(entries, f"checks of {document.name}"), report)
    if as_json:
        print_json({"checks": [entry.to_json() for entry in entries[-last:]],
                    "creeps": [vars(each) | {"is_alarming": each.is_alarming}
                               for each in creeps]})  # fmt: skip
        return
    table = make_table("when", "verdict", "marker", "mm", "degrees", "cause",
                       right=("mm", "degrees"))  # fmt: skip
    for entry in entries[-last:]:
        table.add_row(*_first_cells(entry), *_shift_cells(entry))
    console().print(table)
    for creep in creeps:
        show_creep(creep)


def lift(
    reason: Annotated[str, option("Why the episodes may be used after all.")],
    calibration: Annotated[
        Path | None, option("The station's calibration document.", "--calibration", "-c")
    ] = None,
    key: Annotated[str | None, option("Which halt; by default the open one.")] = None,
    root: WorkspaceOption = None,
    here: Annotated[bool, option("There is no workspace: note it in the log.", "--log-only")] = (
        False
    ),
    as_json: AsJson = False,
) -> None:
    """Lift a halt: its episodes are again what they were, and collection goes on.

    Example: [bold]corporeal calibrate lift -c cell.yaml --reason 'the marker was kicked'[/bold]
    """
    document = None if calibration is None else Calibration.load(calibration)
    if here and document is None:
        raise CorporealError("--log-only, got no --calibration; expected the station's document.")
    done = None if here else lift_in(root, document, key, reason)
    if document is not None and calibration is not None:
        entry = LoggedCheck(
            "lift", moment_now(), document.reference, system_user(), passed=True, why=reason
        )
        append(log_of(calibration), entry)
    if as_json:
        print_json({"lifted": None if done is None else done.halt.key,
                    "episodes": 0 if done is None else done.count,
                    "kept": {} if done is None else dict(done.kept), "reason": reason})  # fmt: skip
        return
    if done is not None:
        console().print(f"lifted {done.halt.key}: {counted(done.count, 'episode')} as before")
        if done.kept:
            console().print(f"{len(done.kept)} were judged by a person since and stay as they are")
    console().print("collection may go on; the next check is due as if this one had passed")


def _only_camera(document: Calibration) -> str:
    if len(document.cameras) == 1:
        return document.cameras[0].name
    known = ", ".join(each.name for each in document.cameras) or "none"
    raise CorporealError(f"--camera, got none; expected one of {document.reference}: {known}.")


def _cameras_given(
    document: Calibration, sources: Sequence[str] | None, driver: Sequence[str] | None
) -> list[str] | None:
    """The cameras that the sources name; None where an episode or a single one says itself."""
    names = [text.partition("=")[0] for text in (*(sources or ()), *(driver or ())) if "=" in text]
    known = [each.name for each in document.cameras]
    return [name for name in names if name in known] or None


def _looks(
    cameras: Sequence[str], document: Calibration, sources: Sequence[str] | None,
    driver: Sequence[str] | None, settings: Sequence[str] | None, *, frames: int, when: str,
) -> list[CameraLook]:  # fmt: skip
    if when not in ("start", "end"):
        raise CorporealError(f"--when, got {when!r}; expected start or end.")
    if bool(sources) == bool(driver):
        raise CorporealError("source, got none or two kinds; expected SOURCE or --driver.")
    if driver:
        pictures = take_pictures(driver, settings, cameras, frames=frames)
        return [CameraLook(name, taken, f"live {name}") for name, taken in pictures.items()]
    looks = []
    for name in cameras:
        for source in _sources_of(name, list(sources or ()), cameras):
            looks.append(look_at(source, camera_of(document, name), frames=frames,
                                 when="start" if when == "start" else "end"))  # fmt: skip
    return looks


def _sources_of(camera: str, sources: Sequence[str], cameras: Sequence[str]) -> Iterator[Path]:
    """What was given for a camera: named, or an episode, or the only camera's."""
    found = False
    for text in sources:
        name, sign, rest = text.partition("=")
        is_named = bool(sign) and name in cameras
        path = Path(rest if is_named else text)
        if (is_named and name != camera) or not path.exists():
            if not is_named or name == camera:
                raise CorporealError(f"{path} does not exist; expected pictures of {camera}.")
            continue
        if not is_named and path.suffix != ".h5" and len(cameras) > 1:
            raise CorporealError(
                f"{path}, got no camera; expected CAMERA=SOURCE, one of: {', '.join(cameras)}."
            )
        found = True
        yield path
    if not found:
        raise CorporealError(f"camera {camera}, got no pictures; expected {camera}=SOURCE.")


def _when(sources: Sequence[str] | None, when: str) -> str:
    """The moment of a check: that of the episode where it is one, else now."""
    for text in sources or ():
        path = Path(text.partition("=")[2] or text)
        if path.suffix == ".h5":
            with Episode.open(path) as episode:
                first, last = episode.span_ns
                moment = episode.epoch_ns + (first if when == "start" else last)
            return datetime.fromtimestamp(moment / 1e9, UTC).isoformat(timespec="milliseconds")
    return moment_now()


def _write(path: Path, document: Calibration, plan: dict[str, Any]) -> Calibration:
    """The document with this plan, a version higher."""
    values = document.model_dump(mode="json", exclude_none=True)
    major, minor, patch = (int(number) for number in document.version.split("."))
    values |= {"version": f"{major}.{minor}.{patch + 1}", "verification": plan}
    new = Calibration.model_validate(values)
    text = yaml.safe_dump(new.model_dump(mode="json", exclude_none=True), sort_keys=False,
                          allow_unicode=True, width=100)  # fmt: skip
    atomic_write(path, text)
    return new


def _show_reference(noted: MarkerReference, written: Calibration) -> None:
    place = ", ".join(f"{1e3 * value:.1f}" for value in noted.xyz)
    position, turn = max(noted.position_sigma_m), max(noted.rotation_sigma_rad)
    console().print(
        f"{written.reference}: {noted.camera} sees {noted.name} at {place} mm in {noted.frame}, "
        f"told to {1e3 * position:.2f} mm and {np.degrees(turn):.2f} degrees"
    )
    if noted.frame not in ("world", "camera"):
        console().print(
            f"that is in the frame {noted.frame}: from pictures alone, verify in the same posture"
        )


def _first_cells(entry: LoggedCheck) -> tuple[str, str]:
    verdict = "lifted" if entry.what == "lift" else "good" if entry.passed else "halt"
    return entry.at[:16].replace("T", " "), verdict


def _shift_cells(entry: LoggedCheck) -> tuple[str, str, str, str]:
    if not entry.shifts:
        return "", "", "", entry.why
    names = "\n".join(f"{each.marker} by {each.camera}" for each in entry.shifts)
    mm = "\n".join(f"{1e3 * each.distance_m:.2f}" for each in entry.shifts)
    degrees = "\n".join(f"{np.degrees(each.angle_rad):.2f}" for each in entry.shifts)
    return names, mm, degrees, "\n".join(each.cause for each in entry.shifts)
