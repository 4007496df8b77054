"""What a task is: a layout, a script for the operator and a judge of how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corporeal.registry import plugins
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.trace import Trace
from corporeal.simulation.variation import SceneLayout, Variation


@dataclass(frozen=True)
class SimulatedTask:
    """One task of the simulated humanoid.

    `perform` moves the operator, `judge` tells the outcome from what was logged alone.
    `instructions` are templates with {hand}, {colour}, {shape}. `duration_s` is the allowed
    range of the demonstration between its start and end. A task that `needs_policy` walks.
    """

    perform: Callable[[Demonstrator], None]
    judge: Callable[[Trace], RunOutcome]
    instructions: tuple[str, ...]
    layout: SceneLayout
    duration_s: tuple[float, float] = (5.0, 60.0)
    needs_policy: bool = False
    faults: tuple[str, ...] = ("fall",)


def tasks() -> dict[str, SimulatedTask]:
    """Every task by name."""
    return plugins("corporeal.simulation.tasks", "TASK", SimulatedTask)


def instruction(task: SimulatedTask, variation: Variation, number: int) -> str:
    """The sentence the operator was given; `number` picks the wording."""
    first = variation.things[0] if variation.things else None
    return task.instructions[number % len(task.instructions)].format(
        hand=variation.hand,
        colour=first.colour if first else "",
        shape=first.shape if first else "",
    )
