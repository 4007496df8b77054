"""Do proposals sway people? Their distance to the proposal, shown it or not."""

from __future__ import annotations

import math

from sqlalchemy import Connection

from corporeal.errors import UnknownNameError
from corporeal.labelling.agreement import (
    FEWEST_BESIDE_PROPOSAL,
    ProposalBias,
    measure_proposal_bias,
)
from corporeal.labelling.taxonomy import usable_taxonomies
from corporeal.operations.question import BarMark, BarMarks, Chart, ChartChoice, Drawing
from corporeal.operations.scope import Scope
from corporeal.words import counted


def draw(connection: Connection, scope: Scope, *, taxonomy: str = "") -> Drawing:
    """Mean distance of boundaries to the proposal, of tasks begun with it and without."""
    del scope  # A proposal sways people whatever episodes are asked for; few are without one.
    known = {each.reference: each for each in usable_taxonomies(connection)}
    chosen = taxonomy or next(iter(known), "")
    if chosen not in known:
        raise UnknownNameError("taxonomy", chosen, list(known))
    choices = (ChartChoice(name="taxonomy", label="Taxonomy", value=chosen, options=list(known)),)
    found = measure_proposal_bias(connection, known[chosen])
    if not found.with_boundaries or not found.without_boundaries:
        return Drawing(
            "Cannot tell: nothing was submitted yet both with and without a proposal.",
            advice="Queues give a share of the tasks out without a proposal, to measure this.",
            choices=choices,
        )
    return Drawing(
        _sentence(found),
        BarMarks(unit="number", name="frames from the proposal", bars=_bars(found)),
        notes=("All episodes of the taxonomy, whatever is asked for above. Who did not see the "
               "proposal is compared with it all the same.",),
        choices=choices,
    )  # fmt: skip


def _bars(found: ProposalBias) -> list[BarMark]:
    sides = (
        ("shown a proposal", found.with_frames, found.with_boundaries, found.with_tasks),
        ("not shown one", found.without_frames, found.without_boundaries, found.without_tasks),
    )
    return [
        BarMark(
            label=label,
            value=frames,
            detail=f"{label}: {frames:.2f} frames from it on average, over "
            f"{counted(boundaries, 'boundary', 'boundaries')} of {counted(tasks, 'task')}",
            tone="warn" if found.is_suspicious and label.startswith("shown") else "plain",
        )
        for label, frames, boundaries, tasks in sides
        if math.isfinite(frames)
    ]


def _sentence(found: ProposalBias) -> str:
    near, far = found.with_frames, found.without_frames
    told = f"people end {near:.1f} frames from a proposal that they see, and {far:.1f} from one " \
           "that they do not"  # fmt: skip
    few = min(found.with_boundaries, found.without_boundaries)
    if few < FEWEST_BESIDE_PROPOSAL:
        return f"Too early to tell: {told}, over {counted(few, 'boundary', 'boundaries')} only."
    if found.is_suspicious:
        return f"Yes, it seems: {told}. Ask people to look before they accept."
    return f"Not much: {told}."


CHART = Chart(draw, "Do proposals sway people?", "Quality", place=100)
