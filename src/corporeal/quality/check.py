"""What a check is, a function with limits as keywords in a file of its name, and what it finds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
import yaml

from corporeal.episode.recording import Defect
from corporeal.errors import UnknownNameError
from corporeal.notebook import html_table
from corporeal.registry import plugin_names, plugins
from corporeal.signal.track import Array, Track

PACKAGE = "corporeal.quality.checks"

Severity = Literal["fail", "quarantine", "note"]
Verdict = Literal["accepted", "quarantined", "failed"]

Spans = tuple[tuple[int, int], ...]
"""Half-open ranges of samples."""

SEVERITIES: tuple[Severity, ...] = ("fail", "quarantine", "note")
MAX_EVIDENCE = 400
Topic = Literal[
    "time", "lag", "joints", "frames", "dynamics", "pictures", "sets", "protocol", "records"
]

Premise = Literal["rate_hz", "robot"]
"""What a source may leave open. Who assumes the robot, or the order of its joints, assumes both."""

_HEAD = """\
# Every check with its severity and limits: the numbers that hold unless another policy says so.
# A policy of your own needs only what it changes; tasks: and robots: take the same rules.
document: policy
name: default
version: 1.1.0
description: The numbers of the specification.
# What must have been judged, by what a source has. An episode without it is quarantined.
needs:
  - checks: [stamps_not_increasing, nothing_moves]
  - {has: [joints], checks: [values_not_finite, angles_in_degrees]}
  - {has: [robot], checks: [joint_beyond_limit]}
  - {has: [robot, base], checks: [robot_fell]}
  - {has: [cameras], checks: [video_damaged, picture_black, camera_frozen]}
  - {has: [state, own_clocks], checks: [gap_in_stream]}
  - {has: [protocol], checks: [duration_off_protocol]}
checks:
"""
_TOPICS = {
    "time": "Time",
    "lag": "Lag, from content",
    "joints": "Joints",
    "frames": "Frames, feet and falls",
    "dynamics": "Forces and torques",
    "pictures": "Pictures",
    "records": "Records",
    "sets": "Sets of episodes",
    "protocol": "Protocol",
}


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, how much, and the limit it broke.

    `frames` are half-open ranges of the stream's own samples: (10, 12) is samples 10 and 11; none
    means the whole stream. `evidence` holds small arrays by name, enough to draw the finding.
    `check` and `severity` are filled in by the run; a finding that sets `severity` overrides
    its check; a policy that says other than the check overrides both.
    """

    message: str
    stream: str | None = None
    frames: Spans = ()
    value: float | None = None
    limit: float | None = None
    evidence: Mapping[str, Array] = field(default_factory=dict, compare=False)
    severity: Severity | None = None
    episodes: tuple[int, ...] = ()
    check: str = ""
    siblings: tuple[str, ...] = ()
    """Other streams of which the same is true, for the same cause."""
    columns: tuple[str, ...] = ()
    """The columns that it is about; none where it is about all, or does not say."""
    consequences: tuple[str, ...] = ()
    """Checks that found what follows from this, and are not told apart."""

    def to_json(self) -> dict[str, Any]:
        """The finding as `corporeal check --json` prints it; `episodes` for a batch's alone,
        `siblings`, `columns` and `consequences` where there are any."""
        plain: dict[str, Any] = {
            "check": self.check,
            "severity": self.severity,
            "stream": self.stream,
            "frames": [list(span) for span in self.frames],
            "value": _number(self.value),
            "limit": _number(self.limit),
            "message": self.message,
        }
        for name in ("episodes", "siblings", "columns", "consequences"):
            if several := getattr(self, name):
                plain[name] = list(several)
        return plain

    def _repr_html_(self) -> str:
        """The finding as a notebook shows it."""
        return findings_html("finding", [self])


Findings = Iterator[Finding]


