"""How often to draw each episode in training, from the scores of its quality."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.json_text import read_json

TEMPERATURE = 1.0
FLOOR = 0.1
_MAX_EPISODES = 10_000_000
_MOST = 1e12


def read_weights(path: Path | str, *, temperature: float = TEMPERATURE) -> dict[str, float]:
    """Weights by episode id from what `corporeal score --json` printed.

    The `weights.json` beside an exported dataset and a selection are taken as they are. Raises
    EpisodeError when the file is none of them.
    """
    path = Path(path)
    values = read_json(path)
    if isinstance(values, dict) and isinstance(values.get("by_id"), dict):
        return {
            str(name): _number(weight, f"{path}: weight of {name!r}", most=_MOST)
            for name, weight in values["by_id"].items()
        }
    episodes = values.get("episodes") if isinstance(values, dict) else None
    if isinstance(episodes, dict) and values.get("document") == "selection":
        return {
            str(name): _number(
                entry.get("weight") if isinstance(entry, dict) else None,
                f"{path}: weight of {name!r}", most=_MOST,
            )
            for name, entry in episodes.items()
        }  # fmt: skip
    if not isinstance(episodes, list) or len(episodes) > _MAX_EPISODES:
        raise EpisodeError(
            f"{path}: no list of scored episodes; expected what corporeal score --json prints."
        )
    scores: dict[str, float | None] = {}
    failed: list[str] = []
    for number, entry in enumerate(episodes):
        name, score = _scored(entry, f"{path}: entry {number}")
        if name in scores:
            raise EpisodeError(
                f"{path}: episode {name!r} has two scores; expected one. Score anew."
            )
        scores[name] = score
        if entry.get("success") is False:
            failed.append(name)
    return weights_from_scores(scores, temperature=temperature, failed=failed)


def weights_from_scores(
    scores: Mapping[str, float | None],
    *,
    temperature: float = TEMPERATURE,
    floor: float = FLOOR,
    failed: Collection[str] = (),
) -> dict[str, float]:
    """Weights with mean 1 over the accepted episodes, from scores of 0 to 1.

    A weight goes with score ** (1 / temperature): at 1 twice the score is drawn twice as often, a
    large temperature makes all alike. None gets less than about `floor`, so that no accepted
    episode vanishes; one without a score gets 1, and those that `failed` 0.
    """
    if not (temperature > 0 and math.isfinite(temperature)) or not 0 <= floor <= 1:
        raise CorporealError(
            f"weights, got temperature {temperature} and floor {floor}; expected a temperature "
            "above 0 and a floor from 0 to 1."
        )
    failed = set(failed)
    known = {
        name: _number(score, f"score of {name!r}", most=1.0)
        for name, score in scores.items()
        if score is not None and name not in failed
    }
    # Of the best: a small temperature would underflow otherwise.
    best = max(known.values(), default=0.0)
    raw = {name: (score / best) ** (1 / temperature) if best else 1.0
           for name, score in known.items()}  # fmt: skip
    mean = math.fsum(raw.values()) / len(raw) if raw else 1.0
    raised = {name: max(value / mean, floor) for name, value in raw.items()}
    mean = math.fsum(raised.values()) / len(raised) if raised else 1.0
    return {
        name: 0.0 if name in failed else raised[name] / mean if name in raised else 1.0
        for name in scores
    }


def row_weights(
    weights: Sequence[float], lengths: Sequence[int], *, even: bool = False
) -> NDArray[np.float64]:
    """The weight of every row of all episodes, one after the other.

    Rows have the weight of their episode, so that a long one is drawn more often; `even` divides
    it by the length, so that episodes of one weight are drawn equally often.
    """
    if len(weights) != len(lengths):
        raise CorporealError(
            f"{len(weights)} weights for {len(lengths)} episodes; expected one each."
        )
    each = [weight / length if even and length else weight
            for weight, length in zip(weights, lengths, strict=True)]  # fmt: skip
    rows: NDArray[np.float64] = np.repeat(np.array(each, np.float64), lengths)
    return rows


def _scored(entry: Any, where: str) -> tuple[str, float | None]:
    name = entry.get("id") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= 1024:
        raise EpisodeError(f"{where} has no id; expected what corporeal score --json prints.")
    total = entry.get("total")
    return name, None if total is None else _number(total, f"{where}: total", most=1.0)


def _number(value: Any, where: str, *, most: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not 0 <= value <= most:
        wanted = "0 to 1" if most == 1 else "0 or more"
        raise EpisodeError(f"{where}, got {str(value)[:40]}; expected a number, {wanted}.")
    return float(value)
