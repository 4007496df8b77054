"""init, ingest, ls, release, lineage, audit, account, migrate as people call them."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.exchange.small_sets import write_episodes
from typer.testing import CliRunner, Result

from corporeal.catalog.accounts import begin_session
from corporeal.catalog.workspace import open_workspace
from corporeal.cli.commands.release import shares_of
from corporeal.cli.program import program
from corporeal.errors import CorporealError
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.training import read_weights


def _run(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
    return CliRunner(env=env).invoke(program(), [str(argument) for argument in arguments])


def _good(*arguments: str | Path, env: dict[str, str] | None = None) -> str:
    result = _run(*arguments, env=env)
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result.stdout


def _complaint(*arguments: str | Path, env: dict[str, str] | None = None) -> str:
    result = _run(*arguments, env=env)
    assert isinstance(result.exception, CorporealError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    return write_episodes(folder / "recorded", 4, seconds=0.6, size=(32, 48))


@pytest.fixture(scope="module")
def lab(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with four episodes, all of them accepted by a lead, and one release."""
    root = tmp_path_factory.mktemp("lab") / "lab"
    _good("init", root)
    _run("ingest", recorded, "--workspace", root, "--jobs", "1", "--no-check")
    _accept_all(root)
    _good("release", "create", "small", "--split", "0.5/0.5", "--workspace", root)
    return root


def _accept_all(root: Path) -> None:
    from corporeal.catalog.episodes import move_episodes
    from corporeal.catalog.query import every_episode
    from corporeal.catalog.workspace import open_workspace

    with open_workspace(root) as workspace, workspace.database.write() as connection:
        ids = [row.id for row in every_episode(connection)]
        move_episodes(connection, ids, "accepted", who="lead", why="looked at by hand")


def test_a_workspace_is_made_once(tmp_path: Path) -> None:
    said = _good("init", tmp_path / "lab")
    assert "corporeal ingest" in said
    assert "is a workspace already" in _complaint("init", tmp_path / "lab")


def test_a_folder_without_a_workspace_says_how_to_make_one(tmp_path: Path) -> None:
    assert "corporeal init" in _complaint("ls", "--workspace", tmp_path)


def test_ingesting_twice_is_ingesting_once(recorded: Path, lab: Path) -> None:
    said = json.loads(
        _good("ingest", recorded, "--workspace", lab, "--no-check", "--jobs", "1", "--json")
    )
    assert {each["status"] for each in said["episodes"]} == {"known"}


@pytest.mark.slow
def test_episodes_are_judged_on_their_way_in(recorded: Path, tmp_path: Path) -> None:
    _good("init", tmp_path / "lab")
    result = _run("ingest", recorded, "--workspace", tmp_path / "lab", "--jobs", "1", "--json")
    states = [each["state"] for each in json.loads(result.stdout)["episodes"]]
    assert len(states) == 4
    assert set(states) <= {"accepted", "quarantined", "failed"}


def test_episodes_are_listed_by_a_condition(lab: Path) -> None:
    said = json.loads(_good("ls", "task = synthetic_reach", "--workspace", lab, "--json"))
    assert said["total"] == 4
    none = json.loads(_good("ls", "score > 2", "--workspace", lab, "--json"))
    assert none["total"] == 0
    assert json.loads(_good("ls", "REACH", "--workspace", lab, "--json"))["total"] == 4
    named = _complaint("ls", "task = nothing", "--workspace", lab)
    assert "There are: synthetic_reach" in named
    hidden = _complaint("ls", "operator = nobody", "--workspace", lab)
    assert "privacy mode" in hidden
    assert "op00" not in hidden
    assert "4 of 4 episodes" in _good("ls", "--workspace", lab)


def test_a_wrong_condition_says_where(lab: Path) -> None:
    assert "character" in _complaint("ls", "task = = x", "--workspace", lab)
    assert "operator" in _complaint("ls", "operater = x", "--workspace", lab)
    assert "expected" in _complaint("ls", "x'; drop table episode; --", "--workspace", lab)


def test_a_release_is_listed_verified_and_compared(lab: Path) -> None:
    assert "small@1.0.0" in _good("release", "list", "--workspace", lab)
    assert "as they were released" in _good("release", "verify", "small", "--workspace", lab)
    said = _good("release", "diff", "small@1.0.0", "small@1.0.0", "--workspace", lab)
    assert said.strip()