@dataclass(frozen=True)
class Check:
    """One check. `find(subject, *, limits...)` yields findings, or raises NotAssessed.

    An `episode` check gets a Subject, a `batch` check a Batch, a `judgement` check what the others
    could not judge. `pictures` says that video must be
    decoded for it, `rests_on` what it must know of the source: where its reader had to assume that,
    a finding fails nothing, asks a human, and says so. The severity is what a finding means unless
    the policy says otherwise.
    `explains` are checks that find what follows from this fault in the same columns at the same
    time, `spoils` those that draw on the faulty stream for what they say of any: where they find
    something, they are told with it.
    `formerly` are names that it had before: documents, queries and files may still carry them.
    """

    find: Callable[..., Findings]
    topic: Topic
    severity: Severity
    unit: str = "1"
    scope: Literal["episode", "batch", "judgement"] = "episode"
    pictures: bool = False
    rests_on: tuple[Premise, ...] = ()
    explains: tuple[str, ...] = ()
    spoils: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()

    @property
    def limits(self) -> dict[str, Any]:
        """The keyword-only arguments of `find` with their defaults: what a policy may set."""
        parameters = inspect.signature(self.find).parameters.values()
        return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


@dataclass(frozen=True)
class Explanation:
    """A check in words, from its name and docstrings; `good` is what a good episode has."""

    name: str
    title: str
    good: str
    what: str
    why: str
    fix: str


@cache
def checks() -> dict[str, Check]:
    """Every check by name."""
    return plugins(PACKAGE, "CHECK", Check)


def count_checks() -> int:
    """How many checks there are for an episode."""
    return sum(check.scope == "episode" for check in checks().values())


def present_name(name: str) -> str:
    """What the check of this name, present or former, is called now; other names stay."""
    if name in plugin_names(PACKAGE):
        return name
    return _present_names().get(name, name)


@cache
def _present_names() -> dict[str, str]:
    return {former: name for name, check in checks().items() for former in check.formerly}


def find_check(name: str) -> tuple[str, Check]:
    """The check of this name, present or former, with its present name."""
    present = present_name(name)
    if present not in checks():
        raise UnknownNameError("check", name[:80], checks(), listing="corporeal checks")
    return present, checks()[present]


def title_of(name: str) -> str:
    """The name as people read it: `Robot fell` of `robot_fell`."""
    words = name.replace("_", " ").replace("imu", "IMU")
    return words[:1].upper() + words[1:]


def explain(name: str) -> Explanation:
    """The check in words: what a good episode has, what is found, why it is bad, how to mend it."""
    module = import_module(f"{PACKAGE}.{name}")
    text = inspect.getdoc(checks()[name].find) or ""
    parts = re.split(r"^(Why|Fix):\s*", text, flags=re.MULTILINE)
    named = dict(zip(parts[1::2], parts[2::2], strict=True))
    flat = {key: _sentence(value) for key, value in named.items()}
    return Explanation(
        name=name,
        title=title_of(name),
        good=inspect.getdoc(module) or "",
        what=" ".join(parts[0].split()),
        why=flat.get("Why", ""),
        fix=flat.get("Fix", ""),
    )


def _sentence(text: str) -> str:
    flat = " ".join(text.split())
    return flat[:1].upper() + flat[1:]


def default_document(chosen: Mapping[str, Check] | None = None) -> str:
    """The policy document that says in full what holds by default."""
    lines = [_HEAD]
    for name, check in (checks() if chosen is None else chosen).items():
        limits = {key: _plain(value) for key, value in check.limits.items()}
        rule: dict[str, object] = {"severity": check.severity}
        if limits:
            rule["limits"] = limits
        text = yaml.safe_dump(rule, default_flow_style=True, sort_keys=False, width=10_000).strip()
        lines.append(f"  {name}: {text}\n")
    return "".join(lines)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


_UNITS = {"1": "", "share": " Values are shares: 0.05 is 5 %."}


