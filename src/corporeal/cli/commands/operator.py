"""`corporeal operator`: who demonstrates, what they were trained for, and what may be shown."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import Connection

from corporeal.catalog.people import (
    PHASES,
    Certification,
    Privacy,
    TrainingPhase,
    add_operator,
    certified_tasks,
    change_operator,
    experience_of,
    find_certification,
    find_operator,
    list_certificates,
    list_operators,
    note_view,
    open_certification,
    read_privacy,
    replace_episodes,
    require_certificates,
    revoke_certificates,
    set_privacy,
    stop_requiring,
    trained_tasks,
    unknown_operators,
)
from corporeal.catalog.permission import (
    PRIVACY_MODES,
    PrivacyMode,
    may,
    sees_everybody,
    sees_person,
    why_hidden,
)
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.operator_view import (
    holding,
    plain_certificate,
    plain_operator,
    plain_training,
    show_certificates,
    show_phase,
)
from corporeal.cli.output import AsJson, console, emphasise, make_table, print_json, print_result
from corporeal.cli.workspaces import WorkspaceOption, read_catalog, write_catalog
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.operations.operators import (
    TaskTraining,
    begin,
    certification_for,
    certify,
    read_training,
)
from corporeal.words import counted, hours, some_of

app = group("Operators: experience, training with evidence, certificates, privacy.")
Name = Annotated[str, argument("The operator: the pseudonym that episodes state.")]
Task = Annotated[str, argument("The task, as episodes state it.", "TASK")]
Account = Annotated[str | None, option("Their account in this workspace.")]
Hours = Annotated[float | None, option("Hours of teleoperation before, by their words.", min=0)]
Document = Annotated[
    str | None,
    option("A certification document: a built-in name or a file. By default the task's, else "
           "standard."),
]  # fmt: skip
Why = Annotated[str | None, option("The reason, for the audit log.")]
_STANDARD = "standard"


@app.command("add")
def add(
    name: Name,
    account: Account = None,
    hours_before: Hours = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Add somebody who demonstrates, by a pseudonym.

    Example: [bold]corporeal operator add op07 --hours-before 40[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        made = add_operator(
            connection, name, by=actor, account_name=account, hours_before=hours_before
        )
    print_result(as_json, made, f"{made.name} is an operator; next: corporeal operator begin "
                 f"{made.name} TASK practice")  # fmt: skip


@app.command("change")
def change(
    name: Name,
    account: Account = None,
    hours_before: Hours = None,
    left: Annotated[bool | None, option("They have left, or are back.", "--left/--back")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Change what is known of an operator; what is not named stays.

    Example: [bold]corporeal operator change op07 --account ann[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        made = change_operator(
            connection, name, by=actor, account_name=account, hours_before=hours_before, left=left
        )
    print_result(as_json, made, f"{made.name} is changed")


@app.command("list")
def list_all(
    left: Annotated[bool, option("Also those who have left.", "--left")] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List operators with the tasks they hold a certificate for; experience where it may be shown.

    Example: [bold]corporeal operator list[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        known = [each for each in list_operators(connection, left=left)
                 if may(actor, "judge") or each.name == actor.operator]  # fmt: skip
        shown = [each.name for each in known if sees_person(actor, each.name)]
        done = experience_of(connection, shown)
        certified = holding(connection)
        strangers = unknown_operators(connection) if sees_everybody(actor) else []
        if shown:
            note_view(connection, actor, what="list of operators",
                      operator=None if sees_everybody(actor) else actor.operator)  # fmt: skip
    values = [plain_operator(each, certified, done.get(each.name)) for each in known]
    if as_json:
        print_json({"operators": values, "unknown": strangers})
        return
    if not known:
        console().print("no operator yet; next: corporeal operator add NAME")
    else:
        table = make_table("operator", "certified for", "before", "episodes", "recorded")
        for each in known:
            own = done.get(each.name)
            before = "" if each.hours_before is None else hours(each.hours_before)
            table.add_row(each.name, ", ".join(certified.get(each.name, [])), before,
                          "-" if own is None else f"{own.episodes:,}",
                          "-" if own is None else hours(own.hours))  # fmt: skip
        console().print(table)
    if len(shown) < len(known):
        console().print(f"figures of single operators are {why_hidden(actor)}", soft_wrap=True)
    if strangers:
        console().print(f"{counted(len(strangers), 'pseudonym')} in episodes and no operator yet: "
                        f"{some_of(strangers)}")  # fmt: skip


@app.command("show")
def show(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Show the training of an operator with its evidence, and every certificate.

    Example: [bold]corporeal operator show op07[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        operator = find_operator(connection, name)
        certificates = list_certificates(connection, operator=name)
        is_shown = sees_person(actor, name)
        trainings: list[TaskTraining] = []
        if is_shown:
            note_view(connection, actor, what="training", operator=name)
            for task in trained_tasks(connection, name):
                document = certification_for(connection, name, task)
                if document is not None:
                    trainings.append(read_training(connection, name, task, document))
        done = experience_of(connection, [name])[name] if is_shown else None
    if as_json:
        hidden = None if is_shown else why_hidden(actor)
        print_json(plain_operator(operator, {}, done) | {
            "certificates": [plain_certificate(each, shown=is_shown) for each in certificates],
            "training": [plain_training(each) for each in trainings], "hidden": hidden,
        })  # fmt: skip
        return
    page = console()
    said = "" if done is None else f": {counted(done.episodes, 'episode')}, {hours(done.hours)}"
    page.print(emphasise(operator.name, said))
    for training in trainings:
        page.print(f"{training.task}, by {training.document}")
        for phase in training.phases:
            show_phase(phase)
    show_certificates(certificates)
    if not is_shown:
        page.print(f"evidence is {why_hidden(actor)}", soft_wrap=True)


@app.command("begin")
def begin_training(
    name: Name,
    task: Task,
    phase: Annotated[str, argument("practice, protocol or calibration.", "PHASE")],
    document: Document = None,
    why: Why = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Begin a phase of training: what is recorded from now on is its evidence.

    Example: [bold]corporeal operator begin op07 pick_place practice[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        rules = _document(connection, task, document)
        start = begin(connection, name, task, _phase(phase), rules, by=actor, why=why)
    print_result(as_json, start, f"{phase} of {name} for {task} has begun, by {rules.reference}",
                 f"next: record, ingest, and corporeal operator show {name}")  # fmt: skip


@app.command("certify")
def certify_operator(
    name: Name,
    task: Task,
    document: Document = None,
    since: Annotated[
        str | None, option("From when it holds, ISO 8601; after the last episode of the evidence.")
    ] = None,
    why: Annotated[
        str | None, option("Why it is given although the evidence does not suffice.")
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Give a certificate for a task, where the evidence of all three phases suffices.

    Example: [bold]corporeal operator certify op07 pick_place[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        rules = _document(connection, task, document)
        given = certify(connection, name, task, rules, by=actor, valid_from=_moment(since), why=why)
        placed = replace_episodes(
            connection, who=actor.name, why=f"certificate of {name}", task=task, operator=name
        )
        left = len(placed)
    lines = [f"{name} may collect {task} until {given.valid_until[:10]}"]
    if left:
        lines.append(f"{counted(left, 'episode')} recorded without a certificate stay practice")
    print_result(as_json, plain_certificate(given, shown=True) | {"practice": left}, *lines)


@app.command("revoke")
def revoke(
    name: Name,
    task: Task,
    why: Annotated[str, option("The reason, for the audit log.")],
    since: Annotated[
        str | None, option("From an earlier moment, ISO 8601: data since then becomes practice.")
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """End the certificates of an operator for a task, from now on or from an earlier moment.

    Example: [bold]corporeal operator revoke op07 pick_place --why 'left the protocol'[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        ended = revoke_certificates(connection, name, task, by=actor, why=why, since=_moment(since))
        placed = replace_episodes(connection, who=actor.name, why=why, task=task, operator=name)
    print_result(
        as_json, {"revoked": ended, "practice": len(placed)},
        f"{counted(ended, 'certificate')} revoked; {counted(len(placed), 'episode')} of {name} for "
        f"{task} lie in the practice partition",
    )  # fmt: skip


@app.command("require")
def require_task(
    task: Task,
    document: Document = None,
    since: Annotated[
        str | None, option("Ask it of what was recorded since then, ISO 8601; by default from now.")
    ] = None,
    off: Annotated[bool, option("Ask for no certificate any more.", "--off")] = False,
    why: Why = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Let data of a task count only with a certificate, or, with --off, without one again.

    What people without one record goes to the practice partition, and into no release.

    Example: [bold]corporeal operator require pick_place --document standard[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        if off:
            stop_requiring(connection, task, why=why or "", by=actor)
            rule = None
        else:
            rules = _document(connection, task, document)
            rule = require_certificates(connection, task, rules, by=actor, since=_moment(since))
        said = why or ("certificates are not asked for" if off else "certificates are asked for")
        placed = replace_episodes(connection, who=actor.name, why=said, task=task)
    values = {"task": task, "rule": rule, "practice": len(placed)}
    line = (f"{task} counts without certificates again" if rule is None else
            f"{task} recorded since {rule.since[:16]} counts only with a certificate")  # fmt: skip
    found = f"{counted(len(placed), 'episode')} in practice"
    print_result(as_json, values, line, f"{found}; list them: corporeal ls 'practice is known'")


@app.command("tasks")
def tasks(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List the tasks that ask for a certificate.

    Example: [bold]corporeal operator tasks[/bold]
    """
    with read_catalog(root, "read") as connection:
        rules = list(certified_tasks(connection).values())
        named = {each.document: find_certification(connection, each.document).reference
                 for each in rules}  # fmt: skip
    table = make_table("task", "by", "for what was recorded since", "asked by")
    for each in rules:
        table.add_row(each.task, named[each.document], each.since[:16], each.who)
    empty = "no task asks for a certificate: all data counts; next: corporeal operator require TASK"
    values = [vars(each) | {"document": named[each.document]} for each in rules]
    print_result(as_json, values, table if rules else empty)


@app.command("privacy")
def privacy(
    mode: Annotated[
        str | None, argument("data-only, self or managed; without it, what holds now.", "MODE")
    ] = None,
    purpose: Annotated[str, option("managed: what the figures are for.")] = "",
    notice: Annotated[str, option("managed: how and when operators were told.")] = "",
    human_review: Annotated[str, option("managed: who reviews what follows from them.")] = "",
    objection: Annotated[str, option("managed: how an operator objects, and to whom.")] = "",
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Say who may see figures of single operators: nobody (data-only), themselves, or leads.

    Scores of workers are a high-risk use under the EU's AI Act, Annex III 4(b): managed is for
    those who have settled that, and states a purpose, a notice, human review and a way to object.

    Example: [bold]corporeal operator privacy self[/bold]
    """
    if mode is None:
        with read_catalog(root, "read") as connection:
            found = read_privacy(connection)
    else:
        with write_catalog(root, "account") as (connection, actor):
            chosen = Privacy(_mode(mode), purpose, notice, human_review, objection)
            set_privacy(connection, chosen, by=actor)
            found = chosen
    lines = [f"{found.mode}: {PRIVACY_MODES[found.mode]}"]
    if found.mode == "managed":
        lines += [f"  {name.replace('_', ' ')}: {text}" for name, text in asdict(found).items()
                  if name != "mode"]  # fmt: skip
        lines.append("every look at figures of a person is in the audit log: corporeal audit log "
                     "workspace:people")  # fmt: skip
    print_result(as_json, found, *lines)


def _document(connection: Connection, task: str, name: str | None) -> Certification:
    """The document that is named, else the one that the task asks for, else ours."""
    if name is not None:
        return open_certification(name)
    rule = certified_tasks(connection).get(task)
    return open_certification(_STANDARD) if rule is None else find_certification(
        connection, rule.document
    )  # fmt: skip


def _phase(name: str) -> TrainingPhase:
    for phase in PHASES:
        if phase == name:
            return phase
    raise UnknownNameError("phase", name[:80], PHASES)


def _mode(name: str) -> PrivacyMode:
    for mode in PRIVACY_MODES:
        if mode == name:
            return mode
    raise UnknownNameError("privacy mode", name[:80], PRIVACY_MODES)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CorporealError(
            f"--since, got {text[:40]!r}; expected ISO 8601, such as 2026-03-02T08:00."
        ) from None
    return moment if moment.tzinfo is not None else moment.astimezone(UTC)


COMMAND = Command(app, panel="People")
