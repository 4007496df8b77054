"""`corporeal record`: a source to episodes, with its health before your eyes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from corporeal import __version__
from corporeal.capture.driver import RecordingSource, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import TeamDocuments, join_sources, open_rig, open_team_documents
from corporeal.capture.trigger import Button, TerminalKeys, Trigger, motion_trigger
from corporeal.cli.card_desk import CardDesk
from corporeal.cli.command import Command, option, read_pairs
from corporeal.cli.judging import EpisodeJudge, EpisodeVerdict, JudgingTerms
from corporeal.cli.output import COLOURS, AsJson, console, emphasise, print_json, stderr
from corporeal.cli.recording_view import RecordingView
from corporeal.cli.session_checks import SessionChecks
from corporeal.cli.workspaces import enter_workspace, read_catalog, write_catalog
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.protocol.card import operator_card
from corporeal.quality.policy import open_policy
from corporeal.words import byte_size, counted

_TRIGGERS = {"button": "key", "motion": "motion", "automatic": "auto"}
# Nine times the share of a program that asked for nothing.
_NICENESS = -10
_DAY_S = 24 * 3600.0


def record(
    driver: Annotated[
        list[str] | None,
        option(
            "A source, DRIVER or NAME=DRIVER; several make one episode. See --list-drivers.",
            metavar="DRIVER",
        ),
    ] = None,
    rig: Annotated[
        Path | None, option("A rig document: sources, clocks, schema, protocol, calibration.")
    ] = None,
    out: Annotated[Path, option("Folder for the episodes.", "--out", "-o")] = Path("recordings"),
    task: Annotated[str | None, option("Task, as the protocol calls it.")] = None,
    episodes: Annotated[int | None, option("Stop after so many.", min=1)] = None,
    plan: Annotated[
        int | None, option("How many takes today is to have; shown, and ends nothing.", min=1)
    ] = None,
    operator: Annotated[str | None, option("Who demonstrates.")] = None,
    station: Annotated[str | None, option("Where.")] = None,
    session: Annotated[str, option("Name of this run of episodes.")] = "session",
    mode: Annotated[str | None, option("How it is collected: teleoperation, ...")] = None,
    schema: Annotated[str | None, option("The team's schema: a built-in name or a file.")] = None,
    protocol: Annotated[str | None, option("The protocol: a built-in name or a file.")] = None,
    calibration: Annotated[Path | None, option("The calibration document.")] = None,
    trigger: Annotated[
        str | None,
        option("What starts and ends an episode: auto, motion or key; else the protocol says."),
    ] = None,
    option: Annotated[
        list[str] | None,
        option("An option of the driver, NAME=VALUE; of several, SOURCE.NAME=VALUE.", "--set"),
    ] = None,
    metadata: Annotated[list[str] | None, option("A metadata field, NAME=VALUE.", "--meta")] = None,
    despite_halt: Annotated[
        str | None,
        option(
            "Why to record although the station's calibration failed its check; kept in every "
            "episode."
        ),
    ] = None,
    despite_rest: Annotated[
        str | None,
        option(
            "Why takes may begin although a break is due, by a lead; kept in every such episode "
            "and, with --workspace, in the audit log."
        ),
    ] = None,
    health_port: Annotated[
        int | None, option("Port to publish health on; else one of 8790 to 8813.", min=0, max=65535)
    ] = None,
    check: Annotated[bool, option("Judge every episode as soon as it is written.")] = True,
    policy: Annotated[Path | None, option("A policy document of your own to judge by.")] = None,
    root: Annotated[
        Path | None, option("Take every episode into this workspace.", "--workspace", "-w")
    ] = None,
    campaign: Annotated[
        str | None,
        option("Follow the cards of this campaign of the workspace; its protocol is used."),
    ] = None,
    list_drivers: Annotated[bool, option("List the sources.", "--list-drivers")] = False,
    as_json: AsJson = False,
) -> None:
    """Record episodes from one source, or from several together; Ctrl-C ends it in order.

    What arrives is on disk within 0.2 s. After a crash or a power cut: corporeal recover.
    With --trigger key people start and end episodes: with keys here, on Studio's page Floor, or by
    a pedal. Pages and pedals of this machine may also discard, and mark outcomes, segments and
    notes: address and token are in marks.json beside the episodes, for this user alone.
    Every episode is judged by another process as soon as it is written, while the next one is
    recorded; a verdict does not change the exit code. Where the calibration names markers, they
    are looked at at the start, at the end and as often as it says; while a check has failed, no
    episode begins. Where --operator is named, work without a break of 15 minutes in the hour, or of
    more than four hours in a day, lets no episode begin; a protocol's `work` says other limits.

    Example: [bold]corporeal record --driver sim --task pick_place --episodes 5 --out demos[/bold]
    """
    if list_drivers:
        _list_drivers(as_json)
        return
    given = read_pairs(option, "--set")
    if rig is not None:
        named = {"--driver": driver, "--set": option, "--schema": schema, "--protocol": protocol,
                 "--calibration": calibration}  # fmt: skip
        flags = [flag for flag, value in named.items() if value]
        if flags:
            raise CorporealError(f"{flags[0]} beside --rig; expected one of them. Write it there.")
        sources, team = open_rig(rig)
    else:
        sources = _sources(driver or ["sim"], given, task=task, episodes=episodes)
        team = open_team_documents(schema=schema, protocol=protocol, calibration=calibration)
    facts = {
        "software": f"corporeal {__version__}",
        "session": session,
        **read_pairs(metadata, "--meta"),
    }
    if campaign is not None and root is None:
        raise CorporealError("--campaign, got no workspace; expected --workspace FOLDER beside it.")
    facts |= {name: value for name, value in
              (("task", task), ("operator", operator), ("station", station), ("mode", mode))
              if value}  # fmt: skip
    _allow_without_rest(despite_rest, facts, root)
    settings = RecorderSettings(
        out, metadata=facts, episodes=episodes, plan=plan, despite_rest=despite_rest
    )
    judge: EpisodeJudge | None = None
    with ExitStack() as stack:
        cards: CardDesk | None = None
        if campaign is not None and root is not None:
            cards = stack.enter_context(
                CardDesk(campaign, root, station=station, operator=operator)
            )
            team = _under_campaign(team, cards, campaign)
            sources = tuple(each.following(cards.wait_for_next) for each in sources)
        view = RecordingView(stack, out, health_port, quiet=as_json or not sys.stderr.isatty())
        if check or root is not None:
            terms = JudgingTerms(policy, check=check, workspace=root,
                                 batch=None if root is None else session)  # fmt: skip
            judge = _open_judge(stack, view, terms)
        cues = _trigger(trigger, sources, team)
        checks = _open_checks(
            stack, _calibration_file(rig, calibration, team), team, root=root,
            station=facts.get("station"), override=despite_halt,
        )  # fmt: skip
        take_precedence()
        recorder = Recorder(
            sources,
            settings,
            team=team,
            trigger=cues,
            on_health=view.show,
            on_picture=_shown(view, checks),
            on_episode=None if judge is None else judge.judge,
            watch=checks,
            cards=cards,
            elsewhere=None if root is None else partial(_takes_elsewhere, root),
        )
        view.take_marks(recorder)
        _show_card(recorder, quiet=as_json)
        _show_unsure(team, quiet=as_json)
        if isinstance(cues, Button):
            threading.Thread(target=_watch_keys, args=(recorder,), daemon=True).start()
            stderr().print(TerminalKeys.HELP, soft_wrap=True)
        _stop_on_interrupt(recorder, stack)
        paths = recorder.run()
        if cards is not None and cards.ending:
            stderr().print(cards.ending, markup=False, soft_wrap=True)
    _report(recorder, paths, judge.verdicts if judge is not None else [], cues, as_json)


def _takes_elsewhere(root: Path, operator: str) -> list[tuple[float, float]]:
    """The takes of an operator at any station since yesterday, as the workspace has them."""
    # Only here: the libraries of a database take a second to load.
    from corporeal.catalog.people import takes_of

    with read_catalog(root, "ingest") as connection:
        return takes_of(connection, operator, since_s=time.time() - _DAY_S)


def _under_campaign(team: TeamDocuments, cards: CardDesk, name: str) -> TeamDocuments:
    """The team's documents with the campaign's protocol; raises where another one is named."""
    if team.protocol is not None and team.protocol.hash != cards.protocol.hash:
        raise CorporealError(
            f"protocol, got {team.protocol.reference}; expected that of the campaign {name}, "
            f"{cards.protocol.reference}. Leave it out, or record for another campaign."
        )
    return replace(team, protocol=cards.protocol)


def _allow_without_rest(why: str | None, facts: Mapping[str, Any], root: Path | None) -> None:
    """Let work go on without a break: a lead's word, with a reason that stays in the audit log."""
    if why is None:
        return
    if not why.strip() or not facts.get("operator"):
        raise CorporealError(
            "--despite-rest, got no reason or no --operator; expected both: who goes on, and why."
        )
    if root is None:
        return
    # Only here: the libraries of a database take a second to load.
    from corporeal.catalog.audit import Change
    from corporeal.catalog.audit import record as log

    with write_catalog(root, "judge") as (connection, actor):
        subject = f"operator:{facts['operator']}"
        details = {"session": str(facts.get("session", "")), "station": facts.get("station")}
        log(connection, [Change(actor.name, "work without a break", subject, why, details)])


