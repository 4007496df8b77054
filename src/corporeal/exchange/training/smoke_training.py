"""Trains ACT and Diffusion Policy for a few steps on an exported dataset, as its users would.

It tells whether a dataset can be trained on at all before thousands of episodes are converted:
every column has statistics that fit, pictures decode, chunks and episode ends fit together, losses
are finite and fall, commands of hands are part of the action and can be told from the joints. It
says nothing of how good a policy would become.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import are_joints, is_hand
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.exchange.format import Consumer
from corporeal.exchange.formats import lerobot
from corporeal.exchange.json_text import read_json, whole
from corporeal.exchange.layout import ACTION, STATE
from corporeal.exchange.lerobot.info import Info, read_info
from corporeal.exchange.library import ANSWER, find_python, run_script, variable_of

TRAINER = Consumer("lerobot", "lerobot", "pip install 'lerobot[training,diffusion]'")
POLICIES = ("act", "diffusion")
MAX_STEPS, MIN_STEPS = 10_000, 6
# The losses of a diffusion policy are noise around a slow fall.
_GROWTH = 1.1
# How a hand is told from the joints: as in the nearest rows of other seconds of the dataset.
_NEIGHBOURS, _BEFORE_S, _HELD_OUT = 9, 0.5, 5
_MOST_ROWS = 8000
# A normalised value is a few deviations, or within [-1, 1]; far more and statistics do not fit.
_LARGEST = 1e3


@dataclass(frozen=True)
class PolicyRun:
    """How the training of one policy went. `errors` are those of one batch, before and after."""

    policy: str
    losses: tuple[float, ...]
    errors: tuple[float, float]
    seconds: float
    parameters: int
    frames: int
    action_shape: tuple[int, ...]
    reasons: tuple[str, ...]
    """What is wrong, in words; empty when nothing is."""

    @property
    def passed(self) -> bool:
        """Whether it trained as it should."""
        return not self.reasons


@dataclass(frozen=True)
class HandLesson:
    """How well a command of a hand follows from the joints, in seconds that were held out.

    `error` is that of the nearest rows of the other seconds, `guess` that of always saying the
    mean: root mean squares, in the unit of the entry. The hand itself is not looked at.
    """

    name: str
    error: float
    guess: float
    rows: int

    @property
    def learnt(self) -> bool:
        """Whether the joints tell more than nothing."""
        return self.error < self.guess


@dataclass(frozen=True)
class SmokeReport:
    """How every policy trained, and with which release of the library.

    `hands` has the entries of hands in the action that move, `hands_beside` the columns of hands
    that are no part of it, so that no policy can learn them.
    """

    library: str
    version: str
    runs: tuple[PolicyRun, ...]
    hands: tuple[HandLesson, ...] = ()
    hands_beside: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every policy trained as it should, on everything that the robot was told."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that is wrong, in words."""
        reasons = [f"{run.policy}: {reason}" for run in self.runs for reason in run.reasons]
        reasons += [
            f"{key} is beside {ACTION}, so that no policy learns to close the hand; export the "
            "episodes again"
            for key in self.hands_beside
        ]
        return tuple(reasons)

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {"passed": self.passed, **asdict(self)}


