"""A choice as one HTML page: what was dropped and why, beside the baselines, with pictures."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np

from corporeal.curation.choice import Choice
from corporeal.curation.pool import reduce
from corporeal.curation.summary import CurationSummary, SetFigures
from corporeal.files import atomic_write
from corporeal.signal.track import Array
from corporeal.words import counted, percent

_WIDTH, _HEIGHT, _BINS, _MOST_ROWS, _MOST_POINTS, _MARGIN = 640, 200, 40, 2000, 5000, 10


def write_report(
    choice: Choice, summary: CurationSummary, out: Path, *, of: str,
    pictures: Mapping[int, bytes] | None = None,
) -> None:  # fmt: skip
    """Write the page; `pictures` are JPEGs of demonstrations by their number in the pool."""
    page = render(choice, summary, of=of, pictures=pictures or {})
    atomic_write(out, page)


def render(
    choice: Choice, summary: CurationSummary, *, of: str, pictures: Mapping[int, bytes]
) -> str:
    """The page as text; it needs no other file and no network."""
    kept, every = int(choice.kept.sum()), len(choice.pool)
    style = files("corporeal.curation").joinpath("report.css").read_text(encoding="utf-8")
    title = f"{kept} of {counted(every, 'demonstration')} kept"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(of)}, by {escape(", ".join(choice.scores))}; '
        f"at most {percent(choice.keep)} of every task.</p>",
        *(
            f'<p class="refused">{escape(name)} could not say: {escape(why)}</p>'
            for name, why in choice.refused.items()
        ),
        "<h2>Where the cut is</h2>", _histogram(choice),
        "<h2>Beside what everybody could do</h2>", _sets(summary.sets),
        f'<p class="note">Diversity is the Vendi score: how many different demonstrations it comes '
        f"to. Kernel: {escape(summary.kernel)}.</p>",
        "<h2>Where they lie</h2>", _map(choice),
        "<h2>Who and what was kept</h2>", _groups(summary),
        "<h2>Why the others were left out</h2>", _reasons(summary.reasons), *_figures(choice),
        _pictures(choice, pictures),
        "<h2>Every demonstration</h2>", _episodes(choice),
    ]  # fmt: skip
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>"
        f"{''.join(parts)}</main></body></html>\n"
    )


def _histogram(choice: Choice) -> str:
    """How many have which mean of ranks; what is kept in one colour, the others in another."""
    rank = np.nan_to_num(choice.rank)
    edges = np.linspace(0, 1, _BINS + 1)
    kept, _ = np.histogram(rank[choice.kept], edges)
    others, _ = np.histogram(rank[~choice.kept], edges)
    most = max(1, int((kept + others).max()))
    bars, room = [], _HEIGHT - 30
    for number in range(_BINS):
        x = number * _WIDTH / _BINS
        bottom = float(room)
        for counts, name in ((kept, "kept"), (others, "left")):
            high = room * counts[number] / most
            bottom -= high
            bars.append(f'<rect class="{name}" x="{x:.1f}" y="{bottom:.1f}" '
                        f'width="{_WIDTH / _BINS - 1:.1f}" height="{high:.1f}"/>')  # fmt: skip
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Ranks of all">'
        f"{''.join(bars)}"
        f'<text x="0" y="{_HEIGHT - 8}">worst of its task</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 8}" text-anchor="end">best of its task</text></svg>'
        f"{_legend()}"
    )


def _legend() -> str:
    return '<p class="note"><i class="kept"></i> kept <i class="left"></i> left out</p>'


def _sets(sets: Sequence[SetFigures]) -> str:
    head = ("", "episodes", "minutes", "median length", "succeeded", "score", "same as chosen",
            "diversity")  # fmt: skip
    rows = [
        (
            each.name, f"{each.episodes:,}", f"{each.minutes:.1f}",
            "" if each.median_s is None else f"{each.median_s:.1f} s",
            "not known" if each.success is None else percent(each.success),
            "none" if each.score is None else f"{each.score:.2f}",
            "" if each.name in ("all", "chosen") else percent(each.overlap),
            f"{each.vendi['1']:.1f}",
        )
        for each in sets
    ]  # fmt: skip
    return _table(head, rows)


def _map(choice: Choice) -> str:
    """Whole paths on their two strongest axes."""
    step = max(1, -(-len(choice.pool) // _MOST_POINTS))
    flat = reduce(choice.pool.paths, 2)[::step]
    if flat.shape[1] < 2:
        flat = np.column_stack([flat, np.zeros(len(flat))])
    low, high = flat.min(axis=0), flat.max(axis=0)
    room: Array = (flat - low) / np.where(high > low, high - low, 1.0)
    dots = [
        f'<circle class="{"kept" if kept else "left"}" r="4" '
        f'cx="{_MARGIN + x * (_WIDTH - 2 * _MARGIN):.1f}" '
        f'cy="{_MARGIN + y * (_HEIGHT * 1.5 - 2 * _MARGIN):.1f}"><title>{escape(each.name)}: '
        f"{escape(reason)}</title></circle>"
        for (x, y), kept, each, reason in zip(
            room, choice.kept[::step], choice.pool.episodes[::step], choice.reasons[::step],
            strict=True,
        )
    ]  # fmt: skip
    return (f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT * 1.5:.0f}" role="img" aria-label="Map of all">'
            f"{''.join(dots)}</svg>{_legend()}")  # fmt: skip


def _groups(summary: CurationSummary) -> str:
    rows = [
        (each.trait, each.value, f"{each.episodes:,}", f"{each.kept:,}",
         percent(each.kept / each.episodes))
        for each in summary.groups
    ]  # fmt: skip
    cells = f"{summary.cells_kept} of {summary.cells} combinations of task, object, environment "
    unseen = "" if summary.unseen is None else (
        f" About {percent(summary.unseen)} of what comes next would be of a combination that "
        "nobody has shown (Good and Turing).")  # fmt: skip
    table = _table(("", "", "episodes", "kept", "share"), rows)
    return f'{table}<p class="note">{cells}and operator are kept.{unseen}</p>'


def _reasons(reasons: Sequence[tuple[str, int]]) -> str:
    if not reasons:
        return '<p class="note">Nothing was left out.</p>'
    return _table(("why", "episodes"), [(why, f"{count:,}") for why, count in reasons])


def _figures(choice: Choice) -> Iterator[str]:
    """What methods say of the pool as a whole."""
    for method, scores in choice.scores.items():
        told = ", ".join(
            f"{name} {value if isinstance(value, str) else f'{value:.3g}'}"
            for name, value in scores.figures.items()
        )
        if told:
            yield f'<p class="note">{escape(method)}: {escape(told)}.</p>'


def _pictures(choice: Choice, pictures: Mapping[int, bytes]) -> str:
    if not pictures:
        return ""
    sides = []
    for is_kept, title in ((True, "Kept"), (False, "Left out")):
        shown = [number for number in pictures if bool(choice.kept[number]) == is_kept]
        figures = "".join(
            f'<figure><img alt="" src="data:image/jpeg;base64,'
            f'{base64.b64encode(pictures[number]).decode()}"><figcaption>'
            f"{escape(choice.pool.episodes[number].name)}: {escape(choice.reasons[number])}"
            "</figcaption></figure>"
            for number in shown
        )
        sides.append(f'<section><h3>{title}</h3><div class="pictures">{figures}</div></section>')
    return f'<h2>What that looks like</h2><div class="sides">{"".join(sides)}</div>'


def _episodes(choice: Choice) -> str:
    order = sorted(range(len(choice.pool)), key=lambda n: (-choice.weights[n], -_known(choice, n)))
    rows = [
        (
            choice.pool.episodes[n].name, choice.pool.episodes[n].task or "",
            f"{choice.weights[n]:.2f}",
            "" if np.isnan(choice.rank[n]) else percent(float(choice.rank[n])), choice.reasons[n],
        )
        for n in order[:_MOST_ROWS]
    ]  # fmt: skip
    rest = len(order) - _MOST_ROWS
    more = f'<p class="note">And {rest:,} more, in the selection.</p>' if rest > 0 else ""
    return _table(("demonstration", "task", "weight", "rank", "why"), rows) + more


def _known(choice: Choice, number: int) -> float:
    return float(np.nan_to_num(choice.rank[number]))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'
