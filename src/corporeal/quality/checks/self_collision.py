"""No part of the robot is inside another."""

from functools import lru_cache

import numpy as np

from corporeal.embodiment.collision import CollisionModel, LinkPair
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import ancestors
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.subject import Subject
from corporeal.signal.runs import flags_of, lasting_runs, runs
from corporeal.signal.track import Array
from corporeal.words import some_of


def find(
    subject: Subject,
    *,
    max_depth_m: float = 0.015,
    max_hands_m: float = 0.02,
    min_sure_m: float = 0.05,
    min_duration_s: float = 0.06,
) -> Findings:
    """Yield the frames in which links overlap by over `max_depth_m`, adjacent ones left out.

    Shapes of the model are rounder than the robot: those of the built-in G1 stand out of its
    surface by 0.01 to 0.05 m. Only an overlap deeper than `min_sure_m` fails; a person judges
    the others. Hands are often others than the model's, so two hands may overlap by
    `max_hands_m`. Links count only where all joints on the way to
    them are in the data. A touch shorter than `min_duration_s` is an impact, not an overlap.

    Why: the real robot cannot be there; the joints, their order or their zero are wrong.
    Fix: drop the frames, or solve the motion again with self-collision as a constraint.
    """
    posture = subject.posture
    if not len(posture):
        raise NotAssessed(f"{posture.label} has no samples")
    model = model_of(subject.robot, CollisionModel)
    tested = _tested(model, frozenset(_present(subject)))
    if not tested:
        raise NotAssessed("no two links with all joints between them in the data")
    hands = {model.kinematics.place(at)[0] for at in subject.robot.end_effectors.values()}
    tips = {model.kinematics.names[link] for link in hands}
    seconds = posture.time_ns / 1e9
    # At a low rate the samples on both sides bound the time.
    step_s = float(np.median(np.diff(seconds))) if len(seconds) > 1 else 0.0
    found = model.collisions(posture.q, tolerance_m=min(max_depth_m, max_hands_m))
    depths: dict[LinkPair, Array] = {}
    for frame, pair, depth in zip(found.frames, found.links, found.depths_m, strict=True):
        if pair in tested:
            depths.setdefault(pair, np.zeros(len(posture)))[frame] = depth
    overlaps: list[tuple[LinkPair, Array, float]] = []
    for pair, depth in depths.items():
        limit = max_hands_m if set(pair) <= tips else max_depth_m
        spans = lasting_runs(depth > limit, seconds, min_duration_s, gap=2, edge_s=step_s)
        inside = np.where(flags_of(spans, len(depth)), depth, 0.0)
        if inside.any():
            overlaps.append((pair, inside, limit))
    if overlaps:
        overlaps.sort(key=lambda overlap: -overlap[1].max())
        yield _finding(subject, overlaps, min_sure_m)


@lru_cache(maxsize=8)
def _tested(model: CollisionModel, present: frozenset[str]) -> frozenset[LinkPair]:
    """Pairs of links whose distance the data tells: all joints between the two are present."""
    robot = model.embodiment
    missing = {joint.name for joint in robot.joints if joint.name not in present}
    above = {link.name: missing & set(ancestors(robot, link.name)) for link in robot.links}
    return frozenset(pair for pair in model.pairs if above[pair[0]] == above[pair[1]])


def _present(subject: Subject) -> list[str]:
    """Joints that the data moves, those that follow one of them included."""
    robot = subject.robot
    named = zip(robot.joint_names, subject.posture.present.tolist(), strict=True)
    moved = {name for name, is_there in named if is_there}
    followers = {joint.name: joint.mimic.joint for joint in robot.joints if joint.mimic is not None}
    return [joint.name for joint in robot.joints if followers.get(joint.name, joint.name) in moved]


def _finding(
    subject: Subject, overlaps: list[tuple[LinkPair, Array, float]], min_sure_m: float
) -> Finding:
    """All pairs in one, the deepest named first."""
    pair, depth, limit = overlaps[0]
    worst = int(np.argmax(depth))
    posture = subject.posture
    anywhere = np.max([inside for _, inside, _ in overlaps], axis=0)
    others = some_of([f"{one} and {other}" for (one, other), _, _ in overlaps[1:]], most=2)
    is_sure = float(depth[worst]) > min_sure_m
    doubt = "" if is_sure else " Shapes are rounder than the robot: look whether it does."
    return Finding(
        f"{pair[0]} and {pair[1]} overlap by {depth[worst]:.3f} m at "
        f"{posture.time_ns[worst] / 1e9:.2f} s by {posture.label}"
        f"{', also ' + others if others else ''}: {100 * np.mean(anywhere > 0):.0f} % of the time."
        f"{doubt}",
        stream=posture.label,
        frames=runs(anywhere > 0),
        value=float(depth[worst]),
        limit=limit,
        severity=None if is_sure else "quarantine",
        evidence=drawn_whole(posture.time_ns / 1e9, {"depth_m": anywhere}),
    )


CHECK = Check(
    find,
    topic="dynamics",
    severity="fail",
    rests_on=("robot",),
    unit="m",
    formerly=("no_self_collision",),
)
