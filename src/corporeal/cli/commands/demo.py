"""`corporeal demo`: the main job on embedded defaults, in a minute or two."""

from __future__ import annotations

import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table
from rich.text import Text

from corporeal import __version__
from corporeal.capture.driver import RecordingSource, drivers, parse_options
from corporeal.capture.health import Health
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.people import Privacy, set_privacy
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import FILE, Workspace, make_workspace, open_workspace
from corporeal.cli.command import Command, option
from corporeal.cli.commands.info import show
from corporeal.cli.export_run import next_lines, run, to_json
from corporeal.cli.export_run import show as show_export
from corporeal.cli.output import (
    COLOURS,
    AsJson,
    console,
    make_table,
    print_json,
    show_progress,
    stderr,
)
from corporeal.cli.release_source import release_source
from corporeal.episode import Episode
from corporeal.episode.facts import EpisodeFacts, EpisodeOutcome
from corporeal.episode.overview import plot_episode, summarise, verify
from corporeal.episode.recording import recording_of
from corporeal.errors import EpisodeError
from corporeal.exchange import ExportOptions, ExportResult, open_dataset
from corporeal.exchange.proof import Proof
from corporeal.labelling.annotation import Annotation, Edit, Put, Set, Step
from corporeal.labelling.proposal import propose
from corporeal.labelling.queues import take_next
from corporeal.labelling.review import accept, submit
from corporeal.labelling.tasks import TaskOptions, create_tasks, save_edits
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.quality.inspection import InspectionOptions, Report, inspect
from corporeal.quality.policy import default_policy
from corporeal.quality.reports import html
from corporeal.quality.verdict_folders import sort_into
from corporeal.release import ReleaseOptions, create_release
from corporeal.release.reading import open_release
from corporeal.simulation.rendering import CameraError, check_rendering

TASK = "pick_place"
QUEUE, TAXONOMY = "demo", "manipulation"
LATE_CAMERA, LATE_IMU, LATE_MS = "debug/external_front", "observations/pelvis_imu", 80.0

# Nobody in the demo is a person, so its charts may show everybody; a workspace of people says so
# itself.
_SIMULATED = Privacy(
    "managed",
    purpose="to show the charts of operators, all of whom are simulated",
    notice="none: nobody in the demo is a person",
    human_review="whoever runs the demo",
    objection="corporeal operator privacy data-only",
)


def demo(
    out: Annotated[Path, option("Folder for the demo.", "--out", "-o")] = Path("demo"),
    episodes: Annotated[int, option("How many demonstrations.", min=1, max=50)] = 4,
    seed: Annotated[int, option("Another seed, other demonstrations.", min=0)] = 2,
    as_json: AsJson = False,
) -> None:
    """Record a simulated Unitree G1 at pick and place, judge the episodes, release the good ones.

    One more is recorded with a camera that is 80 ms late, as a check of the checks. The folder
    becomes a workspace: episodes are ingested, the accepted ones labelled and released, and the
    release exported as a LeRobot dataset and Rerun recordings.

    Example: [bold]corporeal demo --out demo[/bold]
    """
    pictures = _can_draw()
    paths = _record(out, episodes, seed, pictures=pictures)
    late = LATE_CAMERA if pictures else LATE_IMU
    paths += _record(out, 1, seed + 1, pictures=pictures, late_ms={late: LATE_MS}, fault_share=0.0)
    report = _judge(paths, out)
    with Episode.open(paths[0]) as episode:
        summary = summarise(episode)
        picture = paths[0].with_suffix(".png")
        plot_episode(episode).savefig(picture)
    page = out / "report.html"
    reference = _catalogue(paths, out)
    released = _export(reference, out) if reference is not None else []
    if as_json:
        print_json({"episodes": [_plain(path, report) for path in paths],
                    "picture": str(picture), "report": str(page), "release": reference,
                    "released": [to_json(*each) for each in released]})  # fmt: skip
        return
    screen = console()
    screen.print(show(summary))
    screen.print(f"\n{len(paths)} episodes, the last with {late} {LATE_MS:.0f} ms late:\n")
    screen.print(_table(report))
    screen.print(
        Text.assemble(
            "\npicture: ", (str(picture), "bold"), "\nreport:  ", (str(page), "bold"), "\n"
        )
    )
    if reference is not None:
        screen.print(
            Text.assemble("released as ", (reference, "bold"), f" in the workspace {out}\n")
        )
        mode = _SIMULATED.mode
        screen.print(
            f"Its privacy mode is {mode}: figures of single operators are shown, since all of them "
            "are simulated.",
            soft_wrap=True,
        )
        screen.print()
    for exported, proof in released:
        show_export(exported, proof)
        screen.print()
    if reference is None:
        screen.print("no episode was accepted, so nothing is released\n")
    lines = [each for exported, _ in released
             for each in next_lines(exported)]  # fmt: skip
    if released:
        dataset = released[0][0].out
        lines.append(f"corporeal lineage {dataset} --episode 0 --row 60 --workspace {out}")
    screen.print("next:")
    for line in (
        *lines,
        f"corporeal failures {out / 'sorted'}",
        f"corporeal check {paths[-1]}",
        f"corporeal score {out}",
        f"corporeal plot {paths[-1]} -o page.png",
        f"corporeal record --driver sim --task reach --episodes 3 --out {out}",
    ):
        screen.print(f"  {line}", soft_wrap=True)
    screen.print(
        Text.assemble("\nsee it all: ", (f"{_program()} studio {out} --open", "bold")),
        soft_wrap=True,
    )


