"""The report of a result: lines for a terminal, and a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from tests.retargeting.made_results import result_of, squatting

from corporeal.retargeting.measure.metrics import measure_result
from corporeal.retargeting.measure.report import (
    draw_report,
    metric_rows,
    plot_report,
)


def test_the_lines_say_each_figure_in_centimetres() -> None:
    told = dict(metric_rows(measure_result(result_of(*squatting(60), off_m=0.06))))
    assert told["hands off"] == "6.00 cm mean, 6.00 cm p95, 6.00 cm max"
    assert told["over 5 cm off"] == "60 frames (100.0 %)"
    assert told["self-collision"] == "none over 5 mm"
    assert told["beyond position limits"] == "none"


def test_a_broken_limit_is_named() -> None:
    q, base = squatting(60)
    q[10, 3] = 3.2
    rows = dict(metric_rows(measure_result(result_of(q, base))))
    assert "1 frames, worst left knee joint by" in rows["beyond position limits"]


def test_the_page_is_drawn_into_a_folder_that_is_made(tmp_path: Path) -> None:
    result = result_of(*squatting(60), off_m=0.2)
    path = draw_report(result, measure_result(result), tmp_path / "reports" / "squat.png")
    with Image.open(path) as picture:
        assert picture.size == (1920, 1080)
        assert np.asarray(picture.convert("L")).std() > 5


def test_a_single_frame_has_a_page_too() -> None:
    result = result_of(*squatting(1))
    assert len(plot_report(result, measure_result(result)).axes) >= 5


def test_a_result_that_did_not_converge_says_so_on_its_page() -> None:
    result = result_of(*squatting(20), converged=False)
    figure = plot_report(result, measure_result(result))
    assert any("did not converge" in text.get_text() for text in figure.texts)


def test_the_page_shows_the_motors_that_work_hardest() -> None:
    result = result_of(*squatting(60))
    figure = plot_report(result, measure_result(result))
    (panel,) = [axis for axis in figure.axes if "motors" in axis.get_title(loc="left")]
    names = [line.get_label() for line in panel.get_lines()]
    assert any("knee" in str(name) for name in names), "a squat is carried by the knees"
    assert max(float(np.max(line.get_ydata())) for line in panel.get_lines()[:4]) > 10


def test_a_robot_without_masses_has_a_page_that_says_so() -> None:
    result = result_of(*squatting(20))
    links = tuple(link.model_copy(update={"inertia": None}) for link in result.robot.links)
    bare = replace(result, robot=result.robot.model_copy(update={"links": links}))
    figure = plot_report(bare, measure_result(bare))
    assert any("not known" in axis.get_title(loc="left") for axis in figure.axes)
