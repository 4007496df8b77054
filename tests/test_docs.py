"""The README, the guides and the examples are run as a reader would run them."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench.partners import PartnerError, partner_python

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    ROOT / "docs" / "robots.md",
    *sorted((ROOT / "docs" / "roles").glob("*.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
]
DEMO = Path("out/demo/pick_place_demo_0001.h5")
# Pages that run on recordings of others, which a plain clone does not have.
ON_REAL_DATA = ("your_data",)
# What a page says behind a command that does not end with 0.
NOT_GOOD = re.compile(r"\s+# exits with ([12])$")


# One demo serves all pages, so one process runs them.
pytestmark = pytest.mark.xdist_group("docs")


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `make demo` was run and a reader wrote a schema of their own."""
    folder = tmp_path_factory.mktemp("reader")
    _corporeal(folder, "demo --out out/demo --episodes 1")
    ready = ROOT / "src" / "corporeal" / "schema" / "rigs" / "egocentric.yaml"
    (folder / "my_rig.yaml").write_text(ready.read_text())
    return folder


def _corporeal(folder: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    said = NOT_GOOD.search(arguments)
    expected = int(said[1]) if said else 0
    command = [sys.executable, "-m", "corporeal", *shlex.split(NOT_GOOD.sub("", arguments))]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert result.returncode == expected, f"corporeal {arguments}: {result.stderr}"
    return result


def _blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """Language, title and text of every block; a document with a title is saved under it."""
    fence = r'^```(python|console|yaml)(?: title="(.+?)")?\n(.*?)^```'
    for match in re.finditer(fence, page.read_text(), re.M | re.S):
        yield match[1], match[2] or "", match[3]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs(
    page: Path, place: Path, request: pytest.FixtureRequest
) -> None:
    if page.stem in ON_REAL_DATA:
        _link_data(place, request.getfixturevalue("shared_data"))
    names: dict[str, object] = {}
    here = Path.cwd()
    blocks = list(_blocks(page))
    assert blocks, f"{page.name} shows nothing to run"
    os.chdir(place)
    try:
        for language, title, text in blocks:
            if language == "yaml":
                if title:
                    Path(title).write_text(text)
                continue
            if language == "python":
                exec(compile(text, str(page), "exec"), names)
                continue
            for command, shown in _commands(page, text):
                _assert_shown(_corporeal(place, command).stdout, shown, f"{page.name}: {command}")
    finally:
        os.chdir(here)


def _commands(page: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    """What is called in a block, and the lines of its output that the page shows."""
    assert text.startswith("$ "), f"{page.name}: {text.splitlines()[0]}"
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *shown = part.splitlines()
        assert command.startswith("corporeal "), f"{page.name}: {command}"
        yield command.removeprefix("corporeal "), shown


def _assert_shown(output: str, lines: list[str], where: str) -> None:
    """The lines are in the output, in this order; `...` is anything, and blanks do not count."""
    text, at = " ".join(re.sub("[│╭╮╰╯─]", " ", output).split()), 0
    for line in lines:
        pieces = [re.escape(" ".join(piece.split())) for piece in line.split("...")]
        found = re.search(".*?".join(pieces), text[at:])
        assert found, f"{where} does not print: {line}"
        at += found.end()


def test_a_page_that_shows_what_is_not_printed_is_found() -> None:
    output = "robot    g1\nframes 12 of 30\n"
    _assert_shown(output, ["robot g1", "frames ... of 30", "..."], "page")
    for lines in (["robot h1"], ["frames ... of 31"], ["frames", "robot g1"]):
        with pytest.raises(AssertionError, match="does not print"):
            _assert_shown(output, lines, "page")


def _link_data(folder: Path, data: Path) -> None:
    if not (folder / "data").exists():
        (folder / "data").symlink_to(data)


@pytest.mark.slow
def test_the_network_of_your_data_learns(tmp_path: Path, shared_data: Path) -> None:
    """The block that needs torch, which this Python may not have."""
    page = (ROOT / "docs" / "guides" / "your_data.md").read_text()
    block = re.search(r"^```py\n(.*?)^```", page, re.M | re.S)
    assert block is not None
    python = sys.executable
    if find_spec("torch") is None:
        try:
            python = str(partner_python("train"))
        except PartnerError as reason:
            pytest.skip(f"no environment with torch: {reason}")
    _link_data(tmp_path, shared_data)
    _corporeal(tmp_path, "import data/lerobot/g1_inspire_v21_part --no-verify --out mine/g1")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(
        [python, "-c", block[1]], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    first, last = (float(figure) for figure in re.findall(r"\d+\.\d+", result.stdout))
    assert last < first
    assert (tmp_path / "mine" / "normalisation.json").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_imports_exists(page: Path) -> None:
    """Running all pages takes minutes; a name that has moved is known in the inner loop."""
    nodes = [
        node
        for language, _, text in _blocks(page)
        if language == "python"
        for node in ast.walk(ast.parse(text))
    ]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("corporeal"):
            module = import_module(str(node.module))
            missing = [name.name for name in node.names if not hasattr(module, name.name)]
            assert not missing, f"{page.name}: {node.module} has no {missing}"


@pytest.mark.slow
def test_the_depth_recipe_of_the_specification_is_right(place: Path) -> None:
    import h5py
    import numpy

    from corporeal.episode import Episode

    page = (ROOT / "docs" / "spec" / "episode.md").read_text()
    recipe = re.search(r"```python\n(.*?)```", page, re.S)
    assert recipe is not None
    names: dict[str, object] = {"numpy": numpy}
    with h5py.File(place / DEMO) as names["file"]:
        exec(recipe[1], names)
    with Episode.open(place / DEMO) as episode:
        expected = episode["observations/head_depth"][10]
    numpy.testing.assert_array_equal(numpy.asarray(names["depth"]), expected)


def test_every_example_has_a_test_here() -> None:
    scripts = {script.stem for script in (ROOT / "examples").glob("*.py")}
    # The last one needs torch: tests/exchange/training/test_torch_dataset.py runs it.
    tested = {"write_episode", "align_episode", "check_self_collision", "train_on_episodes"}
    assert scripts == tested


def _run_example(name: str, argument: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ROOT / "examples" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(argument)])
    runpy.run_path(str(script), run_name="__main__")


def test_the_example_that_writes_an_episode_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_example("write_episode", tmp_path, monkeypatch)
    assert "observations/joint_position/data" in capsys.readouterr().out


@pytest.mark.slow
def test_the_example_that_aligns_an_episode_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_example("align_episode", place / DEMO, monkeypatch)
    shown = capsys.readouterr().out
    assert "% complete" in shown
    assert "observations/joint_position" in shown
    assert "valid 100.0%" in shown


def test_the_example_that_finds_self_collision_runs(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    motion = next((shared_data / "retarget" / "g1_csv_xyzw").rglob("*.csv"))
    _run_example("check_self_collision", motion, monkeypatch)
    assert "of 1749 frames touch" in capsys.readouterr().out


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
