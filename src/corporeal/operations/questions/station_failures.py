"""Which station produces the failures? Outcomes by station."""

from __future__ import annotations

from corporeal.operations.outcome import chart_outcomes

CHART = chart_outcomes("station", "Which station produces the failures?", "Quality", place=50)