def smoke_train(
    path: Path,
    *,
    policies: Sequence[str] = POLICIES,
    steps: int = 20,
    batch: int = 8,
    episodes: Sequence[int] | None = None,
    python: str | None = None,
    seed: int = 0,
    timeout_s: float = 1800,
) -> SmokeReport:
    """Train on a LeRobot dataset, or on some of its episodes, and judge how it went.

    `python` is the interpreter that has LeRobot, if it is not this one. Raises CorporealError when
    nobody has it, when the dataset has no state, action or camera, and when LeRobot fails.
    """
    for policy in policies:
        if policy not in POLICIES:
            raise UnknownNameError("policy", policy, POLICIES)
    if not MIN_STEPS <= steps <= MAX_STEPS or batch < 1:
        raise CorporealError(
            f"smoke training of {steps} steps on batches of {batch}; expected {MIN_STEPS} to "
            f"{MAX_STEPS} steps on at least 1 row. Change the numbers."
        )
    info = _trainable(path)
    request = {
        "path": str(path.resolve()),
        "policies": list(policies),
        "steps": steps,
        "batch": batch,
        "episodes": None if episodes is None else [int(episode) for episode in episodes],
        "seed": seed,
    }
    with run_script(
        TRAINER, request, python=_python(python), timeout_s=timeout_s, what=f"train on {path}"
    ) as folder:
        answer = read_json(folder / ANSWER)
    shape = info.features[ACTION].shape
    try:
        runs = tuple(_run(policy, answer["policies"][policy], steps, shape) for policy in policies)
        library, version = str(answer["library"]), str(answer["version"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CorporealError(
            f"the training script answered nonsense ({type(error).__name__}: {error}); expected "
            "losses for every policy. Mend the script."
        ) from None
    names = info.features[ACTION].names or ()
    inside = any(is_hand(name) for name in names)
    beside = [key for key in info.features if key.startswith(f"{ACTION}.") and is_hand(key)]
    return SmokeReport(
        library, version, runs,
        hands=learn_hands(path, episodes) if inside else (),
        # Columns without a joint's name may be hands as well.
        hands_beside=tuple(beside) if are_joints(names) and not inside else (),
    )  # fmt: skip


def learn_hands(path: Path, episodes: Sequence[int] | None = None) -> tuple[HandLesson, ...]:
    """Tell each command of a hand that moves from the joints alone, every fifth second held out.

    A dataset from which that cannot be done, since hands move unlike anything in the joints,
    will not teach a policy to grasp either. Takes no pictures, no network and a second.
    """
    dataset = lerobot.read(path)
    joints, commands, held_out = [], [], []
    names: tuple[str, ...] = ()
    count = 0
    for number in dataset.episodes if episodes is None else episodes:
        recording = dataset.open(number)
        state, action = recording.signals[STATE], recording.signals[ACTION]
        rate_hz, names = action.spec.rate_hz or 1.0, action.spec.names
        body = [place for place, name in enumerate(state.spec.names) if not is_hand(name)]
        if not body or len(state.spec.sizes) != 1 or len(action.spec.sizes) != 1:
            return ()
        position = np.asarray(state[:], np.float64)[:, body]
        rows = np.arange(len(position))
        before = position[np.maximum(rows - round(_BEFORE_S * rate_hz), 0)]
        joints.append(np.concatenate((position, position - before), axis=1))
        commands.append(np.asarray(action[:], np.float64))
        held_out.append((rows / rate_hz).astype(np.int64) % _HELD_OUT == _HELD_OUT // 2)
        count += len(rows)
        if count >= _MOST_ROWS:
            break
    if not count or not names:
        return ()
    told, is_test = np.concatenate(commands)[:_MOST_ROWS], np.concatenate(held_out)[:_MOST_ROWS]
    if is_test.sum() < _NEIGHBOURS or (~is_test).sum() < _NEIGHBOURS:
        return ()
    hands = [place for place, name in enumerate(names) if is_hand(name)]
    moving = [place for place in hands if np.ptp(told[is_test, place]) > 0]
    nearest = _nearest_rows(np.concatenate(joints)[:_MOST_ROWS], is_test)
    known = told[~is_test]
    return tuple(
        HandLesson(
            name=names[place],
            error=_root_mean_square(known[nearest, place].mean(axis=1) - told[is_test, place]),
            guess=_root_mean_square(known[:, place].mean() - told[is_test, place]),
            rows=int(is_test.sum()),
        )
        for place in moving
    )


def _nearest_rows(values: NDArray[np.float64], is_test: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row that is held out the numbers of those that are most like it, of the others."""
    values = np.nan_to_num(values)
    values = (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-3)
    asked, known = values[is_test], values[~is_test]
    away = (known**2).sum(axis=1) - 2 * asked @ known.T
    return np.argpartition(away, _NEIGHBOURS - 1, axis=1)[:, :_NEIGHBOURS]


def _root_mean_square(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _python(python: str | None) -> str:
    interpreter = find_python(TRAINER, python=python)
    if interpreter is None:
        raise CorporealError(
            "smoke training needs lerobot, which this Python does not have. Install it in an "
            f"environment of its own ({TRAINER.install}) and name that environment's Python in "
            f"{variable_of(TRAINER)}."
        )
    return interpreter


def _trainable(path: Path) -> Info:
    """The head of a dataset that has what both policies need."""
    info = read_info(path)
    lacking = [key for key in (STATE, ACTION) if key not in info.features]
    if not any(each.is_video or each.is_image for each in info.features.values()):
        lacking.append("a camera")
    if lacking:
        raise CorporealError(
            f"{path} has no {' and no '.join(lacking)}, so neither ACT nor Diffusion Policy can be "
            f"trained on it; expected {STATE}, {ACTION} and a camera. Export these, or leave "
            "smoke training out."
        )
    return info


def _run(policy: str, answer: Mapping[str, Any], steps: int, shape: tuple[int, ...]) -> PolicyRun:
    losses = tuple(float(loss) for loss in answer["losses"])
    if len(losses) != steps:
        raise ValueError(f"{len(losses)} losses for {steps} steps")
    errors = float(answer["error_before"]), float(answer["error_after"])
    got = tuple(whole(size) for size in answer["action_shape"])
    reasons = [*_of_losses(policy, losses, errors)]
    largest = float(answer["largest"])
    if not largest <= _LARGEST:
        reasons.append(
            f"normalised values reach {largest:.3g}; the statistics do not fit the values"
        )
    if got != shape:
        reasons.append(f"it predicts an action of shape {list(got)}; expected {list(shape)}")
    if answer["action_finite"] is not True:
        reasons.append("it predicts an action that is not finite")
    return PolicyRun(
        policy=policy,
        losses=losses,
        errors=errors,
        seconds=float(answer["seconds"]),
        parameters=int(answer["parameters"]),
        frames=int(answer["frames"]),
        action_shape=got,
        reasons=tuple(reasons),
    )


def _of_losses(policy: str, losses: Sequence[float], errors: tuple[float, float]) -> list[str]:
    broken = [step for step, loss in enumerate(losses) if not math.isfinite(loss)]
    if broken:
        return [f"the loss is {losses[broken[0]]} at step {broken[0]}"]
    third = len(losses) // 3
    first, last = median(losses[:third]), median(losses[-third:])
    reasons = []
    if policy == "diffusion" and last > first * _GROWTH:
        reasons.append(f"the loss grows from {first:.3g} to {last:.3g}")
    if policy != "diffusion" and last >= first:
        reasons.append(f"the loss does not fall: {first:.3g} at first, {last:.3g} at last")
    before, after = errors
    if not after < before:
        reasons.append(
            f"the error of a batch does not fall: {before:.3g} before, {after:.3g} after"
        )
    return reasons


def is_trainable(path: Path) -> bool:
    """Whether LeRobot reads the dataset as it is: one of v3.0."""
    return (path / "meta" / "info.json").is_file() and read_info(path).shares_files
