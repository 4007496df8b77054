"""Do operators differ in what is accepted? Outcomes by operator."""

from __future__ import annotations

from corporeal.operations.outcome import chart_outcomes

CHART = chart_outcomes(
    "operator",
    "Do operators differ in what is accepted?",
    "Quality",
    place=40,
)
