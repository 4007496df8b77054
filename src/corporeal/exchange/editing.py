"""Merge, split, delete, select: a new dataset of the same format, the old ones untouched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.exchange.beside.names import FOLDER, VIEW
from corporeal.exchange.beside.restoration import View, read_view
from corporeal.exchange.format import formats
from corporeal.exchange.layout import layout_of
from corporeal.exchange.normalisation import Normalisation
from corporeal.exchange.opening import join_datasets, open_rows
from corporeal.exchange.options import ExportOptions


def opened(paths: Sequence[Path]) -> Dataset:
    """Datasets one after the other, row by row as they stand."""
    parts = [open_rows(path) for path in paths]
    return parts[0] if len(parts) == 1 else join_datasets(parts)


def opener_of(paths: Sequence[Path]) -> Callable[[], Dataset]:
    """The same for other processes to call."""
    return partial(opened, tuple(paths))


def format_of(path: Path) -> str:
    """The name under which a dataset like this one is written."""
    dataset = open_rows(path)
    name = dataset.format
    if name == "lerobot" and str(dataset.facts.get("codebase_version", "")).lstrip("v") < "3":
        name = "groot" if (path / "meta" / "modality.json").is_file() else "lerobot_v21"
    writable = [each for each, known in formats().items() if known.writer is not None]
    if name not in writable:
        raise CorporealError(
            f"{path}: {name} is read but not written; expected one of: {', '.join(writable)}. "
            "Convert it first: corporeal convert."
        )
    return name


def plan_of(paths: Sequence[Path]) -> tuple[ExportOptions, Normalisation | None]:
    """How the rows of these datasets are written again, and how their values are normalised.

    Raises CorporealError when they do not belong into one dataset.
    """
    views = [_view(path) for path in paths]
    scales = {view.normalisation.hash if view and view.normalisation else None for view in views}
    if len(scales) > 1:
        raise CorporealError(
            "the datasets are normalised in different ways, so their values cannot stand side by "
            "side. Export them again with --normalise none, or import them first."
        )
    hierarchical = any(view.modes for view in views if view is not None)
    options = ExportOptions(view="hierarchical" if hierarchical else "flat")
    _check_rates(paths, options)
    first = views[0]
    return options, first.normalisation if first is not None else None


def _view(path: Path) -> View | None:
    root = (path if path.is_dir() else path.parent) / FOLDER
    return read_view(root) if (root / VIEW).is_file() else None


def _check_rates(paths: Sequence[Path], options: ExportOptions) -> None:
    rates: dict[float, Path] = {}
    for path in paths:
        dataset = open_rows(path)
        if not dataset.episodes:
            raise CorporealError(f"{path} has no episode; expected at least one. Leave it out.")
        rates.setdefault(layout_of(dataset.open(dataset.episodes[0]), options).rate_hz, path)
    if len(rates) > 1:
        (a, first), (b, second) = list(rates.items())[:2]
        raise CorporealError(
            f"{first} has {a:g} rows per second and {second} has {b:g}; expected one rate. "
            f"Convert one of them first: corporeal convert {second} NEW --rate {a:g}."
        )
