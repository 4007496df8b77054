"""A plugin is a file that ends in one typed constant."""

from __future__ import annotations

from pathlib import Path

import pytest

from corporeal.errors import CorporealError
from corporeal.registry import plugins


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty plugin folder that can be imported; its name is new in every test."""
    name = f"plugins_of_{tmp_path.name}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return name


def _write(tmp_path: Path, package: str, **files: str) -> None:
    for name, text in files.items():
        (tmp_path / package / f"{name}.py").write_text(text)


def test_plugins_are_found_by_file_name_and_sorted(tmp_path: Path, package: str) -> None:
    _write(tmp_path, package, zebra="PLUGIN = 1\n", apple="PLUGIN = 2\n")
    found = plugins(package, "PLUGIN", int)
    assert list(found.items()) == [("apple", 2), ("zebra", 1)]


def test_a_file_with_an_underscore_is_no_plugin(tmp_path: Path, package: str) -> None:
    _write(tmp_path, package, _shared="", real="PLUGIN = 1\n")
    assert list(plugins(package, "PLUGIN", int)) == ["real"]


@pytest.mark.parametrize("text", ["", "PLUGIN = 'text'\n"])
def test_a_file_without_the_constant_is_named(tmp_path: Path, package: str, text: str) -> None:
    _write(tmp_path, package, broken=text)
    with pytest.raises(CorporealError, match=rf"{package}\.broken, got no PLUGIN; expected"):
        plugins(package, "PLUGIN", int)
