"""What could be typed next, for bash, zsh and fish: commands, options, names, episodes.

A shell asks with every Tab, so nothing that takes long is imported: the tree of commands lies in a
cache file that is written anew when a command has changed, and names are those of plugin files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import corporeal
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.files import atomic_file
from corporeal.words import UNSHOWN, show_plainly

VARIABLE = "_CORPOREAL_COMPLETE"
"""Set by the shell that asks; the words until the cursor are the arguments."""
_ROOT = Path(corporeal.__file__).parent
_PLUGINS = {
    "CHECK": ("quality/checks",),
    "DRIVER": ("capture/drivers",),
    "FORMAT": ("exchange/formats",),
    "POLICY": ("quality/policies",),
    "PROTOCOL": ("protocol/protocols",),
    "ROBOT": ("embodiment/robots",),
    "RUNNER": ("runners",),
    "SCHEMA": ("schema/rigs",),
    "TASK": ("simulation/tasks", "protocol/protocols"),
    "TAXONOMY": ("labelling/taxonomies",),
}
"""The folders whose files are the names of a kind of value."""
_CHOICES = {
    "DECISION": ("accept", "reject", "undo"),
    "ROLE": ("viewer", "operator", "annotator", "lead", "admin"),
    "TRIGGER": ("auto", "key", "motion"),
    "VIEW": ("flat", "hierarchical"),
}
_MOST = 50
# In quotes too a shell acts upon these, where its user has only pressed Tab and Enter; a sign that
# is one of a query, such as !=, is none of them.
_ACTIVE = re.compile(r"[\n\t$`\\']|!(?![=( ])")
_RC_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/config.fish"}

_BASH = """
_corporeal() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\\t'*}")
  done < <(_CORPOREAL_COMPLETE=bash "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _corporeal corporeal
"""
_ZSH = """
_corporeal() {
  local -a found
  local line
  for line in "${(@f)$(_CORPOREAL_COMPLETE=zsh ${words[1]} "${(@)words[2,CURRENT]}" 2>/dev/null)}"
  do
    [[ -n $line ]] && found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
  done
  if (( $#found )); then _describe corporeal found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _corporeal corporeal
"""
_FISH = """
function __corporeal_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (_CORPOREAL_COMPLETE=fish $words[1] $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c corporeal -f -a '(__corporeal_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
SHELLS = tuple(_SCRIPTS)
# Gives the whole program, as click has it; asked only when the cache is of another.
ReadCommand = Callable[[], Any]


def shell_script(shell: str) -> str:
    """What a shell is to run, so that Tab asks this program."""
    if shell not in _SCRIPTS:
        raise UnknownNameError("shell", shell[:40], SHELLS)
    return _SCRIPTS[shell].lstrip("\n")


def install(shell: str, read: ReadCommand) -> Path:
    """Let the shell ask from its next start on; the file that says so. Twice is once."""
    shell_script(shell)
    file = Path(_RC_FILES[shell]).expanduser()
    source = "| source" if shell == "fish" else ""
    line = (f"corporeal --show-completion {shell} {source}".rstrip() if source
            else f'eval "$(corporeal --show-completion {shell})"')  # fmt: skip
    text = file.read_text("utf-8") if file.exists() else ""
    if line not in text.splitlines():
        file.parent.mkdir(parents=True, exist_ok=True)
        gap = "" if text.endswith("\n") or not text else "\n"
        with file.open("a", encoding="utf-8") as open_file:
            open_file.write(f"{gap}{line}\n")
    _commands(read)
    return file


def answer(words: Sequence[str], read: ReadCommand) -> str:
    """A line for everything that could stand where the last word does: it, a tab, what it is.

    Names may come from files of strangers: one that a terminal or a shell would obey is left out.
    """
    before, begun = list(words[:-1]), words[-1] if words else ""
    lines = []
    for text, about in _candidates(before, begun, read):
        added = text[len(begun) :]
        if text.startswith(begun) and not (UNSHOWN.search(text) or _ACTIVE.search(added)):
            what = show_plainly(" ".join(about.split()))
            lines.append(f"{text}\t{what}" if what else text)
    return "".join(f"{line}\n" for line in lines)


def _candidates(before: Sequence[str], begun: str, read: ReadCommand) -> Iterator[tuple[str, str]]:
    command, arguments, awaited = _commands(read), 0, None
    for word in before:
        if awaited is not None:
            awaited = None
        elif word.startswith("-"):
            awaited = _awaited(command, word)
        elif word in command["commands"]:
            command, arguments = command["commands"][word], 0
        else:
            arguments += 1
    if awaited is not None:
        yield from _values(awaited, before, begun)
    elif begun.startswith("-"):
        for option in command["options"]:
            yield from ((flag, option["help"]) for flag in option["flags"])
    elif command["commands"]:
        yield from ((name, each["help"]) for name, each in command["commands"].items())
    elif kinds := command["arguments"]:
        kind, many = kinds[min(arguments, len(kinds) - 1)]
        if arguments < len(kinds) or many:
            yield from _values(kind, before, begun)


def _awaited(command: dict[str, Any], word: str) -> str | None:
    """The kind of the value that an option waits for; None for a flag, or when it has it."""
    for option in command["options"]:
        if word in option["flags"]:
            return option["kind"] or None
    return None


def _values(kind: str, before: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    folders = [_ROOT / folder for folder in _PLUGINS.get(kind, ())]
    names = {file.stem for folder in folders for file in folder.iterdir()
             if file.suffix in (".py", ".yaml") and not file.stem.startswith("_")}  # fmt: skip
    yield from ((name, "") for name in sorted({*names, *_CHOICES.get(kind, ())}))
    if read := _FROM_CATALOG.get(kind):
        # Tab never complains: without a workspace, or without the right, there is nothing.
        with suppress(CorporealError, OSError):
            yield from read(_workspace(before), begun)


def _workspace(before: Sequence[str]) -> Path | None:
    for flag, value in pairwise(before):
        if flag in ("-w", "--workspace"):
            return Path(value).expanduser()
    return None


def _episodes(root: Path | None, begun: str) -> Iterator[tuple[str, str]]:
    """Episodes by what they are called, or what could follow in a query that has begun."""
    from corporeal.catalog.query import complete, episode_page
    from corporeal.cli.workspaces import read_catalog

    with read_catalog(root, "read") as connection:
        for row in episode_page(connection, None, limit=_MOST).rows:
            about = f"{row.state} {row.task or ''} {Path(row.file).name}"
            yield (row.id if row.number is None else str(row.number)), about
        found = complete(connection, begun, len(begun))
        yield from ((begun[: found.start] + item.text, item.detail) for item in found.items)


def _releases(root: Path | None, _: str) -> Iterator[tuple[str, str]]:
    from corporeal.cli.workspaces import enter_workspace
    from corporeal.release.reading import list_releases

    with enter_workspace(root, "read") as (workspace, _actor):
        for each in list_releases(workspace):
            yield each.reference, f"{each.episodes} episodes, {each.created_at[:10]}"


_FROM_CATALOG: dict[str, Callable[[Path | None, str], Iterator[tuple[str, str]]]] = {
    "EPISODE": _episodes,
    "EPISODES": _episodes,
    "RELEASE": _releases,
}


def _commands(read: ReadCommand) -> dict[str, Any]:
    """The tree of commands as the cache has it; made and kept where none of this program is."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "corporeal"
    file = cache / f"commands-{_fingerprint()}.json"
    with suppress(OSError, ValueError):
        kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return kept
    tree = _outline(read())
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in cache.glob("commands-*.json"):
            old.unlink(missing_ok=True)
        with atomic_file(file) as part:
            part.write_text(json.dumps(tree), "utf-8")
    return tree


def _fingerprint() -> str:
    """Of the command line's own files: another when one of them has changed."""
    files = sorted((_ROOT / "cli").rglob("*.py"))
    stats = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    return hashlib.sha256(repr((corporeal.__version__, stats)).encode()).hexdigest()[:16]


def _outline(command: Any) -> dict[str, Any]:
    """A command as plain values: what it takes, and the commands below it."""
    loaded = command.load() if hasattr(command, "load") else command
    options, arguments = [], []
    for parameter in loaded.params:
        if getattr(parameter, "hidden", False):
            continue
        if parameter.param_type_name == "argument":
            arguments.append((parameter.metavar, parameter.nargs != 1))
            continue
        flags = [flag for flag in (*parameter.opts, *parameter.secondary_opts) if flag[:2] == "--"
                 or len(parameter.opts) == 1]  # fmt: skip
        short = [flag for flag in parameter.opts if flag not in flags]
        kind = "" if getattr(parameter, "is_flag", False) else parameter.metavar or "TEXT"
        options.append({"flags": flags + short, "kind": kind, "help": parameter.help or ""})
    options.append({"flags": ["--help"], "kind": "", "help": "Show this message and exit."})
    inner = getattr(loaded, "commands", {})
    first = (loaded.help or "").split("\n", 1)[0]
    return {"help": first, "options": options, "arguments": arguments,
            "commands": {name: _outline(each) for name, each in inner.items()}}  # fmt: skip
