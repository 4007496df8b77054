"""Label tasks in the small workspace, with a made-up proposal that lies on its frames."""

from __future__ import annotations

from corporeal.catalog.permission import Actor
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import Workspace
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.frames import Frames, read_frames
from corporeal.labelling.queues import assign
from corporeal.labelling.tasks import TaskOptions, create_tasks
from corporeal.labelling.taxonomy import open_taxonomy

LEAD = Actor("lena", "lead")
ANN = Actor("ann", "annotator")
BOB = Actor("bob", "annotator")
PHASES = ["rest", "approach", "retract", "rest"]
FRAMES = [0, 20, 60, 90]
"""Where the proposed phases begin."""


def frames(workspace: Workspace, number: int = 0) -> tuple[str, Frames]:
    """An episode of the workspace and the frames that boundaries lie on."""
    with workspace.database.read() as connection:
        row = list(every_episode(connection, order="recorded"))[number]
    found = read_frames(workspace.store, row.hash)
    assert found is not None
    return row.id, found


def proposal(workspace: Workspace, number: int = 0, *, confirmed: bool = False) -> Annotation:
    """Four phases that tile the episode, as a machine would propose them."""
    _, line = frames(workspace, number)
    last = int(line.stamps[-1])
    edges = [*(int(line.stamps[frame]) for frame in FRAMES), last]
    said = {"hand": "right"}
    return Annotation(
        reference=line.stream,
        segments=tuple(
            Segment(
                id=f"p{place}", lane="phase", label=label, start_ns=edges[place],
                end_ns=edges[place + 1], attributes={} if label == "rest" else said,
                source="proposal", confirmed=confirmed, confidence=0.8,
            )
            for place, label in enumerate(PHASES)
        ),
    )  # fmt: skip


def make_task(workspace: Workspace, start: Annotation | None = None, *, number: int = 0) -> str:
    """A task on an episode that nobody has taken; its id."""
    return _made(workspace, start, number, double_share=0.0)[0]


def make_pair(workspace: Workspace) -> list[str]:
    """Two tasks on one episode, for Ann and for Bob, who have accounts."""
    made = _made(workspace, None, 0, double_share=1.0)
    with workspace.database.write() as connection:
        for each, who in zip(made, (ANN, BOB), strict=True):
            assign(connection, each, who.name, by=LEAD)
    return made


def _made(
    workspace: Workspace, start: Annotation | None, number: int, *, double_share: float
) -> list[str]:
    episode, line = frames(workspace, number)
    with workspace.database.write() as connection:
        made = create_tasks(
            connection, [episode], open_taxonomy("manipulation"),
            TaskOptions("test", double_share=double_share, blind_share=0.0), by=LEAD,
            starts={} if start is None else {episode: start}, frames={episode: line},
        )  # fmt: skip
    return [each.id for each in made]
