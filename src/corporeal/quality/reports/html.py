"""A report as one HTML page that can be forwarded: it needs no other file and no network."""

from __future__ import annotations

import base64
from collections import Counter
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

from corporeal import __version__
from corporeal.quality.check import checks, explain
from corporeal.quality.finding import Finding, Verdict
from corporeal.quality.inspection import EpisodeReport, Report
from corporeal.quality.reports.chart import chart

_ORDER: tuple[Verdict, ...] = ("failed", "quarantined", "accepted")
_MOST_SPANS = 4
# Beyond this the page gets slow; the rest is in the JSON.
_MOST_EPISODES_IN_DETAIL = 300


def render(report: Report, *, title: str | None = None) -> str:
    """The page."""
    style = (files("corporeal.quality.reports") / "page.css").read_text("utf-8")
    name = escape(title or report.source.name or str(report.source))
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{name} · quality</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style}</style></head><body><main>\n"
        f"<header><h1>{name}</h1>{_facts(report)}</header>\n"
        f"{_verdicts(report)}\n{_reasons(report)}\n{_set(report)}\n{_episodes(report)}\n"
        f"{_not_assessed(report)}\n</main></body></html>\n"
    )


def _facts(report: Report) -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts = [
        f"{len(report.episodes)} episodes",
        report.format,
        f"policy {report.policy.reference}",
        f"corporeal {__version__}",
        now,
    ]
    return f'<p class="facts">{" · ".join(escape(fact) for fact in facts)}</p>'


def _verdicts(report: Report) -> str:
    total = max(1, len(report.episodes))
    bars = "".join(
        f'<span class="{verdict}" style="flex:{report.count(verdict) / total:.4f}"></span>'
        for verdict in reversed(_ORDER)
        if report.count(verdict)
    )
    numbers = "".join(
        f'<div class="{verdict}"><b>{report.count(verdict)}</b> {verdict}</div>'
        for verdict in reversed(_ORDER)
    )
    return (
        f'<section class="verdicts"><div class="numbers">{numbers}</div><div class="bar">{bars}'
        "</div></section>"
    )


def _reasons(report: Report) -> str:
    """How many episodes each check stopped."""
    counts: Counter[tuple[str, str]] = Counter()
    for episode in report.episodes:
        counts.update({(each.check, str(each.severity)) for each in episode.findings
                       if each.severity != "note"})  # fmt: skip
    if not counts:
        return ""
    most = counts.most_common(1)[0][1]
    rows = "".join(
        f'<tr><td><code>{escape(check)}</code></td><td class="why">{escape(_why(check))}</td>'
        f'<td class="meter"><span class="{severity}" style="width:{100 * count / most:.0f}%">'
        f'</span></td><td class="n">{count}</td></tr>'
        for (check, severity), count in counts.most_common(20)
    )
    return f"<section><h2>Reasons</h2><table class='reasons'>{rows}</table></section>"


def _why(check: str) -> str:
    return explain(check).why if check in checks() else ""


def _set(report: Report) -> str:
    if not report.batch.findings:
        return ""
    items = "".join(_finding(each, episodes=True) for each in report.batch.findings)
    return f"<section><h2>The set as a whole</h2>{items}</section>"


def _episodes(report: Report) -> str:
    ranked = sorted(report.episodes, key=lambda each: (_ORDER.index(each.verdict), each.index))
    parts = [_episode(each) for each in ranked if each.findings][:_MOST_EPISODES_IN_DETAIL]
    silent = [each for each in ranked if not each.findings]
    rest = ""
    if silent:
        names = ", ".join(escape(_name(each)) for each in silent[:500])
        rest = (f'<details class="episode accepted"><summary><span class="badge accepted">accepted'
                f"</span> {len(silent)} episodes without a finding</summary><p>{names}</p>"
                "</details>")  # fmt: skip
    cut = len(ranked) - len(silent) - len(parts)
    more = f"<p>{cut} more episodes with findings are in the JSON report.</p>" if cut else ""
    return f"<section><h2>Episodes</h2>{''.join(parts)}{more}{rest}</section>"


def _name(episode: EpisodeReport) -> str:
    return f"{episode.index} {episode.source.name}"


def _episode(episode: EpisodeReport) -> str:
    findings = sorted(episode.findings, key=_rank)
    opened = " open" if episode.verdict == "failed" else ""
    lead = escape(findings[0].message)
    said = episode.synopsis
    about = [] if said is None else [said.task or "", f"{said.duration_s:.1f} s"]
    facts = " · ".join(escape(fact) for fact in about if fact)
    pictures = "".join(
        f'<figure><img src="data:image/jpeg;base64,{base64.b64encode(each.jpeg).decode()}" '
        f'alt="{escape(each.camera)}"><figcaption>{escape(each.camera)} {each.time_s:.2f} s'
        "</figcaption></figure>"
        for each in episode.exhibits
    )
    return (
        f'<details class="episode {episode.verdict}"{opened}><summary>'
        f'<span class="badge {episode.verdict}">{episode.verdict}</span> '
        f"<b>{escape(_name(episode))}</b> <span class='dim'>{facts}</span>"
        f'<span class="lead">{lead}</span></summary>'
        f"{''.join(_finding(each) for each in findings)}"
        f'<div class="pictures">{pictures}</div></details>\n'
    )


def _rank(finding: Finding) -> int:
    return {"fail": 0, "quarantine": 1}.get(str(finding.severity), 2)


def _finding(finding: Finding, *, episodes: bool = False) -> str:
    where = [escape(finding.stream)] if finding.stream else []
    if finding.frames:
        shown = [f"{first} to {stop - 1}" if stop - first > 1 else str(first)
                 for first, stop in finding.frames[:_MOST_SPANS]]  # fmt: skip
        more = len(finding.frames) - len(shown)
        where.append(f"frames {', '.join(shown)}" + (f" and {more} more" if more > 0 else ""))
    if finding.value is not None and finding.limit is not None:
        where.append(f"{finding.value:.4g} against {finding.limit:.4g}")
    if episodes and finding.episodes:
        where.append("episodes " + ", ".join(map(str, finding.episodes[:30])))
    fix = explain(finding.check).fix if finding.check in checks() else ""
    return (
        f'<article class="finding {finding.severity}"><div><p class="message">'
        f'{escape(finding.message)}</p><p class="where"><code>{escape(finding.check)}</code> '
        f"{' · '.join(where)}</p>"
        + (f'<p class="fix">{escape(fix)}</p>' if fix else "")
        + f"</div>{chart(finding)}</article>"
    )


def _not_assessed(report: Report) -> str:
    reasons: Counter[tuple[str, str]] = Counter()
    for episode in report.episodes:
        reasons.update(episode.assessment.not_assessed.items())
    reasons.update(report.batch.not_assessed.items())
    if not reasons:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(check)}</code></td><td>{escape(reason)}</td>"
        f'<td class="n">{count}</td></tr>'
        for (check, reason), count in sorted(reasons.items())
    )
    return (
        f"<section><details><summary>Not assessed: {len({check for check, _ in reasons})} checks"
        f" could not run somewhere</summary><table>{rows}</table></details></section>"
    )
