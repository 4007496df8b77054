"""A report as one HTML page that can be forwarded: it needs no other file and no network."""

from __future__ import annotations

import base64
from collections import Counter
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from corporeal import __version__
from corporeal.quality.check import Finding, Verdict, checks, explain, title_of
from corporeal.quality.inspection import EpisodeReport, Report
from corporeal.quality.reports.measured_value import against_limit, finding_unit
from corporeal.words import counted

WIDTH, HEIGHT = 420, 96
_LEFT, _BOTTOM, _TOP = 56, 16, 6
_MOST_CURVES = 4


def chart(finding: Finding) -> str:
    """The evidence as curves over time; nothing when there is none to draw."""
    evidence = {name: np.ravel(values) for name, values in finding.evidence.items()}
    time_s = evidence.pop("time_s", None)
    curves = {
        name: values.astype(float)
        for name, values in evidence.items()
        if values.size >= 3 and (time_s is None or values.size == time_s.size)
    }
    if not curves:
        return ""
    chosen = dict(list(curves.items())[:_MOST_CURVES])
    length = max(values.size for values in chosen.values())
    along = np.arange(length, dtype=float) if time_s is None else time_s.astype(float)
    finite = np.concatenate([values[np.isfinite(values)] for values in chosen.values()])
    if not finite.size or not np.isfinite(along).all():
        return ""
    limit = finding.limit if _is_drawn(finding.value, chosen) else None
    low, high = _range(finite, limit)
    lines = [
        _curve(along[: values.size], values, along, low, high, number)
        for number, values in enumerate(chosen.values())
    ]
    unit = "s" if time_s is not None else ""
    legend = "".join(
        f'<tspan class="c{number}" dx="{8 if number else 0}">{escape(name)}</tspan>'
        for number, name in enumerate(chosen)
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f'<line class="axis" x1="{_LEFT}" y1="{HEIGHT - _BOTTOM}" x2="{WIDTH}" '
        f'y2="{HEIGHT - _BOTTOM}"/>'
        f"{_limit(limit, low, high)}{''.join(lines)}"
        f'<text class="tick" x="{_LEFT - 4}" y="{_TOP + 8}" text-anchor="end">{high:.3g}</text>'
        f'<text class="tick" x="{_LEFT - 4}" y="{HEIGHT - _BOTTOM}" text-anchor="end">{low:.3g}'
        f"</text>"
        f'<text class="tick" x="{_LEFT}" y="{HEIGHT - 3}">{along[0]:.4g}</text>'
        f'<text class="tick" x="{WIDTH}" y="{HEIGHT - 3}" text-anchor="end">{along[-1]:.4g} {unit}'
        f"</text>"
        f'<text class="legend" x="{_LEFT + 40}" y="{HEIGHT - 3}">{legend}</text></svg>'
    )


def _is_drawn(value: float | None, curves: dict[str, NDArray[np.float64]]) -> bool:
    """Whether the value that broke the limit is the peak of a curve: only then is the limit of
    the same kind as what is drawn."""
    if value is None or not np.isfinite(value):
        return False
    peaks = [each(curve) for curve in curves.values() for each in (np.nanmax, np.nanmin)
             if np.isfinite(curve).any()]  # fmt: skip
    return any(abs(peak - value) <= 0.05 * abs(value) for peak in peaks)


def _range(values: NDArray[np.float64], limit: float | None) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    spread = high - low
    if limit is not None and np.isfinite(limit) and low - spread <= limit <= high + spread:
        low, high = min(low, limit), max(high, limit)
    margin = (high - low) * 0.08 or max(abs(high) * 0.1, 1e-9)
    return low - margin, high + margin


def _height(value: float, low: float, high: float) -> float:
    room = HEIGHT - _BOTTOM - _TOP
    return _TOP + room * (1 - (value - low) / (high - low))


def _limit(limit: float | None, low: float, high: float) -> str:
    if limit is None or not low <= limit <= high:
        return ""
    y = _height(limit, low, high)
    return f'<line class="limit" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH}" y2="{y:.1f}"/>'


def _curve(
    at: NDArray[np.float64],
    values: NDArray[np.float64],
    along: NDArray[np.float64],
    low: float,
    high: float,
    number: int,
) -> str:
    width = float(along[-1] - along[0]) or 1.0
    points = [
        f"{_LEFT + (WIDTH - _LEFT) * (x - along[0]) / width:.1f},{_height(y, low, high):.1f}"
        for x, y in zip(at.tolist(), values.tolist(), strict=True)
        if np.isfinite(y)
    ]
    return f'<polyline class="c{number}" points="{" ".join(points)}"/>'


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
        counted(len(report.episodes), "episode"),
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
        f'<tr><td>{_named(check)}</td><td class="why">{escape(_why(check))}</td>'
        f'<td class="meter"><span class="{severity}" style="width:{100 * count / most:.0f}%">'
        f'</span></td><td class="n">{count}</td></tr>'
        for (check, severity), count in counts.most_common(20)
    )
    return f"<section><h2>Reasons</h2><table class='reasons'>{rows}</table></section>"


def _named(check: str) -> str:
    """A check by its title; its name, which commands and queries take, small beside it."""
    return f"<b>{escape(title_of(check))}</b> <code>{escape(check)}</code>"


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
        clean = counted(len(silent), "episode")
        rest = (f'<details class="episode accepted"><summary><span class="badge accepted">accepted'
                f"</span> {clean} without a finding</summary><p>{names}</p></details>"
                )  # fmt: skip
    cut = len(ranked) - len(silent) - len(parts)
    more = (f"<p>{counted(cut, 'more episode')} with findings {'is' if cut == 1 else 'are'} in the "
            "JSON report.</p>") if cut else ""  # fmt: skip
    return f"<section><h2>Episodes</h2>{''.join(parts)}{more}{rest}</section>"


def _name(episode: EpisodeReport) -> str:
    return f"{episode.index} {episode.source.name}"


def _episode(episode: EpisodeReport) -> str:
    findings = sorted(episode.findings, key=_rank)
    opened = " open" if episode.verdict == "failed" else ""
    lead = escape(f"{title_of(findings[0].check)}: {findings[0].message}")
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
        unit = finding_unit(finding.check, finding.limit,
                            value=finding.value, message=finding.message)  # fmt: skip
        where.append(escape(against_limit(finding.value, finding.limit, unit)))
    if episodes and finding.episodes:
        where.append("episodes " + ", ".join(map(str, finding.episodes[:30])))
    fix = explain(finding.check).fix if finding.check in checks() else ""
    return (
        f'<article class="finding {finding.severity}"><div><p class="message">'
        f"{escape(title_of(finding.check))}</p><p>{escape(finding.message)}</p>"
        f'<p class="where"><code>{escape(finding.check)}</code> {" · ".join(where)}</p>'
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
    names = {check for check, _ in reasons}
    rows = "".join(
        f'<tr><td>{_named(check)}</td><td>{escape(reason)}</td><td class="n">{count}</td></tr>'
        for (check, reason), count in sorted(reasons.items())
    )
    return (
        f"<section><details><summary>Not assessed: {counted(len(names), 'check')}"
        f" could not run somewhere</summary><table>{rows}</table></details></section>"
    )
