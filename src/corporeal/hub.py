"""Datasets of the Hugging Face hub, as folders here, and folders here as datasets there.

`hf://OWNER/NAME`, with `@REVISION` behind it where it is not the newest. Tables and descriptions
come first, movies only if pictures are looked at; what has come once is not fetched again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, MissingExtraError
from corporeal.files import atomic_write
from corporeal.words import byte_size

LARGEST = 20 * 10**9
"""Bytes that are fetched of one dataset unless more is asked for."""
_ADDRESS = re.compile(r"hf:/{1,2}(?:datasets/)?([\w.-]+/[\w.-]+?)(?:@([\w./-]+))?/?")
# It names a folder of the cache.
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_MOVIES = (".mp4", ".mkv", ".avi", ".webm", ".mov")
_MISSING = "movie missing"


class HubError(CorporealError):
    """A dataset of the hub cannot be reached, found, fetched or written."""


@dataclass(frozen=True)
class HubDataset:
    """A dataset of the hub as a folder here; `left` are its files that were not fetched."""

    folder: Path
    revision: str
    left: tuple[str, ...] = ()
    is_offline: bool = False


def is_hub_address(text: str) -> bool:
    """Whether people mean a dataset of the hub, whole or mistyped. A path eats a slash of it."""
    return text.startswith("hf:/")


def fetch(
    address: str, *, movies: bool = True, on_status: Callable[[str], None] = lambda _: None
) -> HubDataset:
    """The dataset as a folder of the cache: tables and descriptions first, then movies if wanted.

    Where the hub does not answer, what an earlier run fetched whole is the dataset. Raises HubError
    when it is not there, or is larger than CORPOREAL_HUB_BYTES.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise HubError(f"hub, got {address[:120]!r}; expected hf://OWNER/NAME or with @REVISION.")
    name, asked = match[1], match[2]
    home = _cache() / name.replace("/", "--")
    try:
        with _sentences(name, asked):
            files, revision = _list_files(name, asked)
    except HubUnreachableError:
        if kept := _kept(home, asked, movies=movies):
            return kept
        raise
    folder = home / revision
    tables = {path: size for path, size in files.items() if not path.lower().endswith(_MOVIES)}
    rest = {path: size for path, size in files.items() if path not in tables}
    wanted, largest = files if movies else tables, _largest()
    if (size := sum(wanted.values())) > largest:
        hint = " Leave the movies out with --no-pictures." if movies and rest else ""
        raise HubError(
            f"hf://{name}, got {byte_size(size)} to fetch; expected {byte_size(largest)} at most. "
            f"Set CORPOREAL_HUB_BYTES for more.{hint}"
        )
    with _sentences(name, asked):
        on_status(f"fetching tables of {name}, {byte_size(sum(tables.values()))}")
        _download(name, revision, folder, list(tables))
        if movies and rest:
            on_status(f"fetching movies of {name}, {byte_size(sum(rest.values()))}")
            _download(name, revision, folder, list(rest))
    left = tuple(path for path in rest if not (folder / path).exists())
    # Says that all else is here, for the day on which the hub does not answer.
    atomic_write(folder.with_name(f"{revision}.left"), "\n".join(left))
    return HubDataset(folder, revision, left)


def push(folder: Path, name: str, *, private: bool = True, message: str) -> str:
    """Put a folder on the hub as a dataset, private unless it exists otherwise; its address."""
    require_name(name)
    hub = _library()
    with _sentences(name, None):
        api = hub.HfApi()
        api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        api.upload_folder(
            repo_id=name, folder_path=folder, repo_type="dataset", commit_message=message
        )
    return f"hf://{name}"


def require_name(name: str) -> None:
    """Raise HubError for what cannot be the name of a dataset on the hub."""
    if _NAME.fullmatch(name) is None:
        raise HubError(f"--push, got {name[:120]!r}; expected OWNER/NAME.")


