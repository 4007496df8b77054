"""Names of what lies beside a dataset, in a folder `corporeal` of it."""

from __future__ import annotations

FOLDER = "corporeal"
VIEW, EPISODES, ROBOT = "view.json", "episodes.jsonl", "embodiment.json"
JOINT_ORDER, NORMALISATION, WEIGHTS = "joint_order.json", "normalisation.json", "weights.json"
ROW = "table_row"
"""The stream that has the number of every row on its capture time."""
SCHEMA = "recorded_schema"
"""The field of a side file's metadata that has the schema of the recording."""


def side_name(number: int) -> str:
    """The side file of an episode."""
    return f"sides/side_{number:06d}.hdf5"


def shown(camera: str) -> str:
    """The stream that holds the capture times of a camera's pictures."""
    return f"{camera[:58]}_shown"
