"""What changed from one release to another, in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.release.label_bundle import LabelBundle, load_labels
from corporeal.release.layout import layout_changes
from corporeal.release.manifest import Manifest, ReleaseMember
from corporeal.release.reading import load_release
from corporeal.release.representativeness import LEVEL, compare_categories, compare_numbers
from corporeal.release.version import MEANING, Change, Version, step_between
from corporeal.words import counted, some_of

_SHOWN = 5
_SETTINGS = ("licence", "notes", "condition", "seed", "shares", "stratify", "group_by")


@dataclass(frozen=True)
class MovedEpisode:
    """An episode that is in another split."""

    id: str
    old: str
    new: str


@dataclass(frozen=True)
class Shift:
    """How a property of the episodes changed; `effect` is Cramér's V or the KS distance."""

    property: str
    words: str
    p: float
    effect: float


@dataclass(frozen=True)
class Difference:
    """Everything that differs; nothing in it when two releases hold the same."""

    old: str
    new: str
    step: Change
    meaning: str
    layout: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    moved: tuple[MovedEpisode, ...]
    changed: tuple[str, ...]
    """Episodes of which another file, verdict, score, document or label is listed, with what."""
    settings: tuple[str, ...]
    shifts: tuple[Shift, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The difference, a sentence each."""
        return tuple(_lines(self))

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return {**asdict(self), "words": list(self.lines)}


def diff_releases(workspace: Workspace, old: str, new: str) -> Difference:
    """What changed from release `old` to release `new`, which may have other names."""
    manifests = [load_release(workspace, reference) for reference in (old, new)]
    bundles = [load_labels(workspace.store, manifest) for manifest in manifests]
    return difference(*manifests, labels=(bundles[0], bundles[1]))


def difference(
    old: Manifest,
    new: Manifest,
    *,
    labels: tuple[LabelBundle | None, LabelBundle | None] = (None, None),
) -> Difference:
    """What changed from one manifest to another; with their `labels`, also what in those."""
    before = {each.id: each for each in old.episodes}
    after = {each.id: each for each in new.episodes}
    both = sorted(before.keys() & after.keys())
    step = step_between(Version.parse(old.version), Version.parse(new.version))
    same_name = old.name == new.name
    return Difference(
        old=old.reference,
        new=new.reference,
        step=step,
        meaning=MEANING[step] if same_name else "releases of different names",
        layout=tuple(layout_changes(old.layout, new.layout)),
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        moved=tuple(MovedEpisode(name, before[name].split, after[name].split) for name in both
                    if before[name].split != after[name].split),
        changed=tuple(f"{name}: {', '.join(told)}" for name in both
                      if (told := [*_changes(before[name], after[name], old, new),
                                   *_label_words(before[name], after[name], labels)])),
        settings=tuple(_settings(old, new)),
        shifts=tuple(_shifts(old.episodes, new.episodes)),
    )  # fmt: skip


def _changes(
    old: ReleaseMember, new: ReleaseMember, before: Manifest, after: Manifest
) -> list[str]:
    told = [
        f"{name} {_shown(getattr(old, name))} is now {_shown(getattr(new, name))}"
        for name in ("verdict", "score", "negative", "success", "task", "robot")
        if getattr(old, name) != getattr(new, name)
    ]
    if old.hash != new.hash:
        told.append("another file")
    for kind in sorted(old.documents.keys() | new.documents.keys()):
        was, now = old.documents.get(kind), new.documents.get(kind)
        if was != now:
            told.append(f"{kind} {_named(was, before)} is now {_named(now, after)}")
    return told


def _label_words(
    old: ReleaseMember, new: ReleaseMember, labels: tuple[LabelBundle | None, LabelBundle | None]
) -> tuple[str, ...]:
    if old.labels == new.labels:
        return ()
    return label_changes(old.id, *labels) or ("other labels",)


def _named(digest: str | None, manifest: Manifest) -> str:
    if digest is None:
        return "nothing"
    head = manifest.documents.get(digest)
    return f"{head.name}@{head.version} ({digest[7:15]})" if head is not None else digest[:15]


def _settings(old: Manifest, new: Manifest) -> Iterator[str]:
    for name in _SETTINGS:
        was, now = getattr(old, name), getattr(new, name)
        if was != now:
            yield f"{name.replace('_', ' ')} {_shown(was)} is now {_shown(now)}"


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {each:g}" for name, each in value.items())
    if isinstance(value, tuple):
        return ", ".join(value)
    said = str(value)
    return said if len(said) <= 80 else f"{said[:77]}..."


def _shifts(old: Sequence[ReleaseMember], new: Sequence[ReleaseMember]) -> Iterator[Shift]:
    """Scores, verdicts and tasks of the one beside those of the other."""
    sides = ["the old one"] * len(old) + ["the new one"] * len(new)
    both = [*old, *new]
    numbers: dict[str, Callable[[ReleaseMember], float | None]] = {
        "score": lambda each: each.score,
        "duration_s": lambda each: each.duration_s,
    }
    for name, of in numbers.items():
        compared = compare_numbers(sides, [of(each) for each in both])
        if compared is not None and _medians(old, of) != _medians(new, of):
            words = f"{name}: median {_medians(old, of)} is now {_medians(new, of)}"
            yield Shift(name, words, compared.p, compared.effect)
    for name in ("verdict", "task", "split"):
        shares = [Counter(str(getattr(each, name)) for each in side) for side in (old, new)]
        compared = compare_categories(sides, [str(getattr(each, name)) for each in both])
        if compared is not None and shares[0] != shares[1]:
            yield Shift(name, _share_words(name, *shares), compared.p, compared.effect)


def _medians(members: Sequence[ReleaseMember], of: Callable[[ReleaseMember], float | None]) -> str:
    known = [value for each in members if (value := of(each)) is not None]
    return f"{np.median(known):.4g}" if known else "unknown"


def _share_words(name: str, old: Counter[str], new: Counter[str]) -> str:
    parts = [
        f"{kind} {old[kind] / old.total():.1%} is now {new[kind] / new.total():.1%}"
        for kind in sorted(old.keys() | new.keys(), key=lambda kind: -new[kind])
        if old[kind] / old.total() != new[kind] / new.total()
    ]
    return f"{name}: {some_of(parts, most=_SHOWN) or 'the same shares of other numbers'}"


def _lines(found: Difference) -> Iterator[str]:
    yield f"{found.new} follows {found.old} by a {found.step} step: {found.meaning}."
    yield from (f"Layout: {told}." for told in found.layout)
    for what, ids in (("added", found.added), ("removed", found.removed)):
        if ids:
            yield f"{counted(len(ids), 'episode')} {what}: {some_of(ids, most=_SHOWN)}."
    if found.moved:
        yield (
            f"{counted(len(found.moved), 'episode')} moved between splits: "
            + some_of(
                [f"{each.id} from {each.old} to {each.new}" for each in found.moved], most=_SHOWN
            )
            + "."
        )
    if found.changed:
        told = some_of(found.changed, most=_SHOWN, between="; ")
        yield f"{counted(len(found.changed), 'episode')} changed: {told}."
    yield from (f"Stated: {told}." for told in found.settings)
    for each in found.shifts:
        chance = "more than chance" if each.p < LEVEL else "no more than chance"
        yield f"Shift in {each.words} (effect {each.effect:.2f}, p = {each.p:.3g}: {chance})."
    if not (found.layout or found.added or found.removed or found.moved or found.changed
            or found.settings):  # fmt: skip
        yield "The same episodes in the same splits, and the same said of them."


def label_changes(
    episode: str, old: LabelBundle | None, new: LabelBundle | None
) -> tuple[str, ...]:
    """A few words for each lane and field that differs; nothing when the labels are the same."""
    was = old.episodes.get(episode) if old is not None else None
    now = new.episodes.get(episode) if new is not None else None
    if was is None and now is None:
        return ()
    if was is None or now is None:
        return ("labelled" if was is None else "no longer labelled",)
    return tuple(_differences(was.annotation, now.annotation))


def _differences(was: Annotation, now: Annotation) -> Iterator[str]:
    lanes = dict.fromkeys(each.lane for each in (*was.segments, *now.segments))
    for lane in lanes:
        before, after = (Counter(map(_key, each.in_lane(lane))) for each in (was, now))
        changed = max((before - after).total(), (after - before).total())
        if changed:
            yield f"{changed} segment{'s' * (changed > 1)} of {lane} changed"
    if sorted(each.text for each in was.instructions) != sorted(
        each.text for each in now.instructions
    ):
        yield "other instructions"
    for name in ("outcome", "failure_mode", "variant"):
        before_said, after_said = getattr(was, name), getattr(now, name)
        if before_said != after_said:
            words = name.replace("_", " ")
            yield f"{words} {before_said or 'nothing'} is now {after_said or 'nothing'}"
    if set(was.flags) != set(now.flags):
        yield "other flags"
    if was.corrections != now.corrections:
        yield "other corrections"


def _key(segment: Segment) -> tuple[str, int, int, str]:
    said = json.dumps(segment.attributes, sort_keys=True)
    return segment.label, segment.start_ns, segment.end_ns, said
