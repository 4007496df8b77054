"""A policy's predictions into queues, and what people made of them out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from corporeal.cli.command import argument, option
from corporeal.cli.label_proposals import find_episodes, find_taxonomy
from corporeal.cli.output import AsJson, emphasise, print_result
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace, write_catalog
from corporeal.errors import CorporealError
from corporeal.files import atomic_write
from corporeal.labelling.labels import labels_in_force
from corporeal.labelling.tasks import (
    corrected_predictions,
    create_correction_tasks,
    read_predictions,
)


def bring_predictions(
    path: Annotated[
        Path, argument("JSON lines with episode, time_ns, kind (grasp or action) and predicted.")
    ],
    queue: Annotated[str, option("The queue that people work on.", "--queue", "-q")] = "correct",
    taxonomy: Annotated[
        str, option("A built-in one, a file, or name@version.", "--taxonomy", "-t")
    ] = "manipulation",
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Ask people to put right what a policy predicted: a task for each episode.

    Example: [bold]corporeal annotate predictions rollout.jsonl --queue correct[/bold]
    """
    predictions = read_predictions(path)
    with write_catalog(root, "judge") as (connection, actor):
        document = find_taxonomy(connection, taxonomy)
        tasks = create_correction_tasks(connection, predictions, document, queue, by=actor)
    asked = {task.episode for task in tasks}
    print_result(
        as_json,
        {"queue": queue, "tasks": [task.id for task in tasks], "episodes": sorted(asked),
         "predictions": len(predictions)},
        emphasise(queue, f": {len(predictions)} predictions, {len(asked)} episodes to correct"),
        "next: people open this queue in Studio; then corporeal annotate corrections",
    )  # fmt: skip


def write_corrections(
    wanted: Annotated[
        list[str] | None,
        argument("Ids of episodes (or how they begin), or one query; by default all."),
    ] = None,
    out: Annotated[Path, option("The new file of JSON lines.", "--out", "-o")] = Path(
        "corrections.jsonl"
    ),
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write what people put right as JSON lines: predicted beside corrected, to train on.

    Example: [bold]corporeal annotate corrections 'task = pick_place' --out fixes.jsonl[/bold]
    """
    with (
        enter_workspace(root, "export") as (workspace, actor),
        workspace.database.read() as connection,
    ):
        names = [row.id for row in find_episodes(connection, wanted or [], by=actor)]
        labels = labels_in_force(connection, names)
    rows = list(corrected_predictions([labels[name] for name in names if name in labels]))
    if not rows:
        raise CorporealError(
            f"corrections, got none for {len(names)} episodes; expected some that a lead accepted. "
            "See: corporeal annotate queue."
        )
    atomic_write(out, "".join(json.dumps(row) + "\n" for row in rows))
    episodes = len({row["episode"] for row in rows})
    print_result(
        as_json,
        {"file": str(out), "corrections": len(rows), "episodes": episodes},
        emphasise(str(out), f": {len(rows)} corrections of {episodes} episodes"),
    )
