"""Charts of the dashboards, one file per question."""
