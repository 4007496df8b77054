"""A history drawn: as lines of text, as a Mermaid diagram, and as a picture for a slide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corporeal.catalog.database import CatalogError
from corporeal.release.lineage.lineage import LineageGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SWEEPS = 4


@dataclass(frozen=True)
class NodePlace:
    """A column from the left, 0 the oldest, and a row from the top, which may be a half one.

    `is_later` marks what became of the subject.
    """

    column: int
    row: float
    is_later: bool


def places_of(graph: LineageGraph) -> dict[str, NodePlace]:
    """A place for every node; parents stand left of their children."""
    above, below = (_distances(graph, upwards=upwards) for upwards in (True, False))
    levels = {name: -far for name, far in above.items()}
    levels |= {name: far for name, far in below.items() if name not in above}
    for node in graph.nodes:
        levels.setdefault(node.id, 0)
    oldest = min(levels.values())
    columns: dict[int, list[str]] = defaultdict(list)
    for node in graph.nodes:
        columns[levels[node.id] - oldest].append(node.id)
    rows = _rows(graph, columns)
    tallest = max(len(names) for names in columns.values())
    return {
        name: NodePlace(column, rows[name] + (tallest - len(names)) / 2,
                    name in below and name not in above)
        for column, names in columns.items()
        for name in names
    }  # fmt: skip


def _steps(graph: LineageGraph, name: str, *, upwards: bool) -> list[tuple[str, str]]:
    """Relation and id of what a node came from, or of what came of it."""
    if upwards:
        return [(edge.relation, edge.parent) for edge in graph.parents(name)]
    return [(edge.relation, edge.child) for edge in graph.edges if edge.parent == name]


def _distances(graph: LineageGraph, *, upwards: bool) -> dict[str, int]:
    """The longest way from the subject to each node; a circle is walked once."""
    distances = {graph.subject: 0}
    front = [graph.subject]
    for step in range(1, len(graph.nodes)):
        steps = (each for name in front for each in _steps(graph, name, upwards=upwards))
        front = list(dict.fromkeys(far for _, far in steps if far != graph.subject))
        distances |= dict.fromkeys(front, step)
    return distances


def _rows(graph: LineageGraph, columns: dict[int, list[str]]) -> dict[str, float]:
    """Neighbours at about the same height: every node moves to the middle of its own."""
    near: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        near[edge.child].append(edge.parent)
        near[edge.parent].append(edge.child)
    rows = {name: float(row) for names in columns.values() for row, name in enumerate(names)}
    for _ in range(_SWEEPS):
        for names in columns.values():
            middle = (len(names) - 1) / 2
            wanted = {
                name: sum(rows[each] for each in near[name]) / len(near[name])
                if near[name]
                else middle
                for name in names
            }
            names.sort(key=lambda name: wanted[name])
            rows |= {name: float(row) for row, name in enumerate(names)}
    return rows


SUFFIXES = (".svg", ".png", ".pdf")
_INK, _QUIET, _LINE, _PAPER = "#1d2733", "#6b7885", "#b8c2cc", "#ffffff"
_OTHER = "#8a94a0"
_COLOURS = {
    "release": "#6c4fb3",
    "episode": "#1f77b4",
    "frame": "#e4572e",
    "sample": "#2a9d8f",
    "document": "#b7791f",
    "sensor": "#3c8d40",
    "operator": "#c2417c",
    "session": "#5a6fc0",
    "station": "#5a6fc0",
    "calibration": "#b7791f",
    "protocol": "#b7791f",
    "verification": "#2a9d8f",
    "halt": "#c0392b",
    "override": "#c0392b",
    "object": "#46525e",
    "model": "#a23b72",
}
# Letters that mean nothing to Mermaid, whatever stands beside them.
_SAFE = frozenset(" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,-_@/+")
_BOX, _GAP, _TALL, _PITCH = 3.4, 0.9, 0.56, 0.76
_LONGEST, _LONGEST_LINE = 46, 200


def as_text(graph: LineageGraph) -> str:
    """Two trees: where the subject comes from, and what became of it."""
    lines = [_visible(graph.node(graph.subject).label)]
    for title, upwards in (("came from", True), ("became", False)):
        branch = list(_branch(graph, graph.subject, upwards, "  ", {graph.subject}))
        if branch:
            lines += [f"{title}:", *branch]
    return "\n".join(lines)


def _branch(
    graph: LineageGraph, name: str, upwards: bool, indent: str, seen: set[str]
) -> Iterator[str]:
    steps = _steps(graph, name, upwards=upwards)
    for number, (relation, other) in enumerate(steps, 1):
        is_last = number == len(steps)
        again = other in seen and _steps(graph, other, upwards=upwards)
        label = _visible(graph.node(other).label)
        tail = " (see above)" if again else ""
        yield f"{indent}{'└' if is_last else '├'}─ {_phrase(relation)}: {label}{tail}"
        if other not in seen:
            seen.add(other)
            deeper = indent + ("   " if is_last else "│  ")
            yield from _branch(graph, other, upwards, deeper, seen)


def _visible(text: str) -> str:
    """The text without anything that moves a terminal's cursor."""
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return shown if len(shown) <= _LONGEST_LINE else shown[: _LONGEST_LINE - 3] + "..."