def page(name: str) -> str:
    """One check as Markdown: what it does, why it matters, what to do, its limits."""
    check, told = checks()[name], explain(name)
    lines = [f"# {name}", "", f"A good one: {told.good}", "", "## What it does", "", told.what]
    if told.why:
        lines += ["", "## Why it matters", "", told.why]
    if told.fix:
        lines += ["", "## What to do", "", told.fix]
    facts = f"Topic {check.topic}, severity {check.severity}, looks at one {check.scope}"
    if check.pictures:
        facts += ", decodes pictures"
    if check.rests_on:
        facts += f", rests on {' and '.join(check.rests_on)}"
    values = _UNITS.get(check.unit, f" Values are in {check.unit}.")
    lines += ["", "## Limits", "", f"{facts}.{values}", ""]
    if check.limits:
        lines += ["| limit | default |", "|---|---|"]
        lines += [f"| `{key}` | {value} |" for key, value in check.limits.items()]
    else:
        lines += ["It has no limits to set."]
    if check.explains or check.spoils:
        follow = sorted({*check.explains, *check.spoils})
        names = ", ".join(f"[{other}]({other}.md)" for other in follow)
        lines += ["", f"What follows from it is told with it: {names}."]
    if check.formerly:
        names = ", ".join(f"`{former}`" for former in check.formerly)
        lines += ["", f"Formerly {names}; what carries that name still means this check."]
    return "\n".join(lines) + "\n"


def index() -> str:
    """The list of all checks as Markdown, by topic."""
    lines = ["# Checks", "", "One page for each; `corporeal checks` prints the same list.", ""]
    for topic, title in _TOPICS.items():
        names = [name for name, check in checks().items() if check.topic == topic]
        if not names:
            continue
        lines += [f"## {title}", "", "| check | a good one has | severity |", "|---|---|---|"]
        lines += [
            f"| [{name}]({name}.md) | {explain(name).good} | {checks()[name].severity} |"
            for name in names
        ]
        lines.append("")
    return "\n".join(lines)


_EPISODES = re.compile(r"\bepisodes? -?\d+(?:(?:, | and )-?\d+)*\b(?!\.\d)")
_NUMBER = re.compile(r"-?\d+")


def name_episodes(message: str, names: Mapping[int, str]) -> str:
    """The message with names for numbers that count only among episodes judged together."""

    def name(match: re.Match[str]) -> str:
        return _NUMBER.sub(lambda number: names.get(int(number[0]), number[0]), match[0])

    return _EPISODES.sub(name, message) if names else message


def findings_html(title: str, findings: Sequence[Finding], *, note: str = "") -> str:
    """Findings as a table for a notebook."""
    rows = (
        (
            finding.severity or "",
            finding.check.replace("_", " "),
            finding.message,
            finding.stream or "",
            ", ".join(f"{first} to {stop - 1}" for first, stop in finding.frames[:4]),
        )
        for finding in findings
    )
    return html_table(title, ("severity", "check", "what", "stream", "frames"), rows, note=note)


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def verdict(findings: tuple[Finding, ...]) -> Verdict:
    """What follows: one `fail` fails the episode, one `quarantine` asks for a human."""
    severities = {finding.severity for finding in findings}
    if "fail" in severities:
        return "failed"
    return "quarantined" if "quarantine" in severities else "accepted"


def drawn(
    track: Track, first: int, stop: int, columns: Sequence[int], *, margin: int = 60
) -> dict[str, Array]:
    """Evidence to draw: columns from `margin` before to as much after, at most 200 samples."""
    first, stop = max(0, first - margin), min(len(track), stop + margin)
    window = slice(first, stop, max(1, -(-(stop - first) // (MAX_EVIDENCE // 2))))
    curves = {track.names[column]: track.values[window, column] for column in columns}
    return {"time_s": track.seconds[window], **curves}


def drawn_whole(seconds: Array, columns: Mapping[str, Array]) -> dict[str, Array]:
    """Evidence to draw: columns from beginning to end, at most 400 samples."""
    step = len(seconds) // MAX_EVIDENCE + 1
    return {name: values[::step] for name, values in {"time_s": seconds, **columns}.items()}


def reported(defects: Iterable[Defect], check: str) -> Findings:
    """The defects that this check reports; `check` may be a module's dotted name."""
    wanted = check.rpartition(".")[2]
    return (finding_of(defect) for defect in defects if defect.check == wanted)


def finding_of(defect: Defect) -> Finding:
    """One defect as a finding."""
    alone = () if defect.episode is None else (defect.episode,)
    return Finding(
        defect.message,
        stream=defect.stream,
        value=defect.value,
        limit=defect.limit,
        episodes=defect.episodes or alone,
    )
