"""Judges episodes of a workspace anew: a new check, policy or reference reaches what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection

from corporeal.catalog.audit import Change, record, take_turn
from corporeal.catalog.episodes.marks import EpisodeDecision, decisions_of
from corporeal.catalog.episodes.peers import Reference, find_reference, make_reference
from corporeal.catalog.episodes.reading import (
    documents_of,
    find_document,
    last_assessments,
    states_of,
)
from corporeal.catalog.episodes.rows import NEXT, EpisodeEntry, EpisodeRow, State
from corporeal.catalog.episodes.writing import complete_episode, move_episodes
from corporeal.catalog.ingestion.detectors import find_detector
from corporeal.catalog.ingestion.episode_entry import basis_of
from corporeal.catalog.ingestion.ingestion import GROUP, check_policy
from corporeal.catalog.ingestion.inspection import (
    IngestOptions,
    Inspected,
    JudgedFile,
    find_company,
    judge_together,
    protocol_of,
)
from corporeal.catalog.ingestion.verified_calibration import (
    state_verifications,
    verifications_of,
    with_verifications,
)
from corporeal.catalog.query.listing import every_episode
from corporeal.catalog.query.tree import Condition
from corporeal.catalog.store.remote_episode import open_remote, remote_dataset
from corporeal.catalog.store.store import Store
from corporeal.catalog.workspace.workspace import Workspace
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration, Protocol
from corporeal.quality import Subject
from corporeal.quality.check import Verdict
from corporeal.quality.inspection import Opener
from corporeal.quality.policy import Policy, default_policy
from corporeal.quality.scoring import measure
from corporeal.runner import run

Standing = Literal["changed", "same", "kept", "lost"]
_Kind = tuple[str | None, str | None]


@dataclass(frozen=True)
class RejudgeOptions:
    """How to judge anew; no `policy` means the one that each episode was judged under, with the
    default one as it is today. Without `pictures`, what was said of them before stays. `again`
    judges what is up to date as well."""

    policy: Policy | None = None
    pictures: bool = True
    again: bool = False
    new_reference: bool = False
    dry_run: bool = False
    verified: Mapping[str, Calibration] = field(default_factory=dict)
    """Calibrations as they were verified at the `start` and at the `end` of all these episodes."""
    on: str = "processes"
    jobs: int = 1


@dataclass(frozen=True)
class RejudgedEpisode:
    """What became of one episode.

    `changed` has another verdict, `same` the one before; `kept` has another verdict, but a person
    or a release decided its state. `lost` has no object in the store and stays as it was.
    """

    id: str
    name: str
    file: str
    standing: Standing
    verdict_before: Verdict | None
    verdict: Verdict | None
    state: State
    score_before: float | None
    score: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Rejudgement:
    """What became of all; `current` were up to date, `references` were made on the way."""

    episodes: tuple[RejudgedEpisode, ...]
    current: int
    references: tuple[str, ...] = ()

    def having(self, *standings: Standing) -> tuple[RejudgedEpisode, ...]:
        """Those of which one of these is true."""
        return tuple(each for each in self.episodes if each.standing in standings)


def rejudge(
    workspace: Workspace,
    query: str | Condition | None,
    options: RejudgeOptions,
    *,
    who: str,
    on_start: Callable[[int], None] = lambda _: None,
    on_episode: Callable[[Path], None] = lambda _: None,
) -> Rejudgement:
    """Judge the episodes that a query finds anew, a group in one transaction.

    What was judged by the same policy, program, reference and detector is passed over, so that an
    interrupted run goes on where it was. The verdict before stays among the assessments, every
    change is an event. A task that has none gets a reference to be scored against.
    """
    if options.policy is not None:
        check_policy(workspace, options.policy)
    outcomes: dict[str, RejudgedEpisode] = {}
    names: list[str] = []
    with workspace.database.read() as connection:
        rows = [row for row in every_episode(connection, query) if row.state != "erased"]
    if options.verified and not options.dry_run:
        with workspace.database.write() as connection:
            state_verifications(connection, [row.id for row in rows], options.verified, who=who)
    kinds = list(dict.fromkeys((row.task, row.robot) for row in rows))
    names += _make_references(workspace, kinds, options, who, new=options.new_reference)
    stale = list(_stale(workspace, rows, options))
    on_start(len(stale))
    for outcome in _judge(workspace, stale, options, who, on_episode):
        outcomes[outcome.id] = outcome
    # Episodes of an older catalogue have their profiles only now.
    made = _make_references(workspace, kinds, options, who, new=False)
    if made and not options.dry_run:
        again = list(_stale(workspace, rows, replace(options, again=False)))
        for outcome in _judge(workspace, again, options, who, on_episode):
            before = outcomes.get(outcome.id)
            outcomes[outcome.id] = _both(before, outcome)
    episodes = tuple(outcomes.values())
    return Rejudgement(episodes, len(rows) - len(episodes), (*names, *made))


def _both(first: RejudgedEpisode | None, second: RejudgedEpisode) -> RejudgedEpisode:
    """Two judgements of one run as one."""
    if first is None:
        return second
    standing = first.standing if second.standing == "same" else second.standing
    return replace(second, standing=standing, verdict_before=first.verdict_before,
                   score_before=first.score_before)  # fmt: skip


def _make_references(
    workspace: Workspace,
    kinds: Sequence[_Kind],
    options: RejudgeOptions,
    who: str,
    *,
    new: bool,
) -> list[str]:
    """The references that were made: for tasks that have none, or `new` ones for all."""
    if options.dry_run:
        return []
    made = []
    with workspace.database.write() as connection:
        for task, robot in kinds:
            before = find_reference(connection, task, robot)
            if before is not None and not new:
                continue
            after = make_reference(connection, task, robot, who=who)
            if after is not None and (before is None or after.version != before.version):
                made.append(after.name)
    return made


def _stale(
    workspace: Workspace, rows: Sequence[EpisodeRow], options: RejudgeOptions
) -> Iterator[tuple[EpisodeRow, Policy]]:
    """The episodes that are to be judged, with the policy that each is judged by."""
    references: dict[_Kind, Reference | None] = {}
    detectors: dict[_Kind, str | None] = {}
    policies: dict[str, Policy] = {}
    with workspace.database.read() as connection:
        last = last_assessments(connection, [row.id for row in rows])
        stated = verifications_of(connection, [row.id for row in rows], options.verified)
        for row in rows:
            kind = (row.task, row.robot)
            if kind not in references:
                references[kind] = find_reference(connection, *kind)
                kept = find_detector(connection, *kind)
                detectors[kind] = None if kept is None else kept.document.hash
            policy = options.policy or _own_policy(connection, row, policies)
            reference = references[kind]
            named = None if reference is None else reference.name
            basis = basis_of(policy, named, detectors[kind], pictures=options.pictures,
                             stated=stated[row.id])  # fmt: skip
            judged = last.get(row.id)
            if options.again or judged is None or judged.basis != basis:
                yield row, policy


def _own_policy(connection: Connection, row: EpisodeRow, known: dict[str, Policy]) -> Policy:
    """The policy that an episode was judged under; the ready one is taken as it is today."""
    for document in documents_of(connection, row.id):
        if document.kind != "policy" or document.name == default_policy().name:
            continue
        if document.hash not in known:
            kept = find_document(connection, document.hash)
            assert kept is not None
            known[document.hash] = Policy.parse(kept.text, source=document.name, suffix=".json")
        return known[document.hash]
    return default_policy()


def _judge(
    workspace: Workspace,
    stale: Sequence[tuple[EpisodeRow, Policy]],
    options: RejudgeOptions,
    who: str,
    on_episode: Callable[[Path], None],
) -> Iterator[RejudgedEpisode]:
    for first in range(0, len(stale), GROUP):
        group = stale[first : first + GROUP]
        with workspace.database.read() as connection:
            ids = [row.id for row, _ in group]
            stated = verifications_of(connection, ids, options.verified)
        looks = [
            replace(each, entry=replace(each.entry, documents=stated[each.entry.id]))
            if each.entry is not None else each
            for each in _look_at([row for row, _ in group], workspace.store, options)
        ]  # fmt: skip
        policies = {row.id: policy for row, policy in group}
        candidates: dict[str, JudgedFile] = {}
        for policy, protocol, own in _alike(looks, policies):
            terms = IngestOptions(policy, options.pictures, on=options.on, jobs=options.jobs)
            opener: Opener = partial(remote_dataset, workspace.store, [look.digest for look in own])
            opener = with_verifications(
                opener, [look.entry.documents for look in own if look.entry is not None]
            )
            company = find_company(workspace.database, own, pictures=options.pictures)
            for judged in judge_together(opener, own, protocol, terms, company, on_episode):
                candidates[judged.entry.id] = judged
        rows = [row for row, _ in group]
        reasons = {look.digest: look.reason for look in looks if look.reason is not None}
        yield from _record(workspace, rows, candidates, reasons, who, dry_run=options.dry_run)


def _alike(
    looks: Sequence[Inspected], policies: Mapping[str, Policy]
) -> Iterator[tuple[Policy, Protocol | None, list[Inspected]]]:
    """Episodes of one policy and one protocol, which are judged together."""
    groups: dict[tuple[str, str], list[Inspected]] = {}
    for look in looks:
        if look.entry is not None:
            rule = look.protocol.hash if look.protocol else ""
            groups.setdefault((policies[look.entry.id].hash, rule), []).append(look)
    for own in groups.values():
        entry = own[0].entry
        assert entry is not None
        yield policies[entry.id], own[0].protocol, own


def _look_at(rows: Sequence[EpisodeRow], store: Store, options: RejudgeOptions) -> list[Inspected]:
    """Measure stored episodes; one that cannot be opened says why."""
    found: dict[int, Inspected] = {}
    with closing(run(partial(_look, store), rows, on=options.on, jobs=options.jobs)) as results:
        for done in results:
            row = rows[done.place]
            lost = Inspected(Path(row.file), row.hash, reason=str(done.error))
            found[done.place] = done.value or lost
    return [found[place] for place in range(len(rows))]


def _look(store: Store, _: None, row: EpisodeRow) -> Inspected:
    path = Path(row.file)
    try:
        with open_remote(store, row.hash) as episode:
            measured = measure(Subject(recording_of(episode)))
            protocol = protocol_of(episode)
    except (CorporealError, OSError) as error:
        return Inspected(path, row.hash, reason=str(error))
    return Inspected(path, row.hash, EpisodeEntry(row), replace(measured, id=row.id), protocol)


def _record(
    workspace: Workspace,
    rows: Sequence[EpisodeRow],
    candidates: Mapping[str, JudgedFile],
    reasons: Mapping[str, str],
    who: str,
    *,
    dry_run: bool,
) -> list[RejudgedEpisode]:
    """Enter the judgements of a group, all or none; a dry run only says what they would be."""
    if dry_run:
        with workspace.database.read() as connection:
            states = states_of(connection, [row.id for row in rows])
            decisions = decisions_of(connection, [row.id for row in rows])
        return [
            _outcome(row, candidates.get(row.id), states[row.id], reasons, decisions.get(row.id))
            for row in rows
        ]
    outcomes = []
    with workspace.database.write() as connection:
        take_turn(connection)
        states = states_of(connection, [row.id for row in rows])
        decisions = decisions_of(connection, [row.id for row in rows])
        for row in rows:
            if states[row.id] == "erased":
                continue
            judged, decided = candidates.get(row.id), decisions.get(row.id)
            outcome = _outcome(row, judged, states[row.id], reasons, decided)
            outcomes.append(outcome)
            if outcome.standing != "lost":
                _enter(connection, row, candidates[row.id], states[row.id], outcome, who=who)
    return outcomes


def _outcome(
    row: EpisodeRow,
    judged: JudgedFile | None,
    state: State,
    reasons: Mapping[str, str],
    decided: EpisodeDecision | None,
) -> RejudgedEpisode:
    if judged is None or judged.verdict is None:
        why = reasons.get(row.hash, "it could not be opened")
        return RejudgedEpisode(row.id, row.name, row.file, "lost", row.verdict, row.verdict, state,
                               row.score, row.score, why)  # fmt: skip
    if decided is not None:
        target, standing = state, _standing_under(decided, judged.verdict)
    else:
        target, standing = _next_state(state, row.verdict, judged.verdict)
    reason = judged.reason
    if standing == "kept":
        whose = "it is in a release" if state == "released" else "a person decided so"
        if decided is not None:
            why = f" ({decided.why})" if decided.why else ""
            whose = f"{decided.who} decided {decided.verdict}{why}"
        reason = f"stays {state}, since {whose}; {reason or 'nothing was found'}"
    return RejudgedEpisode(row.id, row.name, row.file, standing, row.verdict, judged.verdict,
                           target, row.score, judged.entry.row.score, reason)  # fmt: skip


def _standing_under(decided: EpisodeDecision, verdict: Verdict) -> Standing:
    return "same" if decided.verdict == verdict else "kept"


def _next_state(state: State, before: Verdict | None, after: Verdict) -> tuple[State, Standing]:
    """The state that follows, and what that is: what people decided is never overruled."""
    standing: Standing = "same" if before == after else "changed"
    if state in ("recorded", "checked"):
        return after, "changed"
    if state == "annotated":
        return (state if after == "accepted" or before == after else after), standing
    if after not in NEXT[state] and after != state:
        return state, "kept" if before != after else "same"
    if before is not None and state != before:
        return state, "same" if before == after else "kept"
    return after, standing


def _enter(
    connection: Connection,
    row: EpisodeRow,
    judged: JudgedFile,
    state: State,
    outcome: RejudgedEpisode,
    *,
    who: str,
) -> None:
    complete_episode(connection, row.id, judged.entry, who=who)
    policy = judged.entry.row.policy
    details = {
        "from": {"verdict": row.verdict, "score": row.score, "policy": row.policy},
        "verdict": outcome.verdict,
        "score": outcome.score,
        "policy": policy,
    }
    record(connection, [Change(who, "rejudge", f"episode:{row.id}", outcome.reason, details)])
    if outcome.state == state:
        return
    if state == "recorded":
        why = f"checked under {policy}"
        move_episodes(connection, [row.id], "checked", who=who, why=why)
    why = f"judged anew under {policy}: {outcome.reason or 'nothing was found'}"
    move_episodes(connection, [row.id], outcome.state, who=who, why=why)