def test_a_release_is_exported_and_every_row_leads_back(lab: Path, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    _good("export", "small@1.0.0", "--workspace", lab, "--out", out, "--jobs", "1")
    assert len(open_dataset(out).episodes) == 4
    card = json.loads((out / "croissant.json").read_text("utf-8"))
    listed = {each["@id"] for each in card["distribution"]}
    assert {"README.md", "episodes.json", "meta/info.json"} <= listed
    assert "small 1.0.0" in (out / "README.md").read_text("utf-8")
    told = _good("lineage", out, "--episode", "1", "--row", "3", "--workspace", lab,
                 "--out", tmp_path / "path.png")  # fmt: skip
    assert "small@1.0.0" in told
    assert "joint_position" in told
    assert (tmp_path / "path.png").stat().st_size > 1000
    assert "row 3" in told


def test_a_release_opens_every_episode_unless_told_not_to(lab: Path, tmp_path: Path) -> None:
    root = shutil.copytree(lab, tmp_path / "lab")
    with sqlite3.connect(root / "catalog.db") as connection:
        name, digest = connection.execute("SELECT id, hash FROM episode LIMIT 1").fetchone()
    own = digest.removeprefix("sha256:")
    path = root / "objects" / own[:2] / own[2:4] / own
    path.chmod(0o644)
    path.write_bytes(b"\0" * path.stat().st_size)
    making = ("release", "create", "damaged", "--workspace", root)
    assert f"1 episode cannot be released; {name}" in _complaint(*making)
    told = _good(*making, "--no-open")
    assert "damaged@1.0.0" in told
    assert "without labels" in told


def test_one_split_is_exported_alone(lab: Path, tmp_path: Path) -> None:
    _good("export", "small", "--workspace", lab, "--split", "train", "--out", tmp_path / "t",
          "--jobs", "1")  # fmt: skip
    assert len(open_dataset(tmp_path / "t").episodes) == 2
    assert "has 2 of the 4 episodes of the release" in (tmp_path / "t" / "README.md").read_text()


def test_a_release_is_exported_with_weights_by_its_scores(lab: Path, tmp_path: Path) -> None:
    root = shutil.copytree(lab, tmp_path / "lab")
    with sqlite3.connect(root / "catalog.db") as connection:
        ids = [row[0] for row in connection.execute("SELECT id FROM episode ORDER BY id")]
        scores = dict(zip(ids, (0.2, 0.4, 0.4, 0.6), strict=True))
        connection.executemany(
            "UPDATE episode SET score = ? WHERE id = ?", [(scores[name], name) for name in ids]
        )
    _good("release", "create", "scored", "--workspace", root)
    writing = ("export", "scored", "--workspace", root, "--jobs", "1", "--no-verify")
    assert "sampling weights" in _good(*writing, "--out", tmp_path / "weighed")
    weights = read_weights(tmp_path / "weighed" / "corporeal" / "weights.json")
    assert weights == pytest.approx({name: score / 0.4 for name, score in scores.items()})
    told = _good(*writing, "--out", tmp_path / "even", "--weights", "none")
    assert "sampling weights" not in told
    assert not (tmp_path / "even" / "corporeal" / "weights.json").exists()


def test_the_audit_log_tells_what_happened_and_shows_tampering(
    recorded: Path, tmp_path: Path
) -> None:
    root = tmp_path / "lab"
    _good("init", root)
    _run("ingest", recorded, "--workspace", root, "--no-check", "--jobs", "1")
    assert "each follows from the one before" in _good("audit", "verify", "--workspace", root)
    with sqlite3.connect(root / "catalog.db") as connection:
        connection.execute("UPDATE event SET who = 'somebody else' WHERE number = 2")
    result = _run("audit", "verify", "--workspace", root)
    assert result.exit_code == 1
    assert "event 2" in result.stdout


def test_a_release_is_named_for_its_lineage_as_for_its_export(lab: Path) -> None:
    plain = json.loads(_good("lineage", "small@1.0.0", "--workspace", lab, "--json"))
    newest = json.loads(_good("lineage", "small", "--workspace", lab, "--json"))
    assert newest == plain
    log = json.loads(_good("audit", "log", "#1", "--workspace", lab, "--json"))
    assert log["events"][0]["what"] == "ingest"
    full = json.loads(_good("lineage", "release:small@1.0.0", "--workspace", lab, "--json"))
    assert plain == full
    assert plain["edges"]
    assert "got nothing in the catalogue" in _complaint("lineage", "gone@1.0.0", "--workspace", lab)
    named = json.loads(_good("lineage", "episode:1", "--workspace", lab, "--json"))
    assert json.loads(_good("lineage", "#1", "--workspace", lab, "--json")) == named


def test_a_model_is_found_from_its_release_and_leads_back_to_it(lab: Path, tmp_path: Path) -> None:
    weights = tmp_path / "model[1].safetensors"
    weights.write_bytes(b"weights")
    digest = "sha256:" + hashlib.sha256(b"weights").hexdigest()
    recording = ("release", "add-model", "small@1.0.0", "act-small", "--workspace", lab)
    told = _good(*recording, "--file", weights, "--meta", "steps=100")
    assert "act-small was trained on small@1.0.0" in told
    assert "model act-small, model[1].safetensors" in _good(
        "lineage", "small@1.0.0", "--workspace", lab
    )
    graph = json.loads(_good("lineage", "model:act-small", "--workspace", lab, "--json"))
    facts = next(each for each in graph["nodes"] if each["id"] == "model:act-small")["facts"]
    assert (facts["hash"], facts["metadata"]) == (digest, {"steps": "100"})
    assert any(each["id"].startswith("episode:") for each in graph["nodes"])
    assert digest in _good("audit", "log", "model:act-small", "--workspace", lab, "--json")


def test_a_model_stands_for_one_file_and_is_recorded_once(lab: Path, tmp_path: Path) -> None:
    weights = tmp_path / "model.pt"
    weights.write_bytes(b"one")
    recording = ("release", "add-model", "small@1.0.0", "once", "--workspace", lab, "--file")
    _good(*recording, weights)
    assert "recorded for small@1.0.0 already" in _complaint(*recording, weights)
    weights.write_bytes(b"two")
    assert "a name of its own" in _complaint(*recording, weights)
    assert "expected a file" in _complaint(*recording, tmp_path)
    assert "name of a model" in _complaint(
        "release", "add-model", "small@1.0.0", "a b", "--workspace", lab
    )
    assert "gone" in _complaint("release", "add-model", "gone@1.0.0", "m", "--workspace", lab)


def test_the_history_of_an_episode_is_told(lab: Path) -> None:
    listed = json.loads(_good("ls", "--workspace", lab, "--json"))["episodes"]
    said = _good("audit", "log", f"episode:{listed[0]['id']}", "--workspace", lab)
    assert "ingest" in said
    assert "looked at by hand" in said


def test_once_there_are_accounts_writing_takes_one(recorded: Path, tmp_path: Path) -> None:
    root = tmp_path / "lab"
    _good("init", root)
    _good("account", "add", "ada", "--role", "admin", "--workspace", root)
    outsider = {"CORPOREAL_TOKEN": "", "CORPOREAL_ACCOUNT": "ada"}
    assert "role viewer" in _complaint("ingest", recorded, "--workspace", root, env=outsider)
    words = ("account", "token", "ada", "--workspace", root, "--json")
    # As the guide has it: nobody can show a token before there is one.
    made = json.loads(_good(*words, env=outsider))
    assert "role viewer" in _complaint(*words, "--label", "second", env=outsider)
    holder = {"CORPOREAL_TOKEN": made["token"]}
    result = _run("ingest", recorded, "--workspace", root, "--no-check", "--jobs", "1", env=holder)
    assert result.exit_code == 0, result.output
    assert made["token"].encode() not in (root / "catalog.db").read_bytes()
    _good("account", "revoke", "ada", "--label", "command line", "--workspace", root, env=holder)
    assert "revoked" in _complaint("ls", "--workspace", root, env=holder)
    again = json.loads(_good("account", "recover", "ada", "--workspace", root, "--json"))
    _good("ls", "--workspace", root, env={"CORPOREAL_TOKEN": again["token"]})


def test_accounts_are_run_from_the_terminal(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    where = ("--workspace", root)
    _good("init", root)
    _good("account", "add", "ada", "--role", "admin", *where)
    secret = json.loads(_good("account", "token", "ada", *where, "--json"))["token"]
    ada = {"CORPOREAL_TOKEN": secret}
    _good("account", "add", "bo", "--role", "viewer", *where, env=ada)
    made = json.loads(_good("account", "token", "bo", *where, "--json", env=ada))["token"]
    bo = {"CORPOREAL_TOKEN": made}
    assert "bo is lead" in _good("account", "role", "bo", "lead", *where, env=ada)
    for words in (("tokens", "ada"), ("sessions", "ada"), ("disable", "ada"), ("log-out", "ada")):
        assert "expected admin" in _complaint("account", *words, *where, env=bo)
    with open_workspace(root) as workspace, workspace.database.write() as connection:
        begin_session(connection, made, address="10.0.0.7")
    assert "command line" in _good("account", "tokens", "bo", *where, env=bo)
    assert "10.0.0.7" in _good("account", "sessions", "bo", *where, env=bo)
    assert "1 session of bo ended" in _good("account", "log-out", "bo", *where, env=ada)
    assert "logged in nowhere" in _good("account", "sessions", "bo", *where, env=ada)
    assert "last admin" in _complaint("account", "disable", "ada", *where, env=ada)
    _good("account", "disable", "bo", "--why", "has left", *where, env=ada)
    assert "disabled" in _complaint("ls", *where, env=bo)
    log = _good("audit", "log", "account:bo", *where, env=ada)
    assert "account disabled" in log
    assert "has left" in log
    _good("account", "enable", "bo", *where, env=ada)
    _good("ls", *where, env=bo)


def test_a_catalogue_that_is_up_to_date_stays_so(lab: Path) -> None:
    assert "revision" in _good("migrate", "--workspace", lab)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("0.9/0.1", {"train": 0.9, "validation": 0.1}),
        ("0.8/0.1/0.1", {"train": 0.8, "validation": 0.1, "test": 0.1}),
        ("a=0.5,b=0.5", {"a": 0.5, "b": 0.5}),
    ],
)
def test_shares_of_splits_are_read(text: str, shares: dict[str, float]) -> None:
    assert shares_of(text) == shares


