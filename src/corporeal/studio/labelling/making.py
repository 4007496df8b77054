"""Makes the tasks of an order in the background: proposals first, some episodes at a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from corporeal.catalog.database import Database
from corporeal.catalog.permission import Actor
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.event import detect
from corporeal.labelling.frames import Frames, reference_stream
from corporeal.labelling.proposal import ProposalRequest, proposers
from corporeal.labelling.tasks.creation import create_tasks
from corporeal.labelling.taxonomy.document import Taxonomy
from corporeal.studio.context import Studio
from corporeal.studio.labelling.order import Order, plan, taxonomy_of

AT_ONCE = 40
"""Episodes whose tasks are made together: what a server that dies has to propose again."""
PROPOSER = "events"


@dataclass
class Progress:
    """How far the making of a queue is; `left_out` could not be read."""

    wanted: int
    made: int = 0
    proposed: int = 0
    left_out: int = 0
    is_running: bool = True
    error: str | None = None


class Maker:
    """The orders that are being worked on, one thread for each."""

    def __init__(self) -> None:
        self._progress: dict[str, Progress] = {}
        self._lock = threading.Lock()

    def progress(self, name: str) -> Progress | None:
        """How far an order is; None for one that nobody works on since the server started."""
        return self._progress.get(name)

    def start(self, studio: Studio, order: Order, episodes: Sequence[str], *, by: Actor) -> None:
        """Make the tasks of these episodes, unless that goes on already."""
        with self._lock:
            held = self._progress.get(order.name)
            if held is not None and held.is_running:
                return
            progress = Progress(len(episodes))
            self._progress[order.name] = progress
        work = threading.Thread(
            target=_make, args=(studio, order, list(episodes), by, progress), daemon=True,
            name=f"labels-{order.name}",
        )  # fmt: skip
        work.start()

    def resume(self, studio: Studio, order: Order, *, by: Actor) -> None:
        """Go on with an order that a server has died over, once after it was started again."""
        if order.name in self._progress:
            return
        with studio.workspace.database.read() as connection:
            left = plan(connection, order).episodes
        if left:
            self.start(studio, order, left, by=by)
        else:
            self._progress[order.name] = Progress(0, is_running=False)


_MAKERS: WeakKeyDictionary[Database, Maker] = WeakKeyDictionary()
_MAKING = threading.Lock()


def maker(studio: Studio) -> Maker:
    """The one that works for this Studio."""
    with _MAKING:
        return _MAKERS.setdefault(studio.workspace.database, Maker())


def _make(studio: Studio, order: Order, episodes: list[str], by: Actor, progress: Progress) -> None:
    try:
        with studio.workspace.database.read() as connection:
            taxonomy = taxonomy_of(connection, order.taxonomy)
        for first in range(0, len(episodes), AT_ONCE):
            _make_some(studio, order, episodes[first : first + AT_ONCE], taxonomy, by, progress)
    except CorporealError as error:
        progress.error = str(error)
    finally:
        if progress.made < progress.wanted and progress.error is None:
            progress.error = "Studio failed to make the rest of this queue; its log says why."
        progress.is_running = False


def _make_some(
    studio: Studio,
    order: Order,
    episodes: Sequence[str],
    taxonomy: Taxonomy,
    by: Actor,
    progress: Progress,
) -> None:
    starts: dict[str, Annotation] = {}
    frames: dict[str, Frames] = {}
    readable: list[str] = []
    for name in episodes:
        try:
            made, counted = propose(studio, name, taxonomy, proposed=order.kind == "annotate")
        except CorporealError as error:
            progress.left_out += 1
            progress.error = f"{name} was left out: {error}"
            continue
        finally:
            progress.made += 1
        readable.append(name)
        if made is not None:
            starts[name] = made
            progress.proposed += 1
        if counted is not None:
            frames[name] = counted
    with studio.workspace.database.write() as connection:
        create_tasks(
            connection, readable, taxonomy, queue=order.name, by=by,
            double_share=order.double_share, blind_share=order.blind_share, starts=starts,
            frames=frames, kind=order.kind, again=not order.skip_labelled,
            needs_qualification=order.needs_qualification,
        )  # fmt: skip


def propose(
    studio: Studio, name: str, taxonomy: Taxonomy, *, proposed: bool = True
) -> tuple[Annotation | None, Frames | None]:
    """What the signals of an episode propose, and the frames that its boundaries lie on."""
    task = studio.shelf.row(name)["task"]
    with studio.shelf.episode(name) as episode:
        recording = recording_of(episode)
        stream = reference_stream(recording)
        if stream is None:
            return None, None
        frames = Frames(stream, recording.signals[stream].time_ns.copy())
        if not proposed:
            return None, frames
        question = ProposalRequest(recording, taxonomy, task, stream, detect(recording))
        return proposers()[PROPOSER].propose(question), frames
