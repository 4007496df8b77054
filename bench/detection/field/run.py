"""Runs the trials of all mistakes in a few processes, and keeps every result at once."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench.detection.field.mistake import Mistake
from bench.detection.field.mistakes import every_mistake
from bench.detection.field.sites import SITES
from bench.detection.field.take import CannotPlantError
from bench.detection.field.trial import Outcome, Trial, clean, run_trial
from bench.detection.ledger import keep, kept
from bench.detection.split import Half

FAMILY, CLEAN = "field", "field-clean"
SITES_EACH = 3
"""Sites that one mistake is made at for one seed, drawn from those that have what it needs."""


def draw_trials(seeds: Sequence[int], *, sites_each: int = SITES_EACH) -> list[Trial]:
    """Every mistake for every seed, at sites that the seed draws."""
    return [
        Trial(mistake.name, site, seed)
        for mistake in every_mistake().values()
        for seed in seeds
        for site in _sites_of(mistake, seed, sites_each)
    ]


def _sites_of(mistake: Mistake, seed: int, count: int) -> list[str]:
    fitting = [site.name for site in SITES.values() if mistake.needs <= site.has]
    rng = np.random.default_rng([seed, zlib.crc32(mistake.name.encode())])
    return sorted(rng.permutation(fitting)[:count])


def run_trials(
    trials: Sequence[Trial],
    path: Path,
    *,
    jobs: int,
    deadline: float,
    tell: Callable[[str], None],
) -> list[Outcome]:
    """The outcomes of those that were run by the deadline, those of an earlier run included.

    Their order is drawn, so that what an unfinished run has is a fair sample of the whole.
    """
    ready = {outcome.trial: outcome for outcome in map(outcome_of, kept(path, FAMILY))}
    missing = [each for each in dict.fromkeys(trials) if each not in ready]
    order = np.random.default_rng(len(trials)).permutation(len(missing))
    shuffled = [missing[place] for place in order]
    for count, outcome in enumerate(_each_piece(run_trial, shuffled, jobs, deadline), 1):
        keep(path, FAMILY, asdict(outcome))
        ready[outcome.trial] = outcome
        tell(f"{count}/{len(missing)} {outcome.trial.mistake} at {outcome.trial.site}")
    return [ready[each] for each in trials if each in ready]


def outcome_of(row: dict[str, Any]) -> Outcome:
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in row.items()
        if name not in ("family", "trial")
    }
    return Outcome(Trial(**row["trial"]), **plain)


def _each_piece(
    work: Callable[[Any], Any], pieces: Sequence[Any], jobs: int, deadline: float
) -> Iterator[Any]:
    """The results one after the other; no piece is begun after the deadline."""
    if jobs == 1:
        for piece in pieces:
            if time.monotonic() > deadline:
                return
            yield work(piece)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for first in range(0, len(pieces), jobs):
            if time.monotonic() > deadline:
                return
            yield from pool.map(work, pieces[first : first + jobs])


def run_clean(
    path: Path,
    sites: Sequence[str],
    *,
    half: Half,
    jobs: int,
    deadline: float,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """What is said of the good files of every site of one half: a row for each."""
    ready = {(row["site"], row["half"]): row for row in kept(path, CLEAN)}
    missing = [(site, half) for site in sites if (site, half) not in ready]
    for row in _each_piece(_clean_row, missing, jobs, deadline):
        keep(path, CLEAN, row)
        ready[row["site"], row["half"]] = row
        tell(f"clean {row['site']}, {row['half']}")
    return [ready[site, half] for site in sites if (site, half) in ready]


def _clean_row(where: tuple[str, Half]) -> dict[str, Any]:
    site, half = where
    try:
        ready = clean(site, half)
    except CannotPlantError as reason:
        return {"site": site, "half": half, "takes": 0, "findings": [], "skipped": str(reason)}
    findings = [
        [each.take, each.finding.check, str(each.finding.severity), each.finding.message]
        for each in ready.examined.findings
    ]
    return {"site": site, "half": half, "takes": len(ready.takes), "findings": findings}
