"""A workspace is made, found and opened, and its file is not trusted."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.catalog.databases import is_alive

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import StoreError
from corporeal.catalog.workspace import (
    FILE,
    make_workspace,
    open_database,
    open_workspace,
    read_settings,
    upgrade,
)
from corporeal.catalog.workspace import workspace as workspace_module
from corporeal.catalog.workspace.migration import current_revision, latest_revision
from corporeal.catalog.workspace.workspace import CATALOG_VARIABLE, STORE_VARIABLE, VARIABLE
from corporeal.errors import CorporealError


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, CATALOG_VARIABLE, STORE_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    root = tmp_path / "lab"
    make_workspace(root).close()
    return root


def _says(root: Path, content: str) -> None:
    (root / FILE).write_text(content, "utf-8")


def test_a_workspace_is_a_folder_with_everything_in_it(tmp_path: Path) -> None:
    with make_workspace(tmp_path / "lab") as made:
        assert made.name == "lab"
        assert is_alive(made.database)
        source = tmp_path / "object"
        source.write_bytes(b"content")
        digest = made.store.put(source)
    with open_workspace(tmp_path / "lab") as opened:
        assert opened.store.has(digest) == 7
        assert (opened.root / "catalog.db").is_file()
        assert (opened.root / "objects").is_dir()


def test_what_is_a_workspace_already_is_not_made_again(lab: Path) -> None:
    with pytest.raises(CatalogError, match="is a workspace already"):
        make_workspace(lab)


def test_an_interrupted_start_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Path, __: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(workspace_module, "atomic_write", broken)
        with pytest.raises(KeyboardInterrupt):
            make_workspace(tmp_path)
    with pytest.raises(CatalogError, match="is no workspace"):
        open_workspace(tmp_path)
    make_workspace(tmp_path).close()


def test_a_workspace_is_found_from_below_and_through_the_environment(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lab / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(lab / "deep" / "down")
    with open_workspace() as found:
        assert found.root == lab.resolve()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CatalogError, match="no workspace here"):
        open_workspace()
    monkeypatch.setenv(VARIABLE, str(lab))
    with open_workspace() as found:
        assert found.root == lab.resolve()
    with pytest.raises(CatalogError, match="is no workspace"):
        open_workspace(tmp_path)


def test_a_workspace_in_postgresql_is_the_same(postgres_url: str, tmp_path: Path) -> None:
    with make_workspace(tmp_path / "team", catalog=postgres_url) as made:
        assert not made.database.is_sqlite
        assert is_alive(made.database)
    assert read_settings(tmp_path / "team")["catalog"]["url"] == postgres_url
    # A second folder may share the catalogue.
    with make_workspace(tmp_path / "other", catalog=postgres_url) as other:
        assert is_alive(other.database)


@pytest.mark.parametrize(
    "places",
    [
        {"catalog": "postgresql://me:hush@there/db"},
        {"catalog": "postgresql://me@there/db?password=hush"},
        {"catalog": "postgresql://me@there/db?sslpassword=hush"},
        {"catalog": "postgresql:///db?user=me&password=hush"},
        {"store": "s3://key:hush@bucket"},
        {"options": {"secret_access_key": "hush"}},
        {"options": {"access_key_id": "hush"}},
        {"options": {"session_token": "hush"}},
    ],
    ids=str,
)
def test_no_secret_gets_into_the_file(tmp_path: Path, places: dict[str, object]) -> None:
    with pytest.raises(CatalogError, match=r"PGPASSWORD|environment") as told:
        make_workspace(tmp_path / "lab", **places)  # type: ignore[arg-type]
    assert "hush" not in str(told.value)
    assert not (tmp_path / "lab").exists()


def test_a_file_with_a_password_is_refused_when_it_is_read(lab: Path) -> None:
    _says(lab, '[catalog]\nurl = "postgresql://me:hush@there/db"\n')
    with pytest.raises(CatalogError, match="got an address with a password") as told:
        open_workspace(lab)
    assert "hush" not in str(told.value)


def test_the_environment_comes_before_the_file(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_workspace(tmp_path / "other"):
        pass
    monkeypatch.setenv(CATALOG_VARIABLE, f"sqlite:///{tmp_path / 'other' / 'catalog.db'}")
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "elsewhere"))
    with open_workspace(lab) as opened:
        assert opened.database.url.database == str(tmp_path / "other" / "catalog.db")
        assert opened.store.url == str(tmp_path / "elsewhere")


def test_a_password_in_the_environment_is_used_and_not_shown(
    lab: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_workspace(lab / "first", catalog=postgres_url).close()
    monkeypatch.setenv(CATALOG_VARIABLE, postgres_url.replace("@", ":hush@"))
    with open_workspace(lab) as opened:
        assert opened.database.url.password == "hush"
        assert "hush" not in opened.database.shown
        assert is_alive(opened.database)


def test_options_of_another_store_do_not_follow_the_environment(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _says(lab, '[store]\nurl = "s3://bucket"\nregion = "eu-central-1"\n')
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "folder"))
    with open_workspace(lab) as opened:
        assert opened.store.url == str(tmp_path / "folder")


def test_a_lost_catalogue_is_told_and_not_replaced_by_an_empty_one(lab: Path) -> None:
    for path in lab.glob("catalog.db*"):
        path.unlink()
    with pytest.raises(CatalogError, match="does not exist"):
        open_workspace(lab)
    assert not (lab / "catalog.db").exists()


def test_an_empty_catalogue_is_opened_only_to_make_its_tables(lab: Path) -> None:
    (lab / "catalog.db").write_bytes(b"")
    with pytest.raises(CatalogError, match="corporeal migrate"):
        open_workspace(lab)
    with open_database(lab) as database:
        assert current_revision(database) is None
        assert upgrade(database) == latest_revision()
    open_workspace(lab).close()


@pytest.mark.parametrize(
    "content",
    [
        "[catalog",
        "\x00",
        "catalog = 1",
        "[[catalog]]\nurl = 'x'",
        "[catalog]\nurl = 1",
        "[catalog]\nurl = ['sqlite:///catalog.db']",
        "[catalog]\nfile = 'catalog.db'",
        "[catalog]\nurl = 'sqlite:///../../catalog.db'",
        "[catalog]\nurl = 'sqlite:///:memory:'",
        "[catalog]\nurl = ''",
        "[store]\nurl = '../outside'",
        "[store]\nurl = 'a/../../outside'",
        "[store]\nurl = 's3://../x'",
        "[store]\nurl = 'ftp://there'",
        "[store]\nurl = 'objects'\nsurprise = 'x'",
        "[store]\nurl = {a = 1}",
        "[workspace]\nname = 'two\\nlines'\nother = 1",
        '[workspace]\nname = "bell \\u0007"',
        f"[workspace]\nname = '{'x' * 200}'",
        f"a = {'[' * 3000}{']' * 3000}",
        f"{'a.' * 5000}a = 1",
        "a = 1" + "0" * 10_000,
    ],
    ids=lambda content: content[:30].replace("\x00", "NUL").replace("\n", " "),
)
def test_a_hostile_file_is_refused_in_one_sentence(lab: Path, content: str) -> None:
    _says(lab, content)
    with pytest.raises(CorporealError) as told:
        open_workspace(lab)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500
    assert not (lab.parent / "outside").exists()


def test_sections_of_others_are_left_to_them(lab: Path) -> None:
    with (lab / FILE).open("a") as file:
        file.write('\n[alerts.file]\npath = "alerts.jsonl"\n')
    open_workspace(lab).close()
    assert read_settings(lab)["alerts"] == {"file": {"path": "alerts.jsonl"}}


@pytest.mark.parametrize("name", ['quo"te', "back\\slash", "Größe 日本", "[catalog]", "a=b#c"])
def test_any_name_of_a_folder_is_written_as_text(tmp_path: Path, name: str) -> None:
    with make_workspace(tmp_path / name) as made:
        assert made.name == name
    assert tomllib.loads((tmp_path / name / FILE).read_text("utf-8"))["workspace"]["name"] == name


@pytest.mark.parametrize("name", ["new\nline", "bell\a", "\udcff"])
def test_a_name_that_is_no_text_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError):
        make_workspace(tmp_path / name)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError, match="cannot be made"):
        make_workspace(tmp_path / "file" / "lab")


def test_options_are_plain_names(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="plain name"):
        make_workspace(tmp_path, options={"a]\n[catalog]": "x"})
    with pytest.raises(StoreError, match="a folder has none"):
        make_workspace(tmp_path, options={"region": "x"})


@pytest.mark.slow
def test_four_programs_make_and_open_one_workspace_at_once(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from corporeal.catalog.workspace import make_workspace, open_workspace\n"
        "from corporeal.catalog.database import CatalogError\n"
        "from tests.catalog.databases import is_alive\n"
        "root = Path(sys.argv[1])\n"
        "try:\n    make_workspace(root).close()\n"
        "except CatalogError as error:\n    assert 'already' in str(error), error\n"
        "for _ in range(30):\n"
        "    with open_workspace(root) as opened:\n        assert is_alive(opened.database)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for each in started:
        _, said = each.communicate(timeout=60)
        assert each.returncode == 0, said.decode()
