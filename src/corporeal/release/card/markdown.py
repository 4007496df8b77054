"""The card of a release as a README: what people read first, and what a hub's search reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml

from corporeal.quality.check import title_of
from corporeal.release.card.facts import UNKNOWN, CardFacts
from corporeal.release.card.wording import (
    MOST_ROWS,
    address,
    biases,
    bullets,
    code,
    day,
    hub_name,
    length,
    limitations,
    more,
    number,
    one_line,
    plain,
    rate,
    shape,
    spread,
    summary,
    table,
    unit,
)
from corporeal.words import byte_size, counted, listed, some_of

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"),
          (10_000_000, "1M<n<10M"))  # fmt: skip
_PICTURES = {
    "episodes.png": "Bars: episodes over time, coloured by task.",
    "scores.png": "Histograms: the scores of each task with its median.",
    "durations.png": "Dots: how long the episodes of each task are.",
    "outcomes.png": "Bars: the share of success and failure of each task.",
    "operators.png": "Bars: the share of the episodes that each operator made.",
}


def render_card(
    facts: CardFacts,
    *,
    pictures: Collection[str] = (),
    folder: str = "plots",
    part: str | None = None,
) -> str:
    """README.md; `pictures` are the names of those that lie beside it in `folder`.

    `part` says what of the release is there, where that is not all.
    """
    seen = {name: f"![{told}]({folder}/{name})" for name, told in _PICTURES.items()
            if name in pictures}  # fmt: skip
    parts = [
        _front_matter(facts),
        f"# {plain(f'{facts.name} {facts.version}')}",
        None if part is None else plain(part),
        _lead(facts),
        _figures(facts),
        seen.get("episodes.png"),
        _tasks(facts),
        *_section("Quality", [_quality(facts), seen.get("scores.png"), seen.get("durations.png"),
                              seen.get("outcomes.png"), _failures(facts),
                              _unchecked(facts), _not_assessed(facts)]),
        *_section("Labels", _labels(facts)),
        *_section("Splits", [_splits(facts), _representativeness(facts)]),
        *_section("How it was recorded", [_recording(facts), seen.get("operators.png")]),
        *_section("Streams", [_streams(facts)]),
        *_section("Known limitations", [bullets([*limitations(facts), *biases(facts)])]),
        *_section("Load it", [_loading(facts)]),
        *_section("Provenance", [_provenance(facts), _documents(facts)]),
        *_section("Licence", [_licence(facts)]),
    ]  # fmt: skip
    return "\n\n".join(each for each in parts if each) + "\n"


def _front_matter(facts: CardFacts) -> str:
    head: dict[str, Any] = {"pretty_name": one_line(f"{facts.name} {facts.version}", most=80)}
    if facts.licence is not None:
        known = hub_name(facts.licence)
        head["license"] = known or "other"
        if known is None:
            head["license_name"] = one_line(facts.licence, most=80)
    head["task_categories"] = ["robotics"]
    head["tags"] = ["LeRobot", "robotics", "corporeal",
                    *(one_line(share.name, most=40) for share in facts.robots
                      if share.name != UNKNOWN)]  # fmt: skip
    bigger = (name for limit, name in _SIZES if facts.episodes < limit)
    head["size_categories"] = [next(bigger, "n>10M")]
    said = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{said}---"


def _lead(facts: CardFacts) -> str:
    robots = listed([plain(share.name) for share in facts.robots if share.name != UNKNOWN])
    sentence = summary(facts) + (f", recorded with {robots}." if robots else ".")
    told = facts.said("description", "notes")
    return f"{plain(told, most=2000)}\n\n{sentence}" if told else sentence


def _figures(facts: CardFacts) -> str:
    people = [share for share in facts.operators if share.name != UNKNOWN]
    places = [share for share in facts.stations if share.name != UNKNOWN]
    cells = {
        "episodes": f"{facts.episodes:,}",
        "duration": length(facts.hours),
        "tasks": f"{len(facts.tasks)}",
        "operators": f"{len(people)}",
        "stations": f"{len(places)}",
        "streams": f"{len({stream.path for stream in facts.streams})}",
        "size": byte_size(facts.bytes),
    }
    return table(list(cells), [[f"**{value}**" for value in cells.values()]])


def _tasks(facts: CardFacts) -> str:
    rows = []
    for task in facts.tasks[:MOST_ROWS]:
        known = task.successes + task.failures
        rows.append([
            code(task.name),
            plain(task.instructions[0]) if task.instructions else "",
            f"{task.episodes:,}",
            length(task.hours),
            f"{100 * task.successes / known:.0f} %" if known else "",
            "" if task.median_score is None else f"{task.median_score:.2f}",
        ])  # fmt: skip
    heads = ("task", "instruction", "episodes", "duration", "success", "median score")
    made = table(heads, rows, right=(2, 3, 4, 5))
    return "## Tasks\n\n" + made + more(len(facts.tasks))


def _quality(facts: CardFacts) -> str:
    said = spread(facts.verdicts, facts.episodes)
    lines = [f"Verdicts, of people where they decided, or else of the checks: {said}."]
    known = [share for share in facts.outcomes if share.name != UNKNOWN]
    if known:
        lines.append(f"Outcomes: {spread(facts.outcomes, facts.episodes)}.")
    return " ".join(lines)


def _unchecked(facts: CardFacts) -> str | None:
    if not facts.unchecked:
        return None
    return (
        f"No check has looked at {facts.unchecked:,} of the {counted(facts.episodes, 'episode')}: "
        "an accepted one among them is so by a person's word alone."
    )


def _not_assessed(facts: CardFacts) -> str | None:
    """What nobody looked at: a reader must not take it for good."""
    if not facts.not_assessed:
        return None
    lead = (
        f"{counted(len(facts.not_assessed), 'check')} could not run on some of the "
        f"{counted(facts.episodes, 'episode')}, for want of what they look at. "
        "What they find is not ruled out there."
    )
    groups: dict[int, list[str]] = {}
    for name, count in facts.not_assessed:
        groups.setdefault(count, []).append(name)
    lines = []
    for count, names in sorted(groups.items(), reverse=True):
        every = "all " if count == facts.episodes else ""
        shown = [plain(title_of(name)) for name in names]
        lines.append(f"- in {every}{counted(count, 'episode')}: {some_of(shown, most=MOST_ROWS)}")
    return f"{lead}\n\n" + "\n".join(lines)


def _failures(facts: CardFacts) -> str | None:
    if not facts.failures:
        return None
    rows = [[plain(share.name), f"{share.episodes:,}"] for share in facts.failures[:MOST_ROWS]]
    return table(("failure", "episodes"), rows, right=(1,)) + more(len(facts.failures))


def _splits(facts: CardFacts) -> str:
    rows = [
        [code(share.name), f"{share.episodes:,}",
         f"{100 * share.episodes / max(1, facts.episodes):.0f} %", length(share.hours)]
        for share in facts.splits
    ]  # fmt: skip
    return table(("split", "episodes", "share", "duration"), rows, right=(1, 2, 3))


def _representativeness(facts: CardFacts) -> str | None:
    """The report on the splits; its words on single properties may name people and stay out."""
    report = facts.stated.get("representativeness")
    tested = report.get("properties") if isinstance(report, dict) else None
    if not isinstance(report, dict) or not isinstance(tested, list):
        return None
    rows = [
        [plain(str(each.get("property", ""))), plain(str(each.get("judgement", ""))),
         plain(str(each.get("test") or "")), number(each.get("p")), number(each.get("effect"))]
        for each in tested if isinstance(each, dict)
    ]  # fmt: skip
    heads = ("property", "splits are", "test", "p (corrected)", "effect (0 to 1)")
    words = report.get("words")
    said = f"{plain(words)}\n\n" if isinstance(words, str) else ""
    return said + table(heads, rows, right=(3, 4))


def _recording(facts: CardFacts) -> str:
    span = "at times that are not stated"
    if facts.first_ns is not None and facts.last_ns is not None:
        span = f"from {day(facts.first_ns)} to {day(facts.last_ns)}"
    lines = [f"Recorded {span} in {counted(facts.sessions, 'session')}.", ""]
    groups = {"robots": facts.robots, "stations": facts.stations, "modes": facts.modes,
              "environments": facts.environments, "software": facts.software}  # fmt: skip
    lines += [f"- {name}: {spread(shares, facts.episodes)}" for name, shares in groups.items()]
    return "\n".join(lines)


def _streams(facts: CardFacts) -> str | None:
    if not facts.streams:
        return None
    rows = [
        [code(each.path), plain(each.kind), shape(each), unit(each), rate(each),
         plain(each.frame or ""),
         "all" if each.episodes == facts.episodes else f"{each.episodes:,}"]
        for each in facts.streams[: 2 * MOST_ROWS]
    ]  # fmt: skip
    heads = ("stream", "kind", "shape", "unit", "rate (Hz)", "frame", "episodes")
    return table(heads, rows, right=(4,)) + more(len(facts.streams), 2 * MOST_ROWS)


def _loading(facts: CardFacts) -> str:
    # What people paste into a shell is quoted like anything else from outside.
    name = shlex.quote(one_line(facts.reference, most=100).replace("`", "'"))
    folder = re.sub(r"[^A-Za-z0-9_-]+", "-", facts.name)[:64].strip("-") or "dataset"
    return (
        "Check every byte against the manifest, then write the format that you train from:\n\n"
        "```sh\n"
        f"corporeal release verify {name}\n"
        f"corporeal export {name} --format lerobot --out {folder}\n"
        "```\n\n"
        "```python\n"
        "from lerobot.datasets.lerobot_dataset import LeRobotDataset\n\n"
        f'dataset = LeRobotDataset("local/{folder}", root="{folder}")\n'
        "```"
    )


def _provenance(facts: CardFacts) -> str:
    return "\n".join([
        f"- made {plain(facts.created_at[:10])} of {_chosen(facts)}",
        f"- manifest {code(facts.manifest)}, which lists the hash of every episode",
        *_left_out(facts),
        "- every figure on this page was read from the catalogue",
    ])  # fmt: skip


def _chosen(facts: CardFacts) -> str:
    said = code(facts.condition)
    return f"the episodes where {said}" if said else "all episodes that were fit for a release"


def _left_out(facts: CardFacts) -> list[str]:
    """Episodes that met the condition and were not fit for a release, by state."""
    counts = facts.stated.get("left_out")
    if not isinstance(counts, dict) or not counts:
        return []
    told = [f"{number_of} {plain(str(state))}" for state, number_of in sorted(counts.items())
            if isinstance(number_of, int)]  # fmt: skip
    return [f"- left out, though they met the condition: {listed(told)}"]


def _documents(facts: CardFacts) -> str | None:
    if not facts.documents:
        return None
    rows = [[plain(each.kind), code(f"{each.name}@{each.version}"), code(each.hash),
             f"{each.episodes:,}"] for each in facts.documents[:MOST_ROWS]]  # fmt: skip
    made = table(("document", "version", "hash", "episodes"), rows, right=(3,))
    return made + more(len(facts.documents))


def _licence(facts: CardFacts) -> str:
    if facts.licence is None:
        return "No licence is stated: ask before you use it."
    where = address(facts.licence)
    said = plain(facts.licence)
    return f"[{said}]({where})" if where else said


def _section(title: str, parts: Sequence[str | None]) -> list[str]:
    made = [part for part in parts if part]
    return [f"## {title}", *made] if made else []


def _labels(facts: CardFacts) -> list[str]:
    """Coverage and taxonomies, segments of each label, how far people agreed; or nothing."""
    labels = facts.stated.get("labels")
    if not labels:
        return []
    count, unseen = labels["episodes"], labels["unseen"]
    named = listed([code(str(each)) for each in labels["taxonomies"]])
    cent = 100 * count / max(1, facts.episodes)
    said = f"{count:,} of {facts.episodes:,} episodes ({cent:.0f} %) are labelled under {named}."
    if unseen:
        said += f" In {unseen:,} of them, proposals stand that no person has confirmed."
    rows = [
        [plain(lane), code(label), f"{number:,}"]
        for lane, counts in labels["lanes"].items()
        for label, number in counts.items()
    ]
    segments = table(("lane", "label", "segments"), rows[:MOST_ROWS], right=(2,)) + more(len(rows))
    agreed = "\n".join(_agreement(*each) for each in labels["agreement"].items()) or (
        "No episode was labelled by two people, so nobody knows how far they would agree."
    )
    return [said, *([segments] if rows else []), agreed]


def _agreement(name: str, summary: Mapping[str, Any]) -> str:
    """How far two people agreed who labelled the same episodes without seeing each other."""
    parts = [f"- {code(name)}: {summary['episodes']:,} episodes labelled twice"]
    parts += [f"kappa of {plain(lane)} {value:.2f}" for lane, value in summary["kappa"].items()
              if value is not None]  # fmt: skip
    if (frames := summary["mean_difference_frames"]) is not None:
        parts.append(f"boundaries {frames:.1f} frames apart on average")
    if (hits := summary["hit_rate"]) is not None:
        parts.append(f"{100 * hits:.0f} % of them within the tolerance")
    return ", ".join(parts)
