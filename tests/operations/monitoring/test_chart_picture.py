"""The picture of a control chart shows its alarms in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.operations.monitoring.figures import made_series

from corporeal.catalog.database import CatalogError
from corporeal.operations.monitoring import save_chart
from corporeal.operations.monitoring.chart_picture import plot_chart


def _rates() -> np.ndarray:
    rates = np.full(40, 0.9)
    rates[30:] = 0.6
    return rates


def test_the_words_of_the_alarm_are_in_the_picture() -> None:
    figure = plot_chart(made_series("acceptance_rate", _rates()))
    words = [text.get_text().replace("\n", " ") for text in figure.texts]
    assert any(text.startswith("acceptance rate fell from") for text in words)
    assert "out of limits" in words
    assert len(figure.axes) == 3


def test_a_short_series_is_drawn_with_the_reason() -> None:
    figure = plot_chart(made_series("score_mean", [0.7, 0.8]))
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "cannot tell: 2 batches to compare with; expected 8" in words


def test_a_series_without_a_batch_after_its_reference_is_drawn() -> None:
    figure = plot_chart(made_series("score_mean", np.linspace(0.7, 0.8, 20)))
    assert "within limits" in [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_chart_is_written_as_a_picture(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"chart{suffix}"
    save_chart(path, made_series("acceptance_rate", _rates()))
    begin = path.read_bytes()[:100]
    assert begin.startswith(b"\x89PNG") if suffix == ".png" else b"<?xml" in begin


def test_names_from_outside_are_no_markup(tmp_path: Path) -> None:
    series = made_series("acceptance_rate", _rates())
    hostile = type(series)(series.name, series.scope, tuple(
        f"$\\x{number}$<b>" for number in range(len(series))
    ), series.times, series.values, series.sizes)  # fmt: skip
    path = tmp_path / "chart.svg"
    save_chart(path, hostile, title="$\\badmath{$<b>")
    assert "<b>" not in path.read_text()


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"\.png, \.svg"):
        save_chart(tmp_path / "chart.exe", made_series("score_mean", [0.7]))
