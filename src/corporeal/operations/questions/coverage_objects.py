"""Which task and object cells are still empty? Accepted episodes by two axes."""

from __future__ import annotations

from corporeal.operations.coverage.coverage import chart_coverage

CHART = chart_coverage("task", "object", "Which tasks and objects are still missing?", place=10)