@pytest.mark.parametrize("text", ["", "half", "a=,b=1", "0.9/x"])
def test_wrong_shares_say_what_was_expected(text: str) -> None:
    with pytest.raises(CorporealError, match="expected shares"):
        shares_of(text)


def test_one_batch_is_too_few_to_judge_by(recorded: Path, tmp_path: Path) -> None:
    root = tmp_path / "lab"
    _good("init", root)
    _run("ingest", recorded, "--workspace", root, "--batch", "monday", "--no-check", "--jobs", "1")
    said = _good("watch", "--workspace", root, "--charts", tmp_path / "charts")
    assert "cannot tell" in said
    assert "1 batch, 0 beyond limits" in said


def test_a_workspace_is_carried_to_another_and_stays(lab: Path, tmp_path: Path) -> None:
    _good("init", tmp_path / "team")
    said = json.loads(_good("migrate", "--workspace", lab, "--to", tmp_path / "team", "--json"))
    assert said["objects"] >= 4
    assert said["lost"] == []
    assert "4 of 4 episodes" in _good("ls", "--workspace", tmp_path / "team")
    assert "as they were released" in _good("release", "verify", "small", "--workspace",
                                            tmp_path / "team")  # fmt: skip
    assert "4 of 4 episodes" in _good("ls", "--workspace", lab)


def test_the_catalogue_is_written_for_notebooks(lab: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    said = json.loads(_good("snapshot", tmp_path / "tables", "--workspace", lab, "--json"))
    assert said["tables"]["episode"] == 4
    assert pq.read_table(tmp_path / "tables" / "episode.parquet").num_rows == 4
    assert "token" not in said["tables"]


def test_a_store_that_cannot_hold_objects_says_so(lab: Path) -> None:
    said = _good("release", "create", "held", "--retain-days", "30", "--workspace", lab)
    assert "this store cannot see to that" in said
