"""The protocol document: what one episode of a task is, and how it is collected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from corporeal.protocol.coverage import ContinuousFactor, DesignRules, Factor, check_rules
from corporeal.schema import Document, Part
from corporeal.schema.document import Library, Name

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Interface = Literal["vr", "spacemouse", "leader_arms", "kinesthetic"]
Vector = tuple[float, float, float]
MEASURED: Final = ("fall", "drop", "collision", "regrasp", "walking", "pausing")
"""Behaviours that can be told from the data; of any other, people are asked."""


class Range(Part):
    """A range that a measured value must lie in, both ends included."""

    lowest: float
    highest: float

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.lowest > self.highest:
            raise ValueError(f"got {self.lowest} to {self.highest}; expected lowest <= highest")
        return self

    def __contains__(self, value: float) -> bool:
        return self.lowest <= value <= self.highest


class TaskSpecification(Part):
    """What is to be done, in words that an operator is told and a reviewer judges by."""

    name: Name
    goal: str = Field(description="what is true of the world at the end")
    instructions: tuple[str, ...] = Field(
        default=(), description="wordings, with {placeholders} for what varies"
    )
    robots: tuple[str, ...] = Field(default=(), description="robots it is for; none means any")


class State(Part):
    """How the robot and its surroundings must be at one end of the episode."""

    description: str
    still_s: NotNegative = Field(default=0.0, description="so long nothing moves there")
    upright: bool = Field(default=True, description="the pelvis is near its standing height")
    posture: dict[str, float] = Field(default={}, description="joint: rad or m")
    posture_tolerance: Positive = Field(default=0.25, description="rad or m")
    grippers: Literal["open", "closed", "any"] = "any"
    object_resting: bool = Field(default=False, description="the object does not move")


class Approach(Part):
    """One allowed way to do the task, and how many episodes of it a batch needs."""

    name: Name
    description: str | None = None
    minimum: int = Field(default=0, ge=0, description="episodes per batch")


class TriggerRule(Part):
    """What starts and ends a recording, and how much stillness is kept around it."""

    kind: Literal["button", "motion", "automatic"] = "button"
    pre_roll_s: NotNegative = 1.0
    post_roll_s: NotNegative = 2.0


class Speeds(Part):
    """Speeds that a demonstration stays below."""

    hand_m_s: Positive = 1.0
    joint_share: Positive | None = Field(
        default=None, description="of each joint's own velocity limit"
    )
    base_m_s: Positive | None = None


class EdgeCase(Part):
    """What to do when something out of the ordinary happens."""

    case: str
    rule: Literal["continue", "restart", "keep_as_failure", "discard"]
    note: str | None = None


class Prohibition(Part):
    """Something that must not happen in an episode that counts as a success.

    What can be measured has a name of its own (fall, drop, collision, regrasp, walking, pausing);
    anything else in words, such as "dragging over the surface", is asked of people.
    """

    behaviour: str = Field(min_length=1, max_length=120, description="a name above, or words")
    description: str | None = None
    limit: float | None = Field(
        default=None, description="N for collision, times for regrasp, s for pausing"
    )

    @property
    def question(self) -> str | None:
        """What people are asked; None for a behaviour that is measured."""
        if self.behaviour in MEASURED:
            return None
        explained = f" ({self.description})" if self.description else ""
        return f"Did this happen: {self.behaviour}{explained}?"

    @model_validator(mode="after")
    def _limits_what_is_measured(self) -> Self:
        if self.limit is not None and self.behaviour not in MEASURED:
            raise ValueError(
                f"limit of {self.behaviour!r}, got {self.limit}; expected none, since it is not "
                f"measured. Measured are: {', '.join(MEASURED)}"
            )
        return self


class Randomisation(Part):
    """How the initial conditions are varied between episodes."""

    object_position_m: NotNegative = Field(default=0.05, description="radius")
    object_yaw_rad: NotNegative = Field(default=0.3, description="to either side")
    description: str | None = None
    object_xyz: Vector | None = Field(
        default=None, description="the middle of where the object starts, as object_pose has it"
    )
    joint_rad: Positive | None = Field(
        default=None, description="how far each joint of the start posture is varied, either side"
    )


class InterfaceInstruction(Part):
    """How to work with one control interface, in words for the operator."""

    interface: Interface
    speed: str | None = Field(default=None, description="how quickly to move")
    grip: str | None = Field(default=None, description="how to close and open the hands")
    recovery: str | None = Field(default=None, description="what to do when tracking is lost")


class Camera(Part):
    """A camera that must be there, and where it stands; poses are in `frame`."""

    name: Name = Field(description="of its stream, such as head_left")
    frame: str | None = None
    xyz: Vector | None = None
    rpy: Vector | None = None
    tolerance_m: Positive = 0.02
    tolerance_rad: Positive = 0.035
    optional: bool = False


class Operators(Part):
    """Who collects: enough people for each variant, none of them too much."""

    minimum_per_variant: int = Field(default=3, ge=1)
    greatest_share: float = Field(default=0.3, gt=0, le=1)
    rotation_min: Positive = Field(default=60.0, description="minutes at one station")


class WorkLimits(Part):
    """How long somebody may record without a break, and in a day; counted by what was recorded."""

    block_min: Positive = Field(default=45.0, description="minutes of work before a break")
    break_min: Positive = Field(default=15.0, description="minutes without a take make a break")
    day_h: Positive = Field(default=4.0, description="hours of work in a day")


class Protocol(Document):
    """The agreement on one task. Numbers left out are the defaults of the specification.

    A field that may be empty is empty by default: so the canonical text, which leaves empty fields
    out, means the same when it is read again.
    """

    kind: ClassVar[str] = "protocol"

    task: TaskSpecification
    start: State
    end: State
    approaches: tuple[Approach, ...] = ()
    force_n: Range = Field(default=Range(lowest=5, highest=25), description="grip force")
    taxel_area_m2: Positive | None = Field(
        default=None, description="area of one touch sensor, to turn pressure into force"
    )
    lift_clearance_m: Positive | None = None
    placement_tolerance_m: Positive | None = None
    duration_s: Range = Range(lowest=5, highest=60)
    trigger: TriggerRule = TriggerRule()
    keep_failures: bool = Field(default=True, description="failures are kept and labelled")
    edge_cases: tuple[EdgeCase, ...] = ()
    speeds: Speeds = Speeds()
    grasp_pause_s: NotNegative | None = Field(
        default=None, description="stillness of the hand after the gripper has closed"
    )
    prohibited: tuple[Prohibition, ...] = ()
    randomisation: Randomisation = Randomisation()
    cameras: tuple[Camera, ...] = ()
    operators: Operators = Operators()
    factors: tuple[Factor, ...] = Field(default=(), description="what is varied on purpose")
    # What came later is None where it is not said, so that hashes of older documents stay.
    interfaces: tuple[InterfaceInstruction, ...] | None = Field(
        default=None, description="the control interfaces allowed, and how to use each"
    )
    approach_diversity_rad: Positive | None = Field(
        default=None,
        description="root mean square angle between the approaches of a batch and their mean",
    )
    edge_case_share: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="part of a batch that shows edge cases on purpose"
    )
    continuous: tuple[ContinuousFactor, ...] | None = Field(
        default=None, description="numbers that are varied on purpose"
    )
    design: DesignRules | None = Field(
        default=None, description="how many episodes, and which combinations of levels"
    )
    work: WorkLimits | None = Field(
        default=None, description="breaks and hours; those of the specification when left out"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for what, names in (
            ("approach", [each.name for each in self.approaches]),
            ("camera", [each.name for each in self.cameras]),
            ("factor", [each.name for each in self.factors]),
            ("continuous factor", [each.name for each in self.continuous or ()]),
            ("prohibition", [str(each.behaviour) for each in self.prohibited]),
            ("edge case", [each.case for each in self.edge_cases]),
            ("interface", [str(each.interface) for each in self.interfaces or ()]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]!r} is listed twice; expected once")
        if self.duration_s.lowest < 0:
            raise ValueError(f"duration_s starts at {self.duration_s.lowest}; expected 0 or more")
        check_rules(self.factors, self.continuous or (), self.design)
        return self

    @property
    def questions(self) -> tuple[str, ...]:
        """What only people can tell of an episode."""
        asked = (rule.question for rule in self.prohibited)
        return tuple(question for question in asked if question is not None)

    def approach(self, name: str) -> Approach | None:
        """The approach of this name, if it is allowed."""
        return next((each for each in self.approaches if each.name == name), None)


READY = Library(Protocol, "corporeal.protocol", "protocols")


def protocol_names() -> tuple[str, ...]:
    """Names of the ready ones."""
    return READY.names


def open_protocol(name_or_path: str | Path) -> Protocol:
    """A ready protocol by name, or a protocol document by the path of its file."""
    return READY.open(name_or_path)
