"""A file of a stranger connects to no host and sends no variable that the user has not allowed."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from corporeal.catalog.database import CatalogError
from corporeal.catalog.stores import s3
from corporeal.catalog.workspace import FILE, make_workspace, open_workspace
from corporeal.cli import program as program_module
from corporeal.operations.alert import AlertError, alert_channels
from corporeal.trust import OWN, TrustError, asking, is_here, may_send, read_trust, trust_file

CATALOG = '[catalog]\nurl = "postgresql://me@stranger.example/lab"\n'
BUCKET = '[store]\nurl = "s3://strange-bucket"\n'
SERVER = '[store]\nurl = "s3://bucket"\nendpoint = "http://stranger.example:9000"\n'


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("CORPOREAL_CATALOG", "CORPOREAL_STORE", *s3._ENDPOINTS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    make_workspace(tmp_path / "lab").close()
    return tmp_path / "lab"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(program_module.program(), [str(word) for word in words])


@pytest.mark.parametrize(
    ("words", "host"),
    [(CATALOG, "postgresql://stranger.example"), (BUCKET, "s3://strange-bucket"),
     (SERVER, "http://stranger.example:9000"),
     ('[catalog]\nurl = "postgresql:///lab?host=/tmp,stranger.example"\n',
      "postgresql://stranger.example"),
     ('[catalog]\nurl = "postgresql://127.0.0.1/lab?hostaddr=192.0.2.7"\n',
      "postgresql://192.0.2.7")],
)  # fmt: skip
def test_a_workspace_that_names_a_foreign_host_is_not_opened_before_the_user_agrees(
    lab: Path, words: str, host: str
) -> None:
    (lab / FILE).write_text(words)
    with pytest.raises(TrustError, match="corporeal --trust") as refused:
        open_workspace(lab)
    assert f" {host}," in str(refused.value)
    assert read_trust().hosts == ()


@pytest.mark.parametrize("words", ['[catalog]\nurl = "sqlite:///{}/catalog.db"\n',
                                   '[store]\nurl = "{}/objects"\n',
                                   '[store]\nurl = "file://{}/objects"\n'])  # fmt: skip
def test_a_workspace_uses_no_folder_elsewhere_before_the_user_agrees(
    lab: Path, tmp_path: Path, words: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    make_workspace(elsewhere).close()
    (lab / FILE).write_text(words.format(elsewhere))
    with pytest.raises(TrustError, match="elsewhere"):
        open_workspace(lab)
    with asking(lambda _, __: True):
        open_workspace(lab).close()
    (lab / FILE).write_text(words.format(lab))
    open_workspace(lab).close()
    assert [Path(each).parent for each in read_trust().hosts] == [elsewhere]


def test_a_link_out_of_a_workspace_is_a_folder_elsewhere(lab: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    shutil.rmtree(lab / "objects", ignore_errors=True)
    (lab / "objects").symlink_to(tmp_path / "own")
    with pytest.raises(TrustError, match="own"):
        open_workspace(lab)


def test_consent_is_asked_once_and_kept_for_the_user_alone(lab: Path) -> None:
    (lab / FILE).write_text(BUCKET)
    asked: list[tuple[str, ...]] = []

    def agree(hosts: tuple[str, ...], _: str) -> bool:
        asked.append(hosts)
        return True

    with asking(agree):
        open_workspace(lab).close()
        open_workspace(lab).close()
    open_workspace(lab).close()
    assert asked == [("s3://strange-bucket",)]
    assert stat.S_IMODE(trust_file().stat().st_mode) == 0o600
    (lab / FILE).write_text(SERVER)
    with asking(lambda _, __: False), pytest.raises(TrustError):
        open_workspace(lab)


def test_a_script_says_trust_and_without_a_terminal_nobody_is_asked(lab: Path) -> None:
    (lab / FILE).write_text(BUCKET)
    refused = run("ls", "-w", lab)
    assert isinstance(refused.exception, TrustError)
    assert "\n" not in str(refused.exception)
    assert run("--trust", "ls", "-w", lab).exit_code == 0
    assert run("ls", "-w", lab).exit_code == 0
    assert "s3://strange-bucket" in run("trust").output
    assert run("trust", "--forget", "s3://strange-bucket").exit_code == 0
    assert isinstance(run("ls", "-w", lab).exception, TrustError)


def test_what_the_user_names_takes_no_consent(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_workspace(tmp_path / "own", store="s3://own-bucket").close()
    assert read_trust().hosts == ("s3://own-bucket",)
    (lab / FILE).write_text(BUCKET)
    monkeypatch.setenv("CORPOREAL_STORE", "s3://mine")
    open_workspace(lab).close()
    monkeypatch.delenv("CORPOREAL_STORE")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://s3.lab")
    open_workspace(lab).close()


@pytest.mark.parametrize(
    ("host", "here"),
    [("", True), ("localhost", True), ("127.0.0.1", True), ("::1", True), ("/run/pg", True),
     ("localhost.evil.org", False), ("10.0.0.1", False), ("127.0.0.1.evil.org", False)],
)  # fmt: skip
def test_which_hosts_are_this_machine(host: str, here: bool) -> None:
    assert is_here(host) is here


def test_only_variables_of_ours_or_those_the_user_lists_are_sent_anywhere() -> None:
    environment = {"AWS_SECRET_ACCESS_KEY": "hush", "CORPOREAL_TOKEN": "hush"}
    for variable in environment:
        section = {"kind": "webhook", "url": "https://127.0.0.1/x", "token_variable": variable}
        with pytest.raises(AlertError, match="begins with CORPOREAL_"):
            alert_channels({"alerts": {"a": section}}, environment=environment)
    assert may_send("CORPOREAL_HOOK")
    assert not [name for name in OWN if may_send(name)]
    assert run("trust", "--variable", "AWS_SECRET_ACCESS_KEY").exit_code == 0
    assert may_send("AWS_SECRET_ACCESS_KEY")


def test_a_token_is_sent_over_https_alone_and_to_trusted_hosts() -> None:
    environment = {"CORPOREAL_HOOK": "hush"}
    section = {"kind": "webhook", "url": "http://stranger.example/x",
               "token_variable": "CORPOREAL_HOOK"}  # fmt: skip
    with pytest.raises(AlertError, match="expected https"):
        alert_channels({"alerts": {"a": section}}, environment=environment)
    safe = {**section, "url": "https://stranger.example/x"}
    mail = {"kind": "mail", "server": "stranger.example", "sender": "a@b", "to": "c@d"}
    for each, host in ((safe, "https://stranger.example"), (mail, "smtp://stranger.example:587")):
        with pytest.raises(TrustError, match=host):
            alert_channels({"alerts": {"a": each}}, environment=environment)
        with asking(lambda _, __: True):
            assert alert_channels({"alerts": {"a": each}}, environment=environment)


def test_a_file_of_trust_that_is_broken_is_named(lab: Path) -> None:
    (lab / FILE).write_text(BUCKET)
    trust_file().parent.mkdir(parents=True)
    for content in ("hosts = 3\n", "hosts = [1]\n", "= \n"):
        trust_file().write_text(content)
        with pytest.raises(TrustError, match=r"trust\.toml"):
            open_workspace(lab)


def test_a_workspace_is_its_owners_alone(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    source = tmp_path / "object"
    source.write_bytes(b"content")
    for root in (tmp_path / "own", shared):
        with make_workspace(root) as workspace:
            workspace.store.put(source)
            with workspace.database.write():
                modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()}
        assert modes["objects"] == 0o700
        assert {modes[name] for name in modes if name.startswith("catalog.db")} == {0o600}
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755


def test_a_bucket_without_a_name_is_refused_as_before(lab: Path) -> None:
    (lab / FILE).write_text('[store]\nurl = "s3://"\n')
    with pytest.raises((TrustError, CatalogError)):
        open_workspace(lab)