def without_movies(dataset: Dataset, left: tuple[str, ...]) -> Dataset:
    """The dataset, of which movies that were left on the hub are not said to be missing."""
    defects = tuple(
        defect for defect in dataset.defects
        if defect.check != "stream_missing" or not _is_left(str(defect.stream), left)
    )  # fmt: skip

    def open_episode(number: int) -> Recording:
        recording = dataset.open(number)
        items = tuple(
            replace(item, reason="left on the hub: --no-pictures")
            if str(item.reason or "").startswith(_MISSING) and _is_left(item.name, left) else item
            for item in recording.ledger.items
        )  # fmt: skip
        return replace(recording, ledger=replace(recording.ledger, items=items))

    return replace(dataset, defects=defects, open=open_episode)


def _is_left(stream: str, left: tuple[str, ...]) -> bool:
    return any(f"/{stream}/" in path for path in left)


class HubUnreachableError(HubError):
    """The hub does not answer."""


def _library() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError:
        raise MissingExtraError("huggingface_hub", "hub") from None
    return huggingface_hub


@contextmanager
def _sentences(name: str, revision: str | None) -> Iterator[None]:
    """What the library raises, as one sentence of ours."""
    hub = _library()
    errors = hub.errors
    try:
        yield
    except errors.GatedRepoError:
        raise HubError(
            f"hf://{name} is gated; expected an account that may read it. "
            "Ask for access on its page, then: hf auth login."
        ) from None
    except errors.RevisionNotFoundError:
        raise HubError(
            f"hf://{name} has no revision {revision!r}; expected a branch, tag or commit of it."
        ) from None
    except errors.RepositoryNotFoundError:
        raise HubError(
            f"hf://{name}: the hub has no such dataset, or keeps it private. "
            "Check the name, or log in with: hf auth login."
        ) from None
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        if status in (401, 403):
            raise HubError(
                f"hf://{name}: the hub refuses ({status}); expected a token that may do this. "
                "Log in with: hf auth login."
            ) from None
        if status is not None:
            raise HubError(f"hf://{name}: the hub answers {status}. Try again later.") from None
        raise _unreachable(name, error) from None
    except (OSError, errors.HTTPError) as error:
        raise _unreachable(name, error) from None
    except ValueError as error:
        raise HubError(f"hf://{name}: {str(error).splitlines()[0]}") from None


def _unreachable(name: str, error: Exception) -> HubUnreachableError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return HubUnreachableError(
        f"hf://{name}: the hub does not answer ({reason[:120]}). Check the connection, and "
        "HF_ENDPOINT where it is set."
    )


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "corporeal" / "hub"


def _largest() -> int:
    text = os.environ.get("CORPOREAL_HUB_BYTES", str(LARGEST))
    if not text.isdigit():
        raise HubError(f"CORPOREAL_HUB_BYTES, got {text!r}; expected a number of bytes.")
    return int(text)


def _list_files(name: str, asked: str | None) -> tuple[dict[str, int], str]:
    """Every file with its size, and the commit that they are of."""
    api = _library().HfApi()
    revision = str(api.dataset_info(name, revision=asked).sha)
    if not _COMMIT.fullmatch(revision):
        raise HubError(f"hf://{name}, got a commit {revision[:60]!r}; expected a hash of it.")
    tree = api.list_repo_tree(name, recursive=True, revision=revision, repo_type="dataset")
    files = {entry.path: int(entry.size) for entry in tree if hasattr(entry, "size")}
    for path in files:
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise HubError(f"hf://{name} has a file {path!r}; expected paths below the dataset.")
    return files, revision


def _download(name: str, revision: str, folder: Path, files: list[str]) -> None:
    hub = _library()
    hub.utils.disable_progress_bars()
    for path in files:
        hub.hf_hub_download(name, path, repo_type="dataset", revision=revision, local_dir=folder)


def _kept(home: Path, asked: str | None, *, movies: bool) -> HubDataset | None:
    """What an earlier run fetched whole, the newest of it."""
    marks = sorted(home.glob("*.left"), key=lambda file: file.stat().st_mtime, reverse=True)
    for mark in marks:
        left = tuple(mark.read_text("utf-8").split("\n")) if mark.stat().st_size else ()
        revision = mark.name.removesuffix(".left")
        if (not movies or not left) and asked in (None, revision):
            return HubDataset(mark.with_name(revision), revision, left, is_offline=True)
    return None
