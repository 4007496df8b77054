"""Judges episodes as they are written, in a process of its own that gives way to the recorder."""

from __future__ import annotations

import multiprocessing
import os
import queue
import re
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from rich.text import Text

from corporeal.capture.recorder import RuleHealth
from corporeal.cli.output import COLOURS
from corporeal.cli.workspaces import enter_workspace
from corporeal.episode import Episode
from corporeal.episode.facts import EpisodeFacts, read_facts
from corporeal.errors import CorporealError
from corporeal.exchange import open_dataset
from corporeal.protocol import Protocol
from corporeal.quality.assessment import Assessment, adherence
from corporeal.quality.check import Finding, Severity, checks, explain, title_of
from corporeal.quality.inspection import InspectionOptions, inspect
from corporeal.quality.policy import open_policy

# As little of the machine as the system lets one have; the recorder goes first.
_NICENESS = 15
_MOST_NAMES, _MOST_WORDS = 6, 2
# What a failure that somebody stated is found by: no reason to record it again.
_STATED = "task_failed"
_SENTENCE = re.compile(r"[.;](?:\s|$)")
_LONGEST_RULE = 200


@dataclass(frozen=True)
class EpisodeVerdict:
    """What became of one episode: its verdict, and the names of what was found against it.

    `verdict` is None where it could not be judged; `reason` then says why. `status` is what the
    workspace did with it, where there is one; `words` is what an operator is told, `suggestion` one
    thing to do otherwise, and `rules` go through the protocol.
    """

    path: Path
    verdict: str | None
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    status: str | None = None
    words: str = "not checked"
    suggestion: str = ""
    rules: tuple[RuleHealth, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values; what holds for nobody is left out."""
        plain = {
            "episode": str(self.path),
            "verdict": self.verdict,
            "findings": list(self.findings),
            "notes": list(self.notes),
            "reason": self.reason,
            "status": self.status,
            "suggestion": self.suggestion,
            "rules": [vars(rule) for rule in self.rules],
        }
        optional = ("status", "suggestion", "rules")
        return {name: value for name, value in plain.items() if name not in optional or value}

    def feedback(self) -> list[Text]:
        """What an operator reads below the line: one thing to do otherwise, and rules broken."""
        lines = [Text(f"  next time: {self.suggestion}", "cyan")] if self.suggestion else []
        judged = [rule for rule in self.rules if rule.kept is not None]
        if judged:
            kept = sum(rule.kept is True for rule in judged)
            lines.append(Text(f"  protocol: {kept} of {len(judged)} rules kept", "dim"))
            lines += [Text(f"  broken, {rule.name}: {rule.message}", "yellow")
                      for rule in judged if not rule.kept]  # fmt: skip
        return lines

    def line(self) -> Text:
        """One line for people: verdict, name, and what was found."""
        verdict = self.verdict or "unchecked"
        names = ", ".join(self.findings[:_MOST_NAMES])
        if len(self.findings) > _MOST_NAMES:
            names += f" and {len(self.findings) - _MOST_NAMES} more"
        reason = self.reason or "" if self.verdict is None or not names else ""
        parts = [part for part in (names, reason, self.status or "") if part]
        tail = f": {'; '.join(parts)}" if parts else ""
        return Text.assemble((verdict, COLOURS.get(verdict, "yellow")), f" {self.path.name}{tail}")


@dataclass(frozen=True)
class JudgingTerms:
    """By which rules, and into which workspace; it travels to the process that judges.

    Without `check` episodes are taken into the workspace as they are, and judged later.
    """

    policy: Path | None = None
    check: bool = True
    pictures: bool = True
    workspace: Path | None = None
    batch: str | None = None


def judge_episode(path: Path, terms: JudgingTerms) -> EpisodeVerdict:
    """Judge one episode file, under its own protocol; with a workspace it is taken in."""
    try:
        if terms.workspace is not None:
            return _take_in(path, terms)
        return _judge(path, terms)
    except (CorporealError, OSError) as error:
        return EpisodeVerdict(path, None, reason=str(error))


@dataclass(frozen=True)
class _Fault:
    """A finding as far as an operator needs it."""

    check: str
    stream: str | None
    severity: str


def operator_words(verdict: str | None, faults: Sequence[_Fault], facts: EpisodeFacts) -> str:
    """The verdict as whoever recorded the take needs it: good, redo and why, or kept as it is."""
    if "discarded" in facts.other:
        return "discarded: kept, and held back"
    if verdict is None:
        return "not checked"
    grave = [each for each in faults if each.severity == "fail"] or list(faults)
    streams: dict[str, list[str]] = {}
    for each in grave:
        streams.setdefault(each.check, []).extend([each.stream] if each.stream else [])
    named = [_fault_words(check, where) for check, where in streams.items()]
    if verdict == "accepted" or not named:
        return "good" if verdict == "accepted" else verdict
    if facts.outcome.success is False and {each.check for each in grave} == {_STATED}:
        return f"kept as a failure: {facts.outcome.failure or 'no reason given'}"
    more = f" and {len(named) - _MOST_WORDS} more" if len(named) > _MOST_WORDS else ""
    listed = ", ".join(named[:_MOST_WORDS]) + more
    return f"{listed}: redo" if verdict == "failed" else f"{listed}: have it looked at"


def suggest(verdict: str | None, faults: Sequence[_Fault], facts: EpisodeFacts) -> str:
    """One thing to do otherwise in the next take: what mends the gravest fault, in its own words.

    A failure that was stated is no mistake of the recording; then the next fault counts.
    """
    if verdict == "accepted" or "discarded" in facts.other:
        return ""
    ranked = sorted(faults, key=lambda each: each.severity != "fail")
    known = checks()
    for each in ranked:
        is_meant = each.check == _STATED and facts.outcome.success is False
        if each.check in known and not is_meant and (fix := explain(each.check).fix):
            first = _SENTENCE.split(fix, maxsplit=1)[0].rstrip(".")
            return f"{first}."
    return ""


def rules_of(assessment: Assessment, protocol: Protocol | None) -> tuple[RuleHealth, ...]:
    """Every rule of the protocol that is judged in one episode."""
    if protocol is None:
        return ()
    return tuple(
        RuleHealth(rule.name, rule.kept, "" if rule.kept else rule.message[:_LONGEST_RULE])
        for rule in adherence(assessment, protocol)
    )


def _fault_words(check: str, streams: list[str]) -> str:
    """`camera frozen (left wrist)`."""
    title = title_of(check)
    words = title if title[:2].isupper() else title[:1].lower() + title[1:]
    names = [name.rpartition("/")[2].replace("_", " ") for name in dict.fromkeys(streams)]
    more = f" and {len(names) - _MOST_WORDS} more" if len(names) > _MOST_WORDS else ""
    return f"{words} ({', '.join(names[:_MOST_WORDS])}{more})" if names else words


def _judge(path: Path, terms: JudgingTerms) -> EpisodeVerdict:
    with closing(Episode.open(path)) as episode:
        facts, protocol = read_facts(episode.metadata), _protocol(episode, path)
    options = InspectionOptions(
        open_policy(terms.policy), protocol=protocol, pictures=terms.pictures
    )
    report = inspect(partial(open_dataset, [path]), options, on="serial").episodes[0]
    against = sorted((finding for finding in report.findings if finding.severity != "note"),
                     key=lambda finding: finding.severity != "fail")  # fmt: skip
    faults = [_Fault(each.check, each.stream, str(each.severity)) for each in against]
    return EpisodeVerdict(
        path,
        report.verdict,
        tuple(dict.fromkeys(finding.check for finding in against)),
        tuple(dict.fromkeys(each.check for each in report.findings if each.severity == "note")),
        against[0].message if against else None,
        words=operator_words(report.verdict, faults, facts),
        suggestion=suggest(report.verdict, faults, facts),
        rules=rules_of(report.assessment, protocol),
    )


def _protocol(episode: Episode, path: Path) -> Protocol | None:
    """The protocol that an episode was made under."""
    text = episode.documents.get("protocol")
    if text is None:
        return None
    return Protocol.parse(text, source=f"{path}:protocol", suffix=".json")


def _take_in(path: Path, terms: JudgingTerms) -> EpisodeVerdict:
    # Only here: the libraries of a database take a second to load.
    from corporeal.catalog.episodes import findings_of, not_assessed_of
    from corporeal.catalog.ingestion import ingest

    with enter_workspace(terms.workspace, "ingest") as (workspace, actor):
        outcome = ingest(
            workspace,
            [path],
            who=actor.name,
            policy=open_policy(terms.policy),
            pictures=terms.pictures,
            batch=terms.batch,
            check=terms.check,
            on="serial",
        ).outcomes[0]
        with workspace.database.read() as connection:
            rows = [] if outcome.id is None else findings_of(connection, outcome.id)
            ids = [] if outcome.id is None else [outcome.id]
            missing = [each for some in not_assessed_of(connection, ids).values() for each in some]
    with closing(Episode.open(path)) as episode:
        facts, protocol = read_facts(episode.metadata), _protocol(episode, path)
    judged = Assessment(
        tuple(Finding(row.message, severity=cast(Severity, row.severity), check=row.check)
              for row in rows),
        {each.check: each.reason for each in missing},
    )  # fmt: skip
    faults = [_Fault(row.check, row.stream, row.severity) for row in rows if row.severity != "note"]
    return EpisodeVerdict(
        path,
        outcome.state,
        tuple(
            dict.fromkeys(
                row.check
                for severity in ("fail", "quarantine")
                for row in rows
                if row.severity == severity
            )
        ),
        tuple(dict.fromkeys(row.check for row in rows if row.severity == "note")),
        outcome.reason,
        outcome.status if outcome.practice is None else f"practice: {outcome.practice}",
        operator_words(outcome.state, faults, facts),
        suggest(outcome.state, faults, facts),
        rules_of(judged, protocol) if terms.check else (),
    )


class EpisodeJudge:
    """Judges what it is given, one episode after the other, in another process.

    `judge` returns at once, from any thread; `on_verdict` is called from a thread of the judge. A
    process that dies costs the verdict of the episode that it was at; the next one gets another.
    """

    def __init__(
        self, terms: JudgingTerms, on_verdict: Callable[[EpisodeVerdict], None] = lambda _: None
    ) -> None:
        self.verdicts: list[EpisodeVerdict] = []
        self._terms, self._on_verdict = terms, on_verdict
        self._waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self.process_id: int | None = None
        self._pipe: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="judge", daemon=True)
        self._thread.start()

    def judge(self, path: Path) -> None:
        """Judge this episode as soon as those before it are done."""
        self._waiting.put(path)

    def close(self) -> None:
        """Wait until all are judged, and end the process."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (path := self._waiting.get()) is not None:
            verdict = self._ask(path)
            self.verdicts.append(verdict)
            self._on_verdict(verdict)
        if self._pipe is not None:
            self._pipe.close()

    def _ask(self, path: Path) -> EpisodeVerdict:
        try:
            if self._pipe is None:
                self._pipe, self.process_id = _start(self._terms)
            self._pipe.send(path)
            verdict: EpisodeVerdict = self._pipe.recv()
        except (EOFError, OSError) as error:
            if self._pipe is not None:
                self._pipe.close()
            self._pipe = None
            reason = f"the process that judges ended ({str(error) or 'it was killed'})"
            return EpisodeVerdict(path, None, reason=f"{reason}. Judge it: corporeal check {path}")
        return verdict


def _start(terms: JudgingTerms) -> tuple[Connection, int | None]:
    """A process that answers paths with verdicts; it ends when our end of its pipe is closed."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, terms), daemon=True)
    # Deaf to Ctrl-C from its first moment: that ends the recording, not its verdicts.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        theirs.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ours, process.pid


def _serve(pipe: Connection, terms: JudgingTerms) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    while True:
        try:
            path = pipe.recv()
        except EOFError:
            return
        pipe.send(judge_episode(path, terms))
