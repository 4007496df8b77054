"""Which task is rejected most often? Outcomes by task."""

from __future__ import annotations

from corporeal.operations.outcome import chart_outcomes

CHART = chart_outcomes("task", "Which task is rejected most often?", "Quality", place=60)