def _phrase(relation: str) -> str:
    """A relation in words; the name of a column stays as it is."""
    return _visible(relation if "." in relation else relation.replace("_", " "))


def as_mermaid(graph: LineageGraph) -> str:
    """A flow chart, the oldest on the left, for pages that render Mermaid."""
    numbers = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    lines += [f'  {numbers[node.id]}["{_escaped(node.label)}"]' for node in graph.nodes]
    for edge in graph.edges:
        relation = _escaped(_phrase(edge.relation))
        lines.append(f'  {numbers[edge.parent]} -- "{relation}" --> {numbers[edge.child]}')
    kinds = sorted({node.kind for node in graph.nodes if node.kind in _COLOURS})
    for kind in kinds:
        members = ",".join(numbers[node.id] for node in graph.nodes if node.kind == kind)
        lines.append(f"  classDef {kind} stroke:{_COLOURS[kind]},stroke-width:2px;")
        lines.append(f"  class {members} {kind};")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """The text with every letter that Mermaid or HTML could take for its own as a number."""
    short = _visible(text)
    return "".join(letter if letter in _SAFE else f"#{ord(letter)};" for letter in short)


def draw(graph: LineageGraph, *, title: str | None = None) -> Figure:
    """A matplotlib figure: boxes in columns, the oldest on the left, the subject framed."""
    from matplotlib.figure import Figure

    places = places_of(graph)
    columns = 1 + max(place.column for place in places.values())
    rows = 1 + max(place.row for place in places.values())
    width, height = columns * (_BOX + _GAP), rows * _PITCH + 0.9
    figure = Figure(figsize=(max(width, 6.0), max(height, 2.4)), dpi=120, facecolor=_PAPER)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, max(width, 6.0))
    axes.set_ylim(max(height, 2.4), 0)
    axes.set_axis_off()
    heading = title or graph.node(graph.subject).label
    axes.text(_GAP / 2, 0.38, _visible(heading), fontsize=15, weight="bold", color=_INK,
              va="center", parse_math=False)  # fmt: skip
    for edge in graph.edges:
        _draw_edge(axes, places[edge.parent], places[edge.child])
    for node in graph.nodes:
        _draw_node(axes, graph, node.id, places[node.id])
    return figure


def write_picture(graph: LineageGraph, path: Path, *, title: str | None = None) -> None:
    """The picture as a file: SVG, PNG or PDF, as the name ends."""
    if path.suffix.lower() not in SUFFIXES:
        raise CatalogError(f"picture, got {path.name!r}; expected a name in {', '.join(SUFFIXES)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(graph, title=title).savefig(path, facecolor=_PAPER)


def _corner(place: NodePlace) -> tuple[float, float]:
    """Left end and middle of a box, in inches."""
    return _GAP / 2 + place.column * (_BOX + _GAP), 0.75 + (place.row + 0.5) * _PITCH


def _draw_edge(axes: Axes, parent: NodePlace, child: NodePlace) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    (left, start), (right, stop) = _corner(parent), _corner(child)
    left += _BOX
    bend = max(0.45, (right - left) / 2)
    points = [(left, start), (left + bend, start), (right - bend, stop), (right, stop)]
    codes = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    axes.add_patch(
        PathPatch(Curve(points, codes), fill=False, edgecolor=_LINE, linewidth=1.1, zorder=1)
    )


def _draw_node(axes: Axes, graph: LineageGraph, name: str, place: NodePlace) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    node = graph.node(name)
    colour = _COLOURS.get(node.kind, _OTHER)
    left, middle = _corner(place)
    is_subject = name == graph.subject
    axes.add_patch(
        FancyBboxPatch((left, middle - _TALL / 2), _BOX, _TALL, zorder=2,
                       boxstyle="round,pad=0,rounding_size=0.07", facecolor="#f7f9fb",
                       edgecolor=colour, linewidth=2.2 if is_subject else 0.9)
    )  # fmt: skip
    axes.add_patch(Rectangle((left, middle - _TALL / 2 + 0.06), 0.07, _TALL - 0.12, zorder=3,
                             color=colour))  # fmt: skip
    relations = dict.fromkeys(
        edge.relation for edge in graph.edges if name == (edge.parent, edge.child)[place.is_later]
    )
    words = [_phrase(each) for each in list(relations)[:2]]
    said = " · ".join(words) if words and not is_subject else node.kind
    small, large = _short(said, _LONGEST + 8), _short(node.label, _LONGEST)
    axes.text(left + 0.18, middle - 0.12, small, fontsize=7, color=_QUIET, va="center", zorder=4,
              parse_math=False)  # fmt: skip
    axes.text(left + 0.18, middle + 0.1, large, fontsize=8.5, color=_INK, va="center", zorder=4,
              parse_math=False)  # fmt: skip


def _short(text: str, longest: int) -> str:
    """The text as the picture's font has it, cut in the middle where it is too long."""
    shown = "".join(letter if ord(letter) < 0x250 else "?" for letter in _visible(text))
    if len(shown) <= longest:
        return shown
    half = (longest - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"
