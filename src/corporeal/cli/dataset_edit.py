"""Runs an edit of a dataset: what merge, split, delete and select share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corporeal.cli.export_run import run
from corporeal.errors import CorporealError
from corporeal.exchange import ExportResult
from corporeal.exchange.editing import episode_numbers, format_of, options_of, rows_opener
from corporeal.exchange.proof import Proof


def edit(
    paths: Sequence[Path],
    out: Path,
    *,
    episodes: Sequence[int] | None = None,
    verify: bool = True,
    python: str | None = None,
    jobs: int = 1,
) -> tuple[ExportResult, Proof | None]:
    """Write these episodes of these datasets into a new one of the first one's format."""
    for path in paths:
        if not path.exists():
            raise CorporealError(f"{path} does not exist; expected a dataset.")
    options, normalisation = options_of(paths)
    return run(
        rows_opener(paths),
        out,
        format_of(paths[0]),
        replace(options, episodes=None if episodes is None else tuple(episodes), jobs=jobs),
        verify=verify,
        python=python,
        normalisation=normalisation,
    )


def numbers_in(path: Path) -> tuple[int, ...]:
    """The numbers of a dataset's episodes."""
    if not path.exists():
        raise CorporealError(f"{path} does not exist; expected a dataset.")
    return episode_numbers(path)


def require(path: Path, wanted: Sequence[int]) -> tuple[int, ...]:
    """All numbers of the dataset, when every wanted one is among them."""
    there = numbers_in(path)
    strange = sorted(set(wanted) - set(there))
    if strange:
        raise CorporealError(
            f"{path} has no episode {', '.join(map(str, strange[:8]))}; it has {len(there)}, "
            f"numbered {min(there)} to {max(there)}. Nothing was written."
        )
    return there
