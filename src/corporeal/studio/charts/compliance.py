"""Which episodes lack consent, operator or calibration? Gaps in the records."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.figures.record_gaps import gaps
from corporeal.operations.scope import Scope
from corporeal.studio.chart import BarMark, BarMarks, Chart, Drawing
from corporeal.words import counted, listed, percent


def draw(connection: Connection, scope: Scope) -> Drawing:
    """For everything that an episode should state, how many do not."""
    total, found = gaps(connection, scope)
    if not total:
        return Drawing(
            "Cannot tell: there are no episodes here.",
            advice="Choose a longer span of days above, or take in episodes: corporeal ingest.",
        )
    missing = [each for each in found if each.episodes]
    bars = [
        BarMark(
            label=each.name,
            value=each.episodes / total,
            detail=f"{counted(each.episodes, 'episode')} without {each.name} "
            f"({percent(each.episodes / total)})",
            tone="good" if not each.episodes else "warn" if each.episodes < total else "bad",
            query=scope.query(each.condition) if each.episodes else None,
        )
        for each in found
    ]
    if missing:
        worst = sorted(missing, key=lambda each: -each.episodes)
        said = [f"{each.name} ({each.episodes:,})" for each in worst[:4]]
        answer = f"Of {counted(total, 'episode')}, some lack {listed(said)}."
    else:
        answer = f"None: all {counted(total, 'episode')} state everything that is asked for."
    return Drawing(
        answer,
        BarMarks(unit="share", name="share of episodes without it", bars=bars),
        notes=("A field that says none, unknown or n/a counts as missing. Consent is read from "
               "`consent` in the metadata.",),
    )  # fmt: skip


CHART = Chart(
    draw, "Which episodes lack consent, operator or calibration?", "Compliance", place=10, wide=True
)
