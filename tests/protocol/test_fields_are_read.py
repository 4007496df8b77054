"""Every field of a protocol is read by the recorder, a check or a page: traced as they run."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel
from tests.quality.demonstrations import STATE, batch_of, demonstration, signal
from tests.quality.ruled import marked

from corporeal.capture.driver import RecordingSource, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import TeamDocuments
from corporeal.capture.work_hours import work_standing
from corporeal.cli.commands.record import _trigger
from corporeal.protocol import Protocol, protocol
from corporeal.protocol.card import card_places, operator_card
from corporeal.protocol.coverage import Factor
from corporeal.protocol.design import draw_conditions, make_design
from corporeal.quality import Subject
from corporeal.quality.assessment import RULES, assess
from corporeal.quality.batch import Batch

TEXT = """
document: protocol
name: all_of_it
version: 1.0.0
task: {name: pick_place, goal: It lies there., instructions: [Put it there.], robots: [g1]}
start: {description: Standing., still_s: 0.5, posture: {left_elbow_joint: 0.1}, grippers: open,
        object_resting: true}
end: {description: Done., still_s: 0.5, grippers: open, object_resting: true}
approaches: [{name: top, description: from above, minimum: 3}]
taxel_area_m2: 0.0000125
lift_clearance_m: 0.15
placement_tolerance_m: 0.02
trigger: {kind: automatic}
keep_failures: false
edge_cases: [{case: It falls over, rule: keep_as_failure, note: set it up again}]
speeds: {hand_m_s: 1.0, joint_share: 0.9, base_m_s: 0.5}
grasp_pause_s: 0.2
prohibited:
  - {behaviour: collision, description: hits the table, limit: 40}
  - {behaviour: dragging over the surface, description: scratches it}
randomisation: {object_xyz: [0.3, 0, 0.7], joint_rad: 0.2, description: anywhere}
cameras: [{name: head_left, frame: torso_link, xyz: [0, 0, 0], rpy: [0, 0, 0]},
          {name: spare, optional: true}]
factors:
  - {name: hand, levels: [left, right], shares: [0.5, 0.5], field: variation.hand,
     at_least: {left: 1}, at_most: {left: 9}, change_min: 2,
     places: {left: {xyz: [0.3, 0, 0.7], radius_m: 0.02, yaw_rad: 0, yaw_range_rad: 0.1}}}
  - {name: light, levels: [day, dusk]}
continuous: [{name: height, axes: {z_m: [0.6, 0.9]}, places_object: false}]
design:
  {episodes: 6, repeats: 1, per_shift: 20, forbidden: [{hand: left, light: dusk}],
   required: [{levels: {hand: right, light: day}, episodes: 1}]}
interfaces: [{interface: vr, speed: slowly, grip: gently, recovery: let go}]
approach_diversity_rad: 0.4
edge_case_share: 0.1
work: {block_min: 30, break_min: 10, day_h: 3}
"""
PARTS = [
    part
    for part in (*vars(protocol).values(), Factor)
    if isinstance(part, type) and issubclass(part, BaseModel) and part.__module__.startswith(
        "corporeal.protocol")
]  # fmt: skip
RULED = tuple(RULES.values())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str, str]]:
    """Who reads what: class, field, and the module of the code that does."""
    seen: set[tuple[str, str, str]] = set()
    plain = BaseModel.__getattribute__

    def read(part: BaseModel, name: str) -> Any:
        kind = type(part)
        if kind in PARTS and name in kind.__pydantic_fields__:
            seen.add((kind.__name__, name, sys._getframe(1).f_globals.get("__name__", "")))
        return plain(part, name)

    for part in PARTS:
        monkeypatch.setattr(part, "__getattribute__", read, raising=False)
    return seen


def _record(rules: Protocol, folder: Path) -> Recorder:
    driver = drivers()["synthetic"]
    options = parse_options(driver, {"seconds": 0.2, "height": 16, "width": 32})
    source = RecordingSource("robot", driver, options)
    team = TeamDocuments(protocol=rules)
    stated = {"interface": "vr", "edge_case": "It falls over"}
    _trigger(None, [source], team)
    recorder = Recorder([source], RecorderSettings(folder, metadata=stated), team=team)
    recorder.run()
    return recorder


def test_every_field_is_read_outside_the_protocol(
    reads: set[tuple[str, str, str]], tmp_path: Path
) -> None:
    rules = Protocol.parse(TEXT)
    reads.clear()
    _record(rules, tmp_path)
    assert rules.work is not None
    work_standing([(0.0, 60.0), (120.0, 180.0)], 200.0, rules.work)
    lines = operator_card(rules, interface="vr")
    assert any("vr, recovery: let go" in line for line in lines)
    made = make_design(rules)
    draw_conditions(rules, made.episodes[0], [], np.random.default_rng(0))
    draw_conditions(rules, {"hand": "left"}, [], np.random.default_rng(0))
    card_places(rules)
    place = {"xyz": [1, 0, 0], "rpy": [0, 0, 0], "frame": "torso_link"}
    one = marked(interface="vr", edge_case="It falls over", cameras={"head_left": place})
    stamps = one.signals[STATE].time_ns
    seen = signal("head_left", "observations", ("x",), "m", stamps, np.zeros((len(stamps), 1)))
    one = replace(one, signals={**one.signals, "observations/head_left": seen})
    assess(Subject(one, rules), pictures=False, only=RULED)
    brief = batch_of(demonstration(metadata={"operator": "a", "approach": "top"})).episodes[0]
    brief = replace(brief, measures={**brief.measures, "recorded_s": 1.0})
    episodes = tuple(replace(brief, index=number) for number in range(10))
    assess(Batch(episodes, protocol=rules), scope="batch", only=(*RULED, "operator_dominates"))
    readers: dict[tuple[str, str], set[str]] = {}
    for kind, name, module in reads:
        readers.setdefault((kind, name), set()).add(module)
    for part in PARTS:
        for name in part.__pydantic_fields__.keys() - {"document", "version", "description"}:
            modules = readers.get((part.__name__, name), set())
            # The card is read by people, the plan of factors by whoever designs and counts.
            used = {module for module in modules if module.startswith("corporeal.") and (
                not module.startswith("corporeal.protocol.") or module.startswith((
                    "corporeal.protocol.card", "corporeal.protocol.coverage",
                    "corporeal.protocol.design")))}  # fmt: skip
            assert used, f"{part.__name__}.{name} is read by nothing"
