"""`corporeal check`: is the data good, and if not, what is wrong with it, where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.text import Text

from corporeal.cli.adherence_table import adherence_json, embedded_protocol, show_adherence
from corporeal.cli.command import Command, option
from corporeal.cli.export_options import CORES, Data, Jobs, On, Robot, SourceRate
from corporeal.cli.ledger_table import show_ledger
from corporeal.cli.output import (
    COLOURS,
    AsJson,
    console,
    make_table,
    print_json,
    print_result,
    show_progress,
    stderr,
)
from corporeal.cli.sources import opener_of
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.errors import CorporealError
from corporeal.protocol import open_protocol
from corporeal.quality.anomaly import open_detector
from corporeal.quality.assessment import UNSEEN, ProtocolRule
from corporeal.quality.check import SEVERITIES, Finding, explain, find_check, title_of
from corporeal.quality.check import page as check_page
from corporeal.quality.inspection import (
    EpisodeReport,
    InspectionOptions,
    Neighbours,
    Report,
    inspect,
)
from corporeal.quality.policy import open_policy
from corporeal.quality.reports import html as html_report
from corporeal.quality.reports import junit as junit_report
from corporeal.quality.reports import markdown as markdown_report
from corporeal.quality.reports import sarif as sarif_report
from corporeal.quality.verdict_folders import sort_into
from corporeal.words import counted, some_of

_MOST_FINDINGS = 4
_MOST_EPISODES = 60
_MOST_REASONS = 6


def check(
    paths: Data = None,
    root: WorkspaceOption = None,
    robot: Robot = None,
    source_rate: SourceRate = None,
    policy: Annotated[Path | None, option("A policy document of your own.")] = None,
    protocol: Annotated[
        str | None, option("The protocol to hold them to: a built-in name or a file.")
    ] = None,
    adherence: Annotated[
        bool, option("Say of every rule of the protocol whether it is kept.")
    ] = False,
    baseline: Annotated[
        Path | None, option("A detector made by corporeal learn.", "--baseline", "--usual")
    ] = None,
    only: Annotated[
        list[str] | None, option("Run this check alone; repeatable.", metavar="CHECK")
    ] = None,
    pictures: Annotated[bool, option("Look at pictures as well.")] = True,
    alone: Annotated[
        bool, option("Judge one file without the episodes that lie beside it.", "--alone")
    ] = False,
    html: Annotated[Path | None, option("Write an HTML report.")] = None,
    junit: Annotated[Path | None, option("Write JUnit XML for CI.")] = None,
    markdown: Annotated[Path | None, option("Write Markdown for the summary of a CI job.")] = None,
    sarif: Annotated[Path | None, option("Write SARIF for code scanners.")] = None,
    sort: Annotated[
        Path | None, option("Link episodes into accepted, quarantined, failures here.")
    ] = None,
    on: On = "processes",
    jobs: Jobs = CORES,
    explain: Annotated[str | None, option("Say what a check does.", metavar="CHECK")] = None,
    as_json: AsJson = False,
) -> None:
    """Check episodes and datasets. Exit 0 when all are accepted, 1 when not.

    Example: [bold]corporeal check recordings --html report.html[/bold]
    """
    if explain is not None:
        _explain(explain, as_json)
        return
    if not paths:
        raise CorporealError("check, got nothing to check; expected files, datasets or episodes.")
    rules = None if protocol is None else open_protocol(protocol)
    request = InspectionOptions(
        policy=open_policy(policy),
        protocol=rules,
        detector=None if baseline is None else open_detector(baseline),
        pictures=pictures,
        quick=True,
        alone=alone,
        only=tuple(find_check(name)[0] for name in only or ()) or None,
        exhibits=html is not None,
    )
    with ExitStack() as stack:
        opener = opener_of(paths, robot, stack, root=root, rate_hz=source_rate, movies=pictures)
        if adherence and rules is None:
            rules = embedded_protocol(opener)
            request = replace(request, protocol=rules)
        with show_progress("checking") as bar:
            report = inspect(opener, request, on=on, jobs=jobs, on_start=bar.start,
                             on_episode=bar.advance)  # fmt: skip
        _require_something(report)
        wanted = ((html, html_report), (junit, junit_report), (markdown, markdown_report),
                  (sarif, sarif_report))  # fmt: skip
        for target, form in wanted:
            if target is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(form.render(report), "utf-8")
                stderr().print(f"wrote {target}")
        if sort is not None:
            _sort(report, sort)
    told = rules if adherence else None
    if as_json:
        more = {} if told is None else {"adherence": adherence_json(report, told)}
        print_json(report.to_json() | more)
    else:
        show(report)
        if told is not None:
            show_adherence(report, told)
    raise typer.Exit(0 if report.accepted else 1)


def _require_something(report: Report) -> None:
    """What cannot be read at all is no data to judge."""
    if not report.episodes:
        raise CorporealError(
            f"{report.source}, got no episode; expected at least one. Is the data elsewhere?"
        )
    first = report.episodes[0].findings
    if first and all(each.synopsis is None and not each.id for each in report.episodes):
        raise CorporealError(first[0].message)


def _sort(report: Report, folder: Path) -> None:
    if report.format != "episodes":
        raise CorporealError(
            f"--sort, got a dataset in {report.format}; expected episode files, "
            "since only those can be sorted one by one."
        )
    sort_into(report, folder)
    stderr().print(f"sorted into {folder}; list what failed: corporeal failures {folder}")


def _explain(name: str, as_json: bool) -> None:
    present, check = find_check(name)
    values = vars(explain(present)) | {"limits": check.limits}
    print_result(as_json, values, Markdown(check_page(present)))


def show(report: Report) -> None:
    """The report as a table for people: the worst first, what and where in words."""
    page = console()
    order = {"failed": 0, "quarantined": 1, "accepted": 2}
    ranked = sorted(report.episodes, key=lambda each: (order[each.verdict], each.index))
    table = make_table("episode", "verdict", "what was found")
    for episode in ranked[:_MOST_EPISODES]:
        table.add_row(f"{episode.index} {episode.source.name}",
                      Text(episode.verdict, style=COLOURS[episode.verdict]),
                      _words(episode, report.adherence(episode)))  # fmt: skip
    page.print(table)
    if len(ranked) > _MOST_EPISODES:
        page.print(f"and {len(ranked) - _MOST_EPISODES} more; all of them: --json or --html FILE")
    for finding in report.batch.findings:
        page.print(Text.assemble("set: ", _line(finding), _episodes(finding)))
    if len(report.episodes) + len(report.neighbours.synopses) > 1:
        for line in _not_of_the_set(report.batch.not_assessed):
            page.print(line, style="dim")
    if report.neighbours.total:
        page.print(_company(report.neighbours), style="dim")
    show_ledger(report.ledger)
    page.print(f"\n{_total(report)}")
    _next(report)


def _not_of_the_set(reasons: Mapping[str, str]) -> Iterator[str]:
    """The checks of the whole set that could not run, by why: a gate that says nothing says so."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in list(by_reason.items())[:_MOST_REASONS]:
        yield f"set: unchecked by {some_of(names)}: {reason}"
    if len(by_reason) > _MOST_REASONS:
        yield f"and for {counted(len(by_reason) - _MOST_REASONS, 'more reason')} (see --json)"