def take_precedence() -> None:
    """Let this thread, and those it starts, go before other programs, where the system lets us.

    A recorder needs little of a processor, and needs it at once: beside programs that want more
    than there is, samples wait in memory for their turn, and a power cut would lose them.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)


def _calibration_file(rig: Path | None, named: Path | None, team: TeamDocuments) -> Path | None:
    """The file of the calibration that episodes follow; its log of checks lies beside it."""
    if rig is None or team.rig is None or "calibration" not in team.rig.follows:
        return named
    return rig.parent / team.rig.follows["calibration"]


def _open_checks(
    stack: ExitStack, path: Path | None, team: TeamDocuments, *, root: Path | None,
    station: Any, override: str | None,
) -> SessionChecks | None:  # fmt: skip
    """The checks of this session, where the calibration names markers; raises while halted."""
    document = team.calibration
    if document is None or document.verification is None or path is None:
        if override is not None:
            raise CorporealError(
                "--despite-halt, got no calibration with markers; expected one that can be halted. "
                "Leave it out."
            )
        return None
    page = stderr()
    checks = SessionChecks(
        path, document, root=root, station=None if station is None else str(station),
        override=override, say=lambda line: page.print(line, soft_wrap=True, markup=False),
    )  # fmt: skip
    checks.require_good()
    return stack.enter_context(checks)


def _shown(view: RecordingView, checks: SessionChecks | None) -> Callable[[str, Any], None]:
    """Who gets the pictures of the cameras."""
    if checks is None:
        return view.show_picture

    def show(stream: str, picture: Any) -> None:
        view.show_picture(stream, picture)
        checks.show_picture(stream, picture)

    return show


def _show_unsure(team: TeamDocuments, *, quiet: bool) -> None:
    """What the calibration itself is not sure of: episodes that follow it are quarantined."""
    if team.calibration is None or quiet:
        return
    for unsure in team.calibration.find_unsure():
        stderr().print(f"calibration {team.calibration.reference}: {unsure.words}", style="yellow",
                       soft_wrap=True, markup=False)  # fmt: skip


def _show_card(recorder: Recorder, *, quiet: bool) -> None:
    """What the protocol tells the operator, before the first episode."""
    if recorder.team.protocol is None or quiet:
        return
    interface = read_facts(recorder.settings.metadata).other.get("interface")
    for line in operator_card(recorder.team.protocol, interface=interface):
        stderr().print(line, style="dim", soft_wrap=True)


def _open_judge(stack: ExitStack, view: RecordingView, terms: JudgingTerms) -> EpisodeJudge:
    """A judge that says every verdict at once; what is wrong with its terms is said before."""
    open_policy(terms.policy)
    if terms.workspace is not None:
        with enter_workspace(terms.workspace, "ingest"):
            pass
    judge = EpisodeJudge(terms, view.show_verdict)
    stack.callback(judge.close)
    return judge


def _sources(
    texts: list[str], given: dict[str, str], *, task: str | None, episodes: int | None
) -> tuple[RecordingSource, ...]:
    """The sources that the command line names; a prefix keeps the streams of one apart."""
    known = drivers()
    pairs = [text.rpartition("=")[::2] for text in texts]
    sources: list[RecordingSource] = []
    for name, driver_name in pairs:
        if driver_name not in known:
            raise UnknownNameError("driver", driver_name, known)
        source, driver = name or driver_name, known[driver_name]
        mine: dict[str, Any] = {
            key.removeprefix(f"{source}."): value
            for key, value in given.items()
            if len(pairs) == 1 or key.startswith(f"{source}.")
        }
        for key, value in (("task", task), ("episodes", episodes)):
            if value is not None and key in driver.options.model_fields:
                mine.setdefault(key, value)
        prefix = f"{name}_" if name and sources else ""
        sources.append(RecordingSource(source, driver, parse_options(driver, mine), prefix=prefix))
    names = [source.name for source in sources]
    for key in given if len(pairs) > 1 else ():
        if key.partition(".")[0] not in names or "." not in key:
            raise CorporealError(
                f"--set, got {key!r}; expected SOURCE.NAME=VALUE, the source one of: "
                f"{', '.join(names)}."
            )
    return tuple(sources)


def _report(
    recorder: Recorder,
    paths: list[Path],
    verdicts: Sequence[EpisodeVerdict],
    cues: Trigger | None,
    as_json: bool,
) -> None:
    health = recorder.health()
    late = sum(stream.late for stream in health.streams)
    refused = {s.path: s.reason for s in health.streams if s.refused}
    refused |= dict.fromkeys(recorder.unannounced, "the driver did not announce this stream")
    quarantined = {str(path): reason for path, reason in recorder.quarantined.items()}
    if as_json:
        print_json({"episodes": [str(path) for path in paths], "quarantined": quarantined,
                    "missed": late, "refused": refused, "verdicts": list(verdicts),
                    "problems": list(recorder.rig.problems)})  # fmt: skip
        return
    page = console()
    for problem in recorder.rig.problems:
        page.print(f"! {problem}", style="yellow", soft_wrap=True, markup=False)
    for stream, reason in refused.items():
        page.print(f"! {stream}: samples dropped: {reason}", style="yellow", markup=False)
    for name, reason in quarantined.items():
        page.print(f"! {name} is quarantined: {reason}", style="yellow", soft_wrap=True,
                   markup=False)  # fmt: skip
    lost = sum(stream.refused for stream in health.streams) + sum(recorder.unannounced.values())
    page.print(
        f"{counted(len(paths), 'episode')}, {counted(late, 'sample')} missed, {lost} dropped"
    )
    judged = {verdict.path: verdict for verdict in verdicts}
    for path in paths:
        verdict = judged[path].verdict or "unchecked" if path in judged else ""
        column = (f"{verdict:12}" if judged else "", COLOURS.get(verdict, ""))
        page.print(Text.assemble("  ", column, f"{path}  {_length(path)}"), soft_wrap=True)
    if paths:
        troubled = [each.path for each in verdicts if each.findings]
        page.print(f"next: corporeal check {troubled[-1]}" if troubled
                   else f"next: corporeal info {paths[-1]}")  # fmt: skip
    else:
        page.print(_nothing(cues))


def _length(path: Path) -> str:
    """How long and how large an episode is."""
    with Episode.open(path) as episode:
        first, last = episode.span_ns
    return f"{(last - first) / 1e9:.1f} s, {byte_size(path.stat().st_size)}"


def _nothing(trigger: Trigger | None) -> str:
    """Why nothing was recorded, by what was to start it."""
    if isinstance(trigger, Button):
        return "nobody started an episode (Enter does); nothing was recorded"
    if trigger is not None:
        return "nothing moved far enough to begin; nothing was recorded. Try: --trigger key"
    return "the source began no demonstration; nothing was recorded. Try: --trigger key or motion"


def _trigger(
    name: str | None, sources: Sequence[RecordingSource], team: TeamDocuments
) -> Trigger | None:
    protocol = team.protocol
    if protocol is not None:
        agreed = _TRIGGERS[protocol.trigger.kind]
        if name not in (None, agreed):
            raise CorporealError(
                f"--trigger, got {name!r}; expected {agreed!r}, as the protocol "
                f"{protocol.reference} says. Leave it out, or use another protocol."
            )
        name = agreed
    if name in (None, "auto"):
        return None
    if name == "motion":
        return motion_trigger(join_sources(sources, team.schema).schema)
    if name == "key":
        return Button()
    raise UnknownNameError("trigger", str(name), ("auto", "motion", "key"))


def _watch_keys(recorder: Recorder) -> None:
    """Lines of the terminal as marks; what cannot be taken is said."""
    keys = TerminalKeys()
    for line in sys.stdin:
        try:
            reason = recorder.enter(keys.read(line))
        except CorporealError as error:
            reason = str(error)
        if reason is not None:
            stderr().print(reason, markup=False, soft_wrap=True)


def _stop_on_interrupt(recorder: Recorder, stack: ExitStack) -> None:
    """Ctrl-C and a polite kill end the recording in order; a second Ctrl-C at once."""

    def stop(number: int, frame: object) -> None:
        del frame
        recorder.stop()
        signal.signal(number, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        earlier = signal.signal(number, stop)
        stack.callback(signal.signal, number, earlier)


def _list_drivers(as_json: bool) -> None:
    listed: dict[str, Any] = {}
    for name, driver in drivers().items():
        about = (sys.modules[driver.read.__module__].__doc__ or "").strip()
        options = list(driver.options.model_fields)
        if as_json:
            listed[name] = {"live": driver.is_live, "about": about, "options": options}
            continue
        console().print(emphasise(name, f"  {about}"))
        console().print(f"    options: {', '.join(options) or 'none'}", style="dim")
    if as_json:
        print_json(listed)


COMMAND = Command(record, panel="Record")
