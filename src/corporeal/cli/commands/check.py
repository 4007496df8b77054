"""`corporeal check`: is the data good, and if not, what is wrong with it, where."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.text import Text

from corporeal.cli.command import Command
from corporeal.cli.export_options import CORES, Jobs, On
from corporeal.cli.output import (
    COLOURS,
    AsJson,
    console,
    make_table,
    print_json,
    show_progress,
    stderr,
)
from corporeal.cli.sources import opener_of
from corporeal.errors import CorporealError
from corporeal.protocol import Protocol, open_protocol
from corporeal.quality.anomaly import AnomalyDetector, open_detector
from corporeal.quality.check import Finding, explain, find_check
from corporeal.quality.check import page as check_page
from corporeal.quality.inspection import EpisodeReport, InspectionOptions, Report, inspect
from corporeal.quality.policy import open_policy
from corporeal.quality.reports import html as html_report
from corporeal.quality.reports import junit as junit_report
from corporeal.quality.reports import sarif as sarif_report
from corporeal.quality.verdict_folders import sort_into

_RANK = ("fail", "quarantine", "note")
_MOST_FINDINGS = 4
_MOST_EPISODES = 60


def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Episodes, folders of them, datasets, bags.")
    ] = None,
    robot: Annotated[
        str | None, typer.Option(help="The robot: a ready name, or its URDF, MJCF or document.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="A policy document of your own.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="The protocol to hold them to: a ready name or a file.")
    ] = None,
    usual: Annotated[Path | None, typer.Option(help="A detector made by corporeal learn.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Run this check alone; may be repeated.")
    ] = None,
    pictures: Annotated[bool, typer.Option(help="Look at pictures as well.")] = True,
    html: Annotated[Path | None, typer.Option(help="Write a page to forward.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML for CI.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF for code scanners.")] = None,
    sort: Annotated[
        Path | None, typer.Option(help="Link episodes into accepted, quarantined, failures here.")
    ] = None,
    on: On = "processes",
    jobs: Jobs = CORES,
    explain: Annotated[str | None, typer.Option(help="Say what a check does.")] = None,
    as_json: AsJson = False,
) -> None:
    """Judge episodes and datasets. Exit 0 when all are accepted, 1 when not.

    Example: [bold]corporeal check recordings --html report.html[/bold]
    """
    if explain is not None:
        _explain(explain, as_json)
        return
    if not paths:
        raise CorporealError("check, got no path; expected episodes, folders or datasets.")
    request = _request(policy, protocol, usual, only, pictures=pictures, exhibits=html is not None)
    with ExitStack() as stack:
        report = _inspect(paths, robot, request, stack, on=on, jobs=jobs)
        _require_something(report)
        for target, text in _rendered(report, html=html, junit=junit, sarif=sarif):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
            stderr().print(f"wrote {target}")
        if sort is not None:
            _sort(report, sort)
    if as_json:
        print_json(report.to_json())
    else:
        show(report)
    raise typer.Exit(0 if report.accepted else 1)


def _request(
    policy: Path | None,
    protocol: str | None,
    usual: Path | None,
    only: list[str] | None,
    *,
    pictures: bool,
    exhibits: bool,
) -> InspectionOptions:
    chosen = tuple(find_check(name)[0] for name in only or ())
    return InspectionOptions(
        policy=open_policy(policy),
        protocol=_protocol(protocol),
        detector=_detector(usual),
        pictures=pictures,
        only=chosen or None,
        exhibits=exhibits,
    )


def _protocol(name: str | None) -> Protocol | None:
    if name is None:
        return None

    return open_protocol(name)


def _detector(path: Path | None) -> AnomalyDetector | None:
    if path is None:
        return None

    return open_detector(path)


def _inspect(
    paths: list[Path],
    robot: str | None,
    request: InspectionOptions,
    stack: ExitStack,
    *,
    on: str,
    jobs: int,
) -> Report:
    opener = opener_of(paths, robot, stack)
    with show_progress("checking") as bar:
        return inspect(
            opener,
            request,
            on=on,
            jobs=jobs,
            on_start=bar.start,
            on_episode=bar.advance,
        )


def _require_something(report: Report) -> None:
    """What cannot be read at all is no data to judge."""
    if not report.episodes:
        raise CorporealError(
            f"{report.source}, got no episode; expected at least one. Is the data elsewhere?"
        )
    first = report.episodes[0].findings
    if first and all(each.synopsis is None and not each.id for each in report.episodes):
        raise CorporealError(first[0].message)


def _rendered(
    report: Report, *, html: Path | None, junit: Path | None, sarif: Path | None
) -> Iterable[tuple[Path, str]]:
    if html is not None:
        yield html, html_report.render(report)
    if junit is not None:
        yield junit, junit_report.render(report)
    if sarif is not None:
        yield sarif, sarif_report.render(report)


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
    if as_json:
        print_json(explain(present).__dict__ | {"limits": check.limits})
    else:
        console().print(Markdown(check_page(present)))


def show(report: Report) -> None:
    """The report as a table for people: the worst first, what and where in words."""
    page = console()
    order = {"failed": 0, "quarantined": 1, "accepted": 2}
    ranked = sorted(report.episodes, key=lambda each: (order[each.verdict], each.index))
    table = make_table("episode", "verdict", "what was found")
    for episode in ranked[:_MOST_EPISODES]:
        table.add_row(f"{episode.index} {episode.source.name}",
                      Text(episode.verdict, style=COLOURS[episode.verdict]),
                      _words(episode))  # fmt: skip
    page.print(table)
    if len(ranked) > _MOST_EPISODES:
        page.print(f"and {len(ranked) - _MOST_EPISODES} more; all of them: --json or --html FILE")
    for finding in report.batch.findings:
        page.print(Text.assemble("set: ", _line(finding), _episodes(finding)))
    page.print(f"\n{_total(report)}")
    _next(report)


def _words(episode: EpisodeReport) -> Text:
    findings = sorted(episode.assessment.findings, key=lambda each: _RANK.index(str(each.severity)))
    lines = [_line(each) for each in findings[:_MOST_FINDINGS]]
    if len(findings) > _MOST_FINDINGS:
        lines.append(Text(f"and {len(findings) - _MOST_FINDINGS} more", style="dim"))
    return Text("\n").join(lines)


def _line(finding: Finding) -> Text:
    return Text.assemble(
        (finding.check, f"bold {COLOURS[str(finding.severity)]}"), " ", finding.message
    )


def _episodes(finding: Finding) -> str:
    shown = ", ".join(map(str, finding.episodes[:20]))
    return f" (episodes {shown}{', ...' if len(finding.episodes) > 20 else ''})" if shown else ""


def _total(report: Report) -> str:
    parts = [f"{report.count('accepted')} accepted", f"{report.count('quarantined')} quarantined",
             f"{report.count('failed')} failed"]  # fmt: skip
    skipped = {name for each in report.episodes for name in each.assessment.not_assessed}
    tail = f"; {len(skipped)} checks not assessed somewhere (see --json)" if skipped else ""
    return f"{', '.join(parts)} of {len(report.episodes)} under {report.policy.reference}{tail}"


def _next(report: Report) -> None:
    """What to do now: the checks that speak most often, explained."""
    names = [each.check for episode in report.episodes for each in episode.findings
             if each.severity != "note"]  # fmt: skip
    names += [each.check for each in report.batch.findings if each.severity != "note"]
    if names:
        most = max(sorted(set(names)), key=names.count)
        console().print(f"next: corporeal check --explain {most}")


COMMAND = Command(check, panel="Quality")
