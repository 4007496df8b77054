"""What a sample proves about the lot it was drawn from: acceptance numbers and exact bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from corporeal.errors import CorporealError
from corporeal.words import percent_bound

CONFIDENCE = 0.95
LotState = Literal["accepted", "not accepted", "undecided"]


@dataclass(frozen=True)
class Stratum:
    """A part of the batch: its episodes, how many were drawn, looked at and rejected."""

    name: str
    lot: int
    drawn: int
    decided: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class SamplingPlan:
    """How many to look at, how many of those may be bad (`accept`), and what that proves.

    `proves` is the largest share of bad episodes that a lot can have which passes. `accept` is
    None where even a sample without a bad episode cannot prove the wanted `limit`; `enough` is
    the sample that could.
    """

    lot: int
    sample: int
    accept: int | None
    proves: float
    confidence: float = CONFIDENCE
    limit: float | None = None
    enough: int | None = None

    @property
    def words(self) -> str:
        """The plan as a sentence."""
        if not self.lot:
            return "no episode to look at"
        sure = f"with {percent_bound(self.confidence)} confidence"
        look = f"look at {self.sample} of {self.lot}"
        if self.sample == self.lot:
            return f"{look}: every episode is seen, nothing is left to chance"
        if self.accept is None:
            assert self.limit is not None
            return (
                f"{look}: too few to prove {percent_bound(self.limit)}; even if none is bad, up to "
                f"{percent_bound(self.proves)} may be, {sure}; {self.enough} would be enough"
            )
        bad = {0: "none is", 1: "at most one is"}.get(self.accept, f"at most {self.accept} are")
        return (
            f"{look}; if {bad} bad, at most {percent_bound(self.proves)} of the batch are, {sure}"
        )


@dataclass(frozen=True)
class LotVerdict:
    """What the decisions say of the batch; `most_bad` is the bound on its share of bad episodes."""

    state: LotState
    decided: int
    rejected: int
    share: float | None
    most_bad: float | None
    words: str


def most_bad(lot: int, sample: int, rejected: int, confidence: float = CONFIDENCE) -> int:
    """The most bad episodes that a lot can have, by the hypergeometric distribution.

    With one more, a sample with so few rejected would come in less than 1 - confidence of cases.
    """
    if not 0 <= rejected <= sample <= lot:
        raise CorporealError(
            f"sample, got {rejected} rejected of {sample} of {lot}; expected fewer each time."
        )
    low, high = rejected, lot - (sample - rejected)
    while low < high:
        middle = (low + high + 1) // 2
        if _at_most(rejected, lot, middle, sample) > 1 - confidence:
            low = middle
        else:
            high = middle - 1
    return low


def acceptance_number(
    lot: int, sample: float, limit: float, confidence: float = CONFIDENCE
) -> int | None:
    """The most rejected of a sample that still prove the limit; None if even 0 does not."""
    number = None
    while (tried := -1 if number is None else number) + 1 <= sample:
        if _bound(lot, sample, tried + 1, confidence) > limit * lot + 1e-9:
            break
        number = tried + 1
    return number


def sample_size(lot: int, limit: float, *, accept: int = 0, confidence: float = CONFIDENCE) -> int:
    """The smallest sample that proves a limit with `accept` rejected; the whole lot at most."""
    low, high = min(accept, lot), lot
    while low < high:
        middle = (low + high) // 2
        if most_bad(lot, middle, min(accept, middle), confidence) <= limit * lot + 1e-9:
            high = middle
        else:
            low = middle + 1
    return low


def make_plan(
    lot: int,
    sample: int,
    *,
    limit: float | None = None,
    confidence: float = CONFIDENCE,
    strata: Sequence[Stratum] = (),
) -> SamplingPlan:
    """The plan for a sample; `strata` that are drawn from unequally make it prove less."""
    if not lot or not sample:
        return SamplingPlan(lot, sample, 0, 1.0 if lot else 0.0, confidence, limit)
    size = _effective([(each.lot, each.drawn) for each in strata]) if strata else float(sample)
    size = min(size, sample)
    accept = 0 if limit is None else acceptance_number(lot, size, limit, confidence)
    proves = _bound(lot, size, accept or 0, confidence) / lot
    enough = None if accept is not None or limit is None else sample_size(
        lot, limit, confidence=confidence
    )  # fmt: skip
    return SamplingPlan(lot, sample, accept, proves, confidence, limit, enough)


def judge_lot(plan: SamplingPlan, strata: Sequence[Stratum]) -> LotVerdict:
    """The verdict on the lot after some or all of the sample was looked at.

    Episodes count by how many of the batch they stand for, where strata were drawn from unequally.
    """
    decided = sum(each.decided for each in strata)
    rejected = sum(each.rejected for each in strata)
    if not decided:
        return LotVerdict("undecided", 0, 0, None, None, "nothing is decided yet")
    seen = [each for each in strata if each.decided]
    whole = sum(each.lot for each in seen)
    share = sum(each.lot / whole * each.rejected / each.decided for each in seen)
    size = min(_effective([(each.lot, each.decided) for each in seen]), decided)
    bound = _bound(plan.lot, size, share * size, plan.confidence) / plan.lot
    bound = min(max(bound, rejected / plan.lot), 1 - (decided - rejected) / plan.lot)
    state = _state(plan, sum(each.drawn for each in strata) - decided, rejected, bound)
    return LotVerdict(
        state,
        decided,
        rejected,
        share,
        bound,
        _verdict_words(plan, state, decided, rejected, bound),
    )


def _state(plan: SamplingPlan, left: int, rejected: int, bound: float) -> LotState:
    if plan.accept is None or rejected > plan.accept:
        # Without an acceptance number no outcome of this sample can accept the lot.
        return "not accepted" if rejected or not left else "undecided"
    if left:
        return "undecided"
    proven = plan.limit is None or bound <= plan.limit + 1e-9
    return "accepted" if proven else "not accepted"


def _verdict_words(
    plan: SamplingPlan, state: LotState, decided: int, rejected: int, bound: float
) -> str:
    share = percent_bound(bound)
    sure = f"with {percent_bound(plan.confidence)} confidence at most {share} of the batch are bad"
    count = f"{rejected} of {decided} rejected"
    if state == "undecided":
        return f"{count} so far, {plan.sample - decided} to go; {sure}"
    if state == "accepted":
        return f"batch accepted: {count}, {plan.accept} allowed; {sure}"
    allowed = "the sample is too small for the limit" if plan.accept is None else (
        f"{plan.accept} allowed"
    )  # fmt: skip
    return f"batch not accepted: {count}, {allowed}; {sure}"


def _effective(parts: Sequence[tuple[int, int]]) -> float:
    """The size of an even sample that says as much (Kish): (sum of weights)^2 / sum of squares."""
    drawn = [(lot, count) for lot, count in parts if count]
    total = sum(lot for lot, _ in drawn)
    return total**2 / sum(lot**2 / count for lot, count in drawn) if drawn else 0.0


def _bound(lot: int, sample: float, rejected: float, confidence: float) -> float:
    """`most_bad` between whole numbers, straight from one to the next."""
    n, x = math.floor(sample + 1e-9), math.floor(rejected + 1e-9)
    across, up = max(sample - n, 0.0), max(rejected - x, 0.0)

    def at(size: int, bad: int) -> int:
        return most_bad(lot, min(size, lot), min(bad, size, lot), confidence)

    low = at(n, x) + up * (at(n, x + 1) - at(n, x) if up > 1e-9 else 0)
    if across < 1e-9:
        return low
    high = at(n + 1, x) + up * (at(n + 1, x + 1) - at(n + 1, x) if up > 1e-9 else 0)
    return low + across * (high - low)


def _at_most(count: int, lot: int, bad: int, sample: int) -> float:
    """The chance of `count` bad ones or fewer in a sample."""
    found = np.arange(max(0, sample - (lot - bad)), min(count, bad, sample) + 1)
    if not len(found):
        return 0.0
    ways = (
        _log_choose(bad, found)
        + _log_choose(lot - bad, sample - found)
        - _log_choose(lot, np.asarray(sample))
    )
    return float(min(1.0, np.exp(ways).sum()))


def _log_choose(total: int, chosen: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1)
    return result
