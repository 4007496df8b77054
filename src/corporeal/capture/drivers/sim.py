"""The simulated humanoid: tasks really performed in MuJoCo, sensed with noise, delay and drift."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample
from corporeal.embodiment import open_robot
from corporeal.episode.facts import SYNTHETIC
from corporeal.errors import UnknownNameError
from corporeal.schema import Part, Schema, open_schema
from corporeal.simulation.demonstration import AFTER_S, BEFORE_S, simulate
from corporeal.simulation.rig import SENSORS, clocks, stream_sources
from corporeal.simulation.run import SimulatedRun
from corporeal.simulation.sensing import SensorSample, sense
from corporeal.simulation.task import tasks
from corporeal.simulation.variation import LIMITS, WIDE, Ranges, SceneWish
from corporeal.units import SECOND_NS

# People and machines need a moment between two demonstrations.
_PAUSE_NS = SECOND_NS // 2


class SimulationOptions(Part):
    """What to demonstrate."""

    task: str = "pick_place"
    episodes: int = Field(default=1, gt=0)
    seed: int = Field(default=0, ge=0)
    style: str | None = Field(default=None, description="how the operator moves; drawn when unset")
    fault_share: float | None = Field(
        default=None, ge=0, le=1, description="share made to go wrong; all where a fault is named"
    )
    fault: str | None = Field(default=None, description="which fault; drawn when unset")
    randomise: bool | Literal["wide"] | dict[str, tuple[float, float]] = Field(
        default=True, description="yes, no, wide, or ranges such as mass=0.5..2,friction=0.3..1"
    )
    policy: Path | None = Field(default=None, description="ONNX file of a walking policy")
    pictures: bool = True
    height: int = Field(default=480, gt=15)
    width: int = Field(default=640, gt=15)
    realtime: bool = False
    late_ms: dict[str, float] = Field(
        default={}, description="NAME:MS of streams that come late, such as external_front:80"
    )


def describe(options: SimulationOptions) -> Rig:
    """The simulated rig; nothing is simulated yet."""
    _ranges(options)
    if options.task not in tasks():
        raise UnknownNameError("task", options.task, tasks())
    _late_streams(options)
    if tasks()[options.task].needs_policy and options.policy is None:
        raise DriverError(
            f"task {options.task!r}, got no walking policy; expected an ONNX file. "
            "Name one with: --set policy=PATH."
        )
    return Rig(
        schema=_schema(options),
        embodiment=open_robot("g1"),
        sources=stream_sources(),
        latency_ns=_floors(),
        metadata={
            "task": options.task,
            "mode": SYNTHETIC,
            "environment": "simulated room",
            "calibration": "exact",
            "protocol": "none",
            "sensor_serials": {name: f"sim-{name}-{options.seed}" for name in clocks(0)},
        },
    )


def read(options: SimulationOptions) -> Iterator[Sample | Mark]:
    """Demonstrations one after the other, on devices whose clocks run on between them."""
    return follow(options, dict)


def follow(
    options: SimulationOptions, wanted: Callable[[], Mapping[str, Any] | None]
) -> Iterator[Sample | Mark]:
    """The same, each as its card asks for; they end with the last card."""
    devices = clocks(options.seed)
    begin_ns = time.time_ns()
    for number in range(options.episodes):
        facts = wanted()
        if facts is None:
            return
        seed = options.seed * 1000 + number
        run = simulate(
            options.task,
            seed=seed,
            style=options.style,
            fault=_fault(options, seed),
            randomise=_ranges(options),
            policy=options.policy,
            wish=_wish(facts),
        )
        length_ns = round(float(run.time_s[-1] - run.time_s[0]) * SECOND_NS)
        marks = _marks(run, begin_ns, length_ns)
        sensed = sense(
            run,
            seed=seed,
            pictures=options.pictures,
            size=(options.height, options.width),
            devices=devices,
            start_ns=begin_ns,
        )
        for item in _delayed(sensed, _late_streams(options)):
            while marks and item.arrival_ns >= marks[0].arrival_ns:
                yield marks.pop(0)
            if options.realtime:
                time.sleep(max(0, item.arrival_ns - time.time_ns()) / SECOND_NS)
            yield Sample(item.path, item.source_ns, item.arrival_ns, item.value)
        yield from marks
        begin_ns += length_ns + _PAUSE_NS


def _wish(facts: Mapping[str, Any]) -> SceneWish | None:
    """What the metadata of an episode to come ask of the simulated world."""
    varied, asked = facts.get("variation"), facts.get("asked")
    stated = {**facts, **(varied if isinstance(varied, Mapping) else {})}
    place = asked if isinstance(asked, Mapping) else {}
    wish = SceneWish(stated.get("hand"), stated.get("approach"))
    if "object_xyz" in place:
        x, y = place["object_xyz"][:2]
        yaw = place.get("object_yaw_rad")
        wish = replace(wish, object_xy=(float(x), float(y)), object_yaw_rad=yaw)
    return wish if wish != SceneWish() else None


def _ranges(options: SimulationOptions) -> bool | Ranges:
    """What is varied, and how far; ranges that are not named stay as they usually are."""
    asked = options.randomise
    if isinstance(asked, bool):
        return asked
    if isinstance(asked, str):
        return WIDE
    for name in asked:
        if name not in LIMITS:
            raise UnknownNameError("range", name, LIMITS)
    return Ranges(**asked)


def _late_streams(options: SimulationOptions) -> dict[str, float]:
    """How late which streams come, in ms; a stream may be called by the end of its path."""
    known = [stream.path for stream in open_schema("simulated_humanoid").streams]
    late_ms = {}
    for name, delay in options.late_ms.items():
        meant = [path for path in known if name == path or path.endswith(f"/{name}")]
        if len(meant) != 1:
            raise UnknownNameError("stream", name, known)
        late_ms[meant[0]] = delay
    return late_ms


def _delayed(items: Iterator[SensorSample], late_ms: Mapping[str, float]) -> Iterator[SensorSample]:
    """The samples in order of arrival, those of late streams arriving and stamped later."""
    waiting: list[tuple[int, int, SensorSample]] = []
    for number, item in enumerate(items):
        while waiting and waiting[0][0] <= item.arrival_ns:
            yield heappop(waiting)[2]
        late_ns = round(late_ms.get(item.path, 0.0) * 1e6)
        if not late_ns:
            yield item
            continue
        arrival_ns = item.arrival_ns + late_ns
        moved = replace(item, source_ns=item.source_ns + late_ns, arrival_ns=arrival_ns)
        heappush(waiting, (arrival_ns, number, moved))
    while waiting:
        yield heappop(waiting)[2]


def _marks(run: SimulatedRun, begin_ns: int, length_ns: int) -> list[Mark]:
    """The demonstration proper, inside its stillness; the outcome is known when it has ended."""
    start_ns = begin_ns + round(BEFORE_S * SECOND_NS)
    end_ns = begin_ns + max(length_ns - round(AFTER_S * SECOND_NS), round(BEFORE_S * SECOND_NS))
    facts: dict[str, Any] = {
        "task": run.task,
        "instruction": run.instruction,
        "variation": run.variation,
    }
    truth = {"outcome": asdict(run.outcome), "events": [asdict(event) for event in run.events]}
    return [Mark("start", start_ns, facts), Mark("end", end_ns, truth)]


def _fault(options: SimulationOptions, seed: int) -> str | None:
    rng = np.random.default_rng([seed, 11])
    share = options.fault_share
    if share is None:
        share = 0.0 if options.fault is None else 1.0
    if rng.random() >= share:
        return None
    return options.fault or str(rng.choice(tasks()[options.task].faults))


def _schema(options: SimulationOptions) -> Schema:
    schema = open_schema("simulated_humanoid")
    size = (options.height, options.width)
    streams = []
    for stream in schema.streams:
        if stream.kind in ("video", "depth"):
            if not options.pictures:
                continue
            stream = stream.model_copy(update={"shape": (*size, *stream.shape[2:])})
        streams.append(stream)
    return schema.model_copy(update={"streams": tuple(streams)})


def _floors() -> dict[str, int]:
    """The shortest delay of each clock's messages, as its maker would state it."""
    floors: dict[str, int] = {}
    for sensor in SENSORS.values():
        delay = sensor.latency
        spread_s = 2 * min(delay.jitter_s, delay.mean_s / np.sqrt(2)) / np.sqrt(2)
        floor_ns = round((delay.mean_s - spread_s) * SECOND_NS)
        floors[sensor.clock] = min(floor_ns, floors.get(sensor.clock, floor_ns))
    return floors


DRIVER = Driver(SimulationOptions, describe, read, follow=follow)