def _program() -> str:
    """This program as it was called, so that its name can be copied."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "corporeal" and called.exists() else "corporeal"


def _catalogue(paths: list[Path], out: Path) -> str | None:
    """Take the episodes into the workspace and release the accepted ones; NAME@VERSION."""
    is_new = not (out / FILE).is_file()
    opened = make_workspace if is_new else open_workspace
    with stderr().status("ingesting"), opened(out) as workspace:
        if is_new:
            with workspace.database.write() as connection:
                set_privacy(connection, _SIMULATED, by=Actor("demo", "admin"))
        done = ingest(workspace, paths, who="demo", batch="demo")
        if not done.count("accepted"):
            return None
        _label(workspace, by=Actor("demo", "lead"))
        release = create_release(
            workspace,
            "demo",
            ReleaseOptions(
                licence="CC0-1.0",
                where="batch = demo",
                deep=True,
                notes="Simulated; made by corporeal demo.",
            ),
            who="demo",
        )
        return release.reference


def _export(reference: str, out: Path) -> list[tuple[ExportResult, Proof | None]]:
    """The release as a dataset to train on, and as recordings to look at."""
    wanted = {"lerobot": "dataset", "rrd": "rerun"}
    if find_spec("rerun") is None:
        stderr().print("without Rerun recordings: pip install 'corporeal[viz]'", style="yellow")
        del wanted["rrd"]
    opener = partial(open_release, out.resolve(), reference)
    source = release_source([Path(reference)], out)
    assert source is not None
    options = ExportOptions(weights=source.weigh())
    written = [run(opener, _free(out / folder), name, options) for name, folder in wanted.items()]
    for exported, _ in written:
        source.describe(exported)
    return written


def _free(folder: Path) -> Path:
    """A name that no earlier demo has taken."""
    number = 1
    found = folder
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}_{number}")
    return found


def _judge(paths: list[Path], out: Path) -> Report:
    """Read every episode back whole, check it, and sort it by its verdict."""
    for path in paths:
        damage = verify(path)
        if damage:
            raise EpisodeError(f"{path}: {damage[0].path} {damage[0].message}.")
    with stderr().status("checking"):
        report = inspect(
            partial(open_dataset, paths), InspectionOptions(default_policy(), exhibits=True)
        )
    sort_into(report, out / "sorted")
    (out / "report.html").write_text(html.render(report, title="Corporeal demo"), "utf-8")
    return report


def _can_draw() -> bool:
    """Cameras need OpenGL; without it the demo goes on and says what is missing."""
    try:
        check_rendering()
    except CameraError as error:
        stderr().print(f"without cameras: {error}", style="yellow")
        return False
    return True


def _record(
    out: Path,
    episodes: int,
    seed: int,
    *,
    pictures: bool,
    fault_share: float = 0.3,
    late_ms: dict[str, float] | None = None,
) -> list[Path]:
    driver = drivers()["sim"]
    options = {"task": TASK, "episodes": episodes, "seed": seed, "fault_share": fault_share,
               "pictures": pictures, "height": 240, "width": 320,
               "late_ms": late_ms or {}}  # fmt: skip
    facts = {"operator": "op00", "station": "demo", "session": "demo",
             "software": f"corporeal {__version__}"}  # fmt: skip
    with show_progress("simulating and recording", episodes) as bar:

        def on_health(health: Health) -> None:
            doing = f"{health.state} {health.episode}" if health.episode else "simulating"
            bar.move(doing, health.episodes)

        settings = RecorderSettings(out, metadata=facts, episodes=episodes)
        source = RecordingSource("sim", driver, parse_options(driver, options))
        recorder = Recorder([source], settings, on_health=on_health)
        return recorder.run()


def _plain(path: Path, report: Report) -> dict[str, Any]:
    """An episode as JSON: its summary and what was found."""
    judged = next(each for each in report.episodes if each.source == path)
    with Episode.open(path) as episode:
        return summarise(episode).to_json() | {
            "verdict": judged.verdict,
            "findings": [finding.to_json() for finding in judged.findings],
        }


def _table(report: Report) -> Table:
    table = make_table("episode", "outcome", "verdict", "why")
    for episode in report.episodes:
        counting = [each for each in episode.findings if each.severity != "note"]
        # What happened comes before what else shows it: a fall also strikes hands and cameras.
        counting.sort(key=lambda each: each.check != "task_failed")
        facts = episode.synopsis.facts if episode.synopsis else EpisodeFacts()
        table.add_row(
            episode.source.name,
            _outcome(facts.outcome),
            Text(episode.verdict, style=COLOURS[episode.verdict]),
            "\n".join(f"{each.check}: {each.message}" for each in counting[:2]),
        )
    return table


def _outcome(outcome: EpisodeOutcome) -> Text:
    return Text(str(outcome), style={True: "green", False: "red", None: "yellow"}[outcome.success])


def _label(workspace: Workspace, *, by: Actor) -> None:
    """Propose labels for the accepted episodes, and confirm them as an annotator would."""
    with workspace.database.read() as connection:
        rows = list(every_episode(connection, "batch = demo and state = accepted"))
    starts, facts = _proposals({row.id: workspace.root / row.file for row in rows})
    with workspace.database.write() as connection:
        options = TaskOptions(QUEUE, double_share=0.0, blind_share=0.0)
        taxonomy = open_taxonomy(TAXONOMY)
        tasks = create_tasks(connection, list(starts), taxonomy, options, by=by, starts=starts)
    for _ in tasks:
        with workspace.database.write() as connection:
            task = take_next(connection, QUEUE, by=by)
            if task is None:
                break
            edit = _confirmation(task.annotation, facts[task.episode])
            save_edits(connection, task.id, [edit], base_version=task.version, by=by)
            submit(connection, task.id, by=by)
            accept(connection, task.id, by=by, why="made by corporeal demo")


def _proposals(files: dict[str, Path]) -> tuple[dict[str, Annotation], dict[str, dict[str, Any]]]:
    """The proposal for each episode, and what its file says of the objects in it."""
    taxonomy = open_taxonomy(TAXONOMY)
    starts: dict[str, Annotation] = {}
    facts: dict[str, dict[str, Any]] = {}
    for name, path in files.items():
        with Episode.open(path) as episode:
            facts[name] = episode.metadata
            recording = recording_of(episode)
            said = propose(recording, taxonomy, task=recording.facts.task)
            if said is not None and said.segments:
                starts[name] = said
    return starts, facts


def _confirmation(said: Annotation, facts: dict[str, Any]) -> Edit:
    """What an annotator does who finds every proposal right: confirm it, and name the object."""
    things = facts.get("variation", {}).get("things") or [{}]
    known = {
        "object": f"{things[0].get('colour', 'some')}_{things[0].get('shape', 'object')}",
        "hand": facts.get("variation", {}).get("hand", "right"),
        "grasp_type": "precision_pinch",
    }
    asked = {(lane.name, label.name): label.attributes
             for lane, label in open_taxonomy(TAXONOMY).labels()}  # fmt: skip
    steps: list[Step] = []
    for segment in said.segments:
        needed = {name: known[name] for name in asked[segment.lane, segment.label]
                  if name in known}  # fmt: skip
        steps.append(Put(put=segment.model_copy(
            update={"confirmed": True, "attributes": {**needed, **segment.attributes}}
        )))  # fmt: skip
    if said.outcome is None:
        steps.append(Set(set={"outcome": "success"}))
    return Edit(id="demo-confirms", action="accept", steps=tuple(steps))


COMMAND = Command(demo, panel="Start")
