"""The documentation site builds without a warning, offline, and misses no page, command or name."""

from __future__ import annotations

import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import corporeal
from corporeal.cli.program import program

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does; strict, so that a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_every_page_of_the_documentation_is_on_the_site_and_in_its_navigation(site: Path) -> None:
    """From the first page every file in docs can be reached by links."""
    reached = set(_reachable(site / "index.html"))
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix(".html")
        built = site / (name.with_name("index.html") if page.stem == "README" else name)
        assert built.resolve() in reached, f"no link leads to {built.relative_to(site)}"


def _reachable(first: Path) -> Iterator[Path]:
    """Pages that links lead to, the links of those, and so on."""
    waiting, known = [first.resolve()], {first.resolve()}
    while waiting:
        page = waiting.pop()
        yield page
        for link in re.findall(r'<a [^>]*?href="(?!https?:)([^"#?]+\.html)', page.read_text()):
            target = (page.parent / link).resolve()
            if target not in known and target.is_file():
                known.add(target)
                waiting.append(target)


def test_a_reader_without_internet_misses_nothing(site: Path) -> None:
    """No page asks for a script, a style, a font or a picture from another host."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not re.findall(r'<(?:script|img|iframe)[^>]*src="(?:https?:)?//[^"]*', text), page
        assert not re.findall(r'<link[^>]*href="(?:https?:)?//[^"]*', text), page
    for style in site.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", style.read_text()), style


def test_every_command_and_option_is_in_the_reference(site: Path) -> None:
    group: Any = typer.main.get_command(program())
    context = typer.Context(group)
    for name in group.list_commands(context):
        page = (site / "reference" / "commands" / f"{name}.html").read_text()
        for command in _leaves(group.get_command(context, name).load()):
            for parameter in command.params:
                words = parameter.opts if parameter.param_type_name == "option" else []
                missing = [word for word in words if f"<code>{word}</code>" not in page]
                assert not missing, f"corporeal {name}: {missing}"


def _leaves(command: Any) -> Iterator[Any]:
    below = getattr(command, "commands", {})
    for subcommand in below.values():
        yield from _leaves(subcommand)
    if not below:
        yield command


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    names = [module.name for module in pkgutil.iter_modules(corporeal.__path__) if module.ispkg]
    for package in ["corporeal", *(f"corporeal.{name}" for name in names)]:
        exports = getattr(import_module(package), "__all__", [])
        page = site / "reference" / "python" / f"{package}.html"
        titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page.read_text(), re.S) if exports else []
        # A title may say what it names as well: class, dataclass.
        shown = {word for title in titles for word in re.sub("<[^>]+>", " ", title).split()}
        assert set(exports) <= shown, f"{package}: {set(exports) - shown}"
