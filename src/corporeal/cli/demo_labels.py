"""The labels of the demo: proposed from the signals, then confirmed as an annotator would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.episode.recording import recording_of
from corporeal.labelling.annotation import Annotation, Edit, Put, Set, Step
from corporeal.labelling.proposal import propose
from corporeal.labelling.queues import take_next
from corporeal.labelling.review import accept, submit
from corporeal.labelling.tasks import TaskOptions, create_tasks, save_edits
from corporeal.labelling.taxonomy import open_taxonomy

QUEUE, TAXONOMY = "demo", "manipulation"


def label(workspace: Workspace, files: dict[str, Path], *, by: Actor) -> int:
    """Propose labels for these episodes (files by id) and confirm them; how many now count."""
    starts, facts = _proposals(files)
    with workspace.database.write() as connection:
        options = TaskOptions(QUEUE, double_share=0.0, blind_share=0.0)
        taxonomy = open_taxonomy(TAXONOMY)
        made = create_tasks(connection, list(starts), taxonomy, options, by=by, starts=starts)
    done = 0
    for _ in made:
        with workspace.database.write() as connection:
            held = take_next(connection, QUEUE, by=by)
            if held is None:
                break
            edit = _confirmation(held.annotation, facts[held.episode])
            save_edits(connection, held.id, [edit], base_version=held.version, by=by)
            submit(connection, held.id, by=by)
            accept(connection, held.id, by=by, why="made by corporeal demo")
            done += 1
    return done


def _proposals(files: dict[str, Path]) -> tuple[dict[str, Annotation], dict[str, dict[str, Any]]]:
    """The proposal for each episode, and what its file says of the objects in it."""
    taxonomy = open_taxonomy(TAXONOMY)
    starts: dict[str, Annotation] = {}
    facts: dict[str, dict[str, Any]] = {}
    for name, path in files.items():
        with Episode.open(path) as episode:
            facts[name] = episode.metadata
            recording = recording_of(episode)
            said = propose(recording, taxonomy, task=recording.facts.task)
            if said is not None and said.segments:
                starts[name] = said
    return starts, facts


def _confirmation(said: Annotation, facts: dict[str, Any]) -> Edit:
    """What an annotator does who finds every proposal right: confirm it, and name the object."""
    things = facts.get("variation", {}).get("things") or [{}]
    known = {
        "object": f"{things[0].get('colour', 'some')}_{things[0].get('shape', 'object')}",
        "hand": facts.get("variation", {}).get("hand", "right"),
        "grasp_type": "precision_pinch",
    }
    asked = {(lane.name, label.name): label.attributes
             for lane, label in open_taxonomy(TAXONOMY).labels()}  # fmt: skip
    steps: list[Step] = []
    for segment in said.segments:
        needed = {name: known[name] for name in asked[segment.lane, segment.label]
                  if name in known}  # fmt: skip
        steps.append(Put(put=segment.model_copy(
            update={"confirmed": True, "attributes": {**needed, **segment.attributes}}
        )))  # fmt: skip
    if said.outcome is None:
        steps.append(Set(set={"outcome": "success"}))
    return Edit(id="demo-confirms", action="accept", steps=tuple(steps))
