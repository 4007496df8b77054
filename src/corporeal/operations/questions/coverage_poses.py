"""Which pose and operator cells are still empty? Accepted episodes by two axes."""

from __future__ import annotations

from corporeal.operations.coverage.coverage import chart_coverage

CHART = chart_coverage("operator", "pose", "Which operators and poses are still missing?", place=20)