def _company(neighbours: Neighbours) -> str:
    compared = counted(len(neighbours.synopses), "episode")
    return (
        f"compared with {compared} of {neighbours.total} that lie beside it (those of its task "
        f"first, at most {neighbours.limit}); --alone leaves them out"
    )


def _words(episode: EpisodeReport, rules: Sequence[ProtocolRule]) -> Text:
    findings = sorted(episode.findings, key=lambda each: SEVERITIES.index(str(each.severity)))
    lines = [_line(each) for each in findings[:_MOST_FINDINGS]]
    if len(findings) > _MOST_FINDINGS:
        lines.append(Text(f"and {len(findings) - _MOST_FINDINGS} more", style="dim"))
    if rules:
        lines.append(_adherence(rules))
    return Text("\n").join(lines)


def _adherence(rules: Sequence[ProtocolRule]) -> Text:
    """The rules of the protocol: those that were kept counted, the others named."""
    kept = sum(rule.kept is True for rule in rules)
    broken = [rule.name for rule in rules if rule.kept is False]
    blind = [rule.name for rule in rules if rule.kept is None]
    parts = [f"{counted(kept, 'rule')} of the protocol kept"]
    parts += [f"broken: {', '.join(broken)}"] if broken else []
    parts += [f"unchecked: {', '.join(blind)}"] if blind else []
    return Text("; ".join(parts), style="dim")


def _line(finding: Finding) -> Text:
    return Text.assemble(
        (title_of(finding.check), f"bold {COLOURS[str(finding.severity)]}"), ": ", finding.message
    )


def _episodes(finding: Finding) -> str:
    shown = ", ".join(map(str, finding.episodes[:20]))
    return f" (episodes {shown}{', ...' if len(finding.episodes) > 20 else ''})" if shown else ""


def _total(report: Report) -> str:
    parts = [f"{report.count('accepted')} accepted", f"{report.count('quarantined')} quarantined",
             f"{report.count('failed')} failed"]  # fmt: skip
    skipped = {name for each in report.episodes for name in each.assessment.not_assessed}
    tail = (
        f"; {counted(len(skipped), 'check')} not assessed somewhere (see --json)" if skipped else ""
    )
    blind = any(reason == UNSEEN for each in report.episodes
                for reason in each.assessment.not_assessed.values())  # fmt: skip
    tail += "; pictures were left out, so that nothing is said of the cameras" if blind else ""
    return f"{', '.join(parts)} of {len(report.episodes)} under {report.policy.reference}{tail}"


def _next(report: Report) -> None:
    """What to do now: the checks that speak most often, explained."""
    names = [each.check for episode in report.episodes for each in episode.findings
             if each.severity != "note"]  # fmt: skip
    names += [each.check for each in report.batch.findings if each.severity != "note"]
    if names:
        most = max(sorted(set(names)), key=names.count)
        console().print(f"next: corporeal check --explain {most}")


COMMAND = Command(check, panel="Check")
