"""Draws episodes into parts, such as train and validation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from corporeal.errors import CorporealError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def parse_shares(text: str) -> dict[str, float]:
    """`train=0.9,validation=0.1` as shares by name."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if not _NAME.fullmatch(name) or name in shares or not re.fullmatch(r"[0-9.]+", share):
            raise CorporealError(
                f"parts, got {text!r}; expected names with shares, such as "
                "train=0.9,validation=0.1."
            )
        try:
            shares[name] = float(share)
        except ValueError:
            raise CorporealError(f"parts, got {part!r}; expected a number as its share.") from None
    if len(shares) < 2 or abs(sum(shares.values()) - 1) > 1e-6 or min(shares.values()) <= 0:
        raise CorporealError(
            f"parts, got {text!r}; expected two or more shares above 0 that add up to 1."
        )
    return shares


def draw_split(
    numbers: Sequence[int], shares: Mapping[str, float], *, seed: int
) -> dict[str, list[int]]:
    """Every number in exactly one part, each part in order, by chance but always the same.

    No part is empty; the shares are met as closely as whole episodes allow.
    """
    if len(numbers) < len(shares):
        raise CorporealError(
            f"{len(numbers)} episodes for {len(shares)} parts; expected at least one each."
        )
    shuffled = np.random.default_rng(seed).permutation(np.asarray(numbers))
    counts = np.maximum(1, np.floor(np.array(list(shares.values())) * len(numbers))).astype(int)
    while counts.sum() > len(numbers):
        counts[np.argmax(counts)] -= 1
    wanted = np.array(list(shares.values())) * len(numbers)
    while counts.sum() < len(numbers):
        counts[np.argmax(wanted - counts)] += 1
    ends = np.cumsum(counts)
    return {
        name: sorted(int(number) for number in shuffled[end - count : end])
        for name, count, end in zip(shares, counts.tolist(), ends.tolist(), strict=True)
    }
