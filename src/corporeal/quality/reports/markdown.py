"""A report as Markdown: what continuous integration shows under a change, or a comment holds."""

from __future__ import annotations

import re

from corporeal.quality.check import Finding, title_of
from corporeal.quality.inspection import EpisodeReport, Report
from corporeal.words import counted, show_plainly

_MOST = 50
_MOST_FINDINGS = 4
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render(report: Report) -> str:
    """Verdicts counted, then every episode that was not accepted, the failed ones first."""
    total = counted(len(report.episodes), "episode")
    counts = ", ".join(f"{report.count(verdict)} {verdict}"
                       for verdict in ("accepted", "quarantined", "failed"))  # fmt: skip
    good = "accepted" if report.accepted else "not accepted"
    lines = [f"### corporeal check: {_plain(report.source.name)} is {good}", "",
             f"{total} under {_plain(report.policy.reference)}: {counts}.", ""]  # fmt: skip
    order = ("failed", "quarantined")
    bad = sorted((each for each in report.episodes if each.verdict in order),
                 key=lambda each: (order.index(each.verdict), each.index))  # fmt: skip
    if bad:
        lines += ["| episode | verdict | what was found |", "|---|---|---|"]
        lines += [_row(each) for each in bad[:_MOST]]
        lines += [f"| and {len(bad) - _MOST} more | | |"] if len(bad) > _MOST else []
        lines.append("")
    lines += [f"- {_line(finding)}" for finding in report.batch.findings]
    blind = {name for each in report.episodes for name in each.assessment.not_assessed}
    if blind:
        lines += ["", f"{counted(len(blind), 'check')} not assessed in one episode or more."]
    return "\n".join(lines) + "\n"


def _row(episode: EpisodeReport) -> str:
    findings = [each for each in episode.findings if each.severity != "note"]
    words = [_line(each) for each in findings[:_MOST_FINDINGS]]
    if len(findings) > _MOST_FINDINGS:
        words.append(f"and {len(findings) - _MOST_FINDINGS} more")
    name = f"{episode.index} {_plain(episode.source.name)}"
    return f"| {name} | {episode.verdict} | {'<br>'.join(words)} |"


def _line(finding: Finding) -> str:
    return f"**{_plain(title_of(finding.check))}** {_plain(finding.message)}"


def _plain(text: str) -> str:
    """Text from anywhere as it stands: no markup, one line."""
    return _MARKS.sub(r"\\\1", " ".join(show_plainly(text).split()))
