"""Every check in words: pages for people, and the policy document that holds them all."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from corporeal.quality.check import Check, checks, explain

_HEAD = """\
# Every check with its severity and limits: the numbers that hold unless another policy says so.
# A policy of your own needs only what it changes; tasks: and robots: take the same rules.
document: policy
name: default
version: 1.0.0
description: The numbers of the specification.
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
    lines += ["", "## Limits", "", f"{facts}. Values are in {check.unit}.", ""]
    if check.limits:
        lines += ["| limit | default |", "|---|---|"]
        lines += [f"| `{key}` | {value} |" for key, value in check.limits.items()]
    else:
        lines += ["It has no limits to set."]
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
