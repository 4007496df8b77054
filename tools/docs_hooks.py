"""What MkDocs calls to add the pages that are generated: commands, public names, the project's own.

Nothing of this is kept in git. A page of a command is made from the program itself, a page of a
package from the names in its `__all__`; the pages of the checks are files already and are only
sorted into the navigation here.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import corporeal
from corporeal.cli.program import program

ROOT = Path(__file__).resolve().parents[1]
PROJECT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "bench/README.md": "project/benchmarks.md",
}
COMMANDS, PYTHON, CHECKS = "reference/commands", "reference/python", "checks"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation, where a section names only their index."""
    pages = {
        f"{COMMANDS}/index.md": [{name: f"{COMMANDS}/{name}.md"} for name in _commands()],
        f"{PYTHON}/index.md": [{name: f"{PYTHON}/{name}.md"} for name in _packages()],
        f"{CHECKS}/README.md": _check_pages(Path(config.docs_dir) / CHECKS / "README.md"),
    }
    config.nav = _expand(config.nav, pages)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file in `docs` holds."""
    for name, command in _commands().items():
        text = _describe_command(command, f"corporeal {name}", level=1)
        files.append(File.generated(config, f"{COMMANDS}/{name}.md", content=text))
    documented: dict[str, str] = {}
    for name in _packages():
        text = _describe_package(name, documented)
        files.append(File.generated(config, f"{PYTHON}/{name}.md", content=text))
    for source, target in PROJECT_PAGES.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill the indexes; send links that leave `docs` to the project's pages, or make them text."""
    uri = page.file.src_uri
    if uri == "index.md":
        page.meta["hide"] = ["navigation"]  # the first page has no neighbours to list
    if uri == f"{COMMANDS}/index.md":
        return markdown + _command_index()
    if uri == f"{PYTHON}/index.md":
        return markdown + _package_index()
    if page.file.abs_src_path is None:
        return markdown
    source = Path(page.file.abs_src_path)
    return LINK.sub(lambda link: _follow(link, source, uri, Path(config.docs_dir), files), markdown)


def _follow(link: re.Match[str], source: Path, uri: str, docs: Path, files: Files) -> str:
    """A link as it has to read on this page of the site; plain text if its target has no page."""
    target = Path(os.path.normpath(source.parent / link[3]))
    if target.is_relative_to(docs):
        wanted = target.relative_to(docs).as_posix()
    else:
        wanted = PROJECT_PAGES.get(os.path.relpath(target, ROOT), "")
    if files.get_file_from_path(wanted) is None:
        return link[2]
    path = os.path.relpath(wanted, Path(uri).parent)
    return f"{link[1]}[{link[2]}]({path}{link[4] or ''})"


def _expand(nav: Any, pages: dict[str, list[Any]]) -> Any:
    """The navigation with `pages` behind each index page that has some."""
    if isinstance(nav, dict):
        return {title: _expand(below, pages) for title, below in nav.items()}
    if isinstance(nav, list):
        return [item for entry in nav for item in [_expand(entry, pages), *_behind(entry, pages)]]
    return nav


def _behind(entry: Any, pages: dict[str, list[Any]]) -> list[Any]:
    return pages.get(entry, []) if isinstance(entry, str) else []


def _check_pages(index: Path) -> list[Any]:
    """The pages of the checks by topic, as their own list sorts them."""
    topics = []
    for topic in re.split(r"^## ", index.read_text("utf-8"), flags=re.M)[1:]:
        title, _, table = topic.partition("\n")
        names = re.findall(r"^\| \[(\w+)\]", table, re.M)
        topics.append({title: [{name: f"{CHECKS}/{name}.md"} for name in names]})
    return topics


def _commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(program())
    context = typer.Context(group)
    names = sorted(group.list_commands(context))
    return {name: group.get_command(context, name).load() for name in names}


def _command_index() -> str:
    panels: dict[str, list[str]] = {"Start here": []}
    for name, command in _commands().items():
        row = f"| [`corporeal {name}`]({name}.md) | {_plain(command.help).splitlines()[0]} |"
        panels.setdefault(str(command.rich_help_panel), []).append(row)
    tables = [f"## {title}\n\n| command | what it does |\n|---|---|\n" + "\n".join(rows)
              for title, rows in panels.items()]  # fmt: skip
    return "\n\n" + "\n\n".join(tables) + "\n"


def _describe_command(command: Any, title: str, *, level: int) -> str:
    """A command as a page: what it does, its arguments and options, its subcommands."""
    text = f"{'#' * level} {title}\n\n{_plain(command.help or '')}\n"
    subcommands = getattr(command, "commands", None)
    if subcommands is None:
        return text + _usage(command, title) + _parameters(command)
    parts = [_describe_command(below, f"{title} {name}", level=level + 1)
             for name, below in subcommands.items()]  # fmt: skip
    return "\n".join([text, *parts])


def _plain(text: str) -> str:
    """Help text as Markdown: what the terminal shows in bold is a command."""
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", text)
    return re.sub(r"\[/?\w+\]", "", text).replace("\b", "").strip()


def _usage(command: Any, title: str) -> str:
    words = [title]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            word = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
            words.append(word if parameter.required else f"[{word}]")
    return f"\n```text\n{' '.join(words)} [OPTIONS]\n```\n"


def _parameters(command: Any) -> str:
    rows = []
    for parameter in command.params:
        if parameter.hidden:
            continue
        if parameter.param_type_name == "argument":
            name = f"`{parameter.name.upper()}`"
        else:
            name = ", ".join(f"`{word}`" for word in [*parameter.opts, *parameter.secondary_opts])
        text = _plain(parameter.help or "").replace("|", r"\|")
        rows.append(f"| {name} | {text} | {_default(parameter)} |")
    return (
        "\n| | what it does | default |\n|---|---|---|\n" + "\n".join(rows) + "\n" if rows else ""
    )


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    if isinstance(value, bool):
        words = parameter.opts if value else parameter.secondary_opts
        return f"`{words[0]}`" if parameter.secondary_opts else ""
    if value is None or callable(value) or value in ((), [], ""):
        return ""
    if parameter.name == "jobs":
        return "the number of cores"
    return f"`{value}`"


def _packages() -> list[str]:
    """The front door, and every package behind it that says what it exports."""
    names = [module.name for module in pkgutil.iter_modules(corporeal.__path__) if module.ispkg]
    rooms = [f"corporeal.{name}" for name in names]
    return [name for name in ["corporeal", *rooms] if _exports(name)]


def _exports(package: str) -> list[str]:
    return sorted(getattr(importlib.import_module(package), "__all__", ()))


def _package_index() -> str:
    rows = [f"| [`{name}`]({name}.md) | {_summary(name)} | "
            f"{', '.join(f'`{export}`' for export in _exports(name))} |"
            for name in _packages()]  # fmt: skip
    return "\n\n| package | what it holds | names |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _summary(package: str) -> str:
    return (importlib.import_module(package).__doc__ or "").partition("\n")[0]


def _describe_package(package: str, documented: dict[str, str]) -> str:
    """A package's names, each in full on the first page that has it and as a link elsewhere."""
    parts = [f"# {package}\n\n{_summary(package)}\n"]
    exports = {name: getattr(importlib.import_module(package), name) for name in _exports(package)}
    own = [(name, value) for name, value in exports.items() if not isinstance(value, ModuleType)]
    modules = [(name, value) for name, value in exports.items() if isinstance(value, ModuleType)]
    for name, value in own:
        target = _target(package, name, value)
        if target in documented:
            parts.append(f"## {name}\n\nSee [`{documented[target]}.{name}`][{target}].\n")
            continue
        documented[target] = package
        parts.append(_directive(target))
    for _, module in modules:
        members = [name for name, target in _defined(module) if target not in documented]
        documented |= {f"{module.__name__}.{name}": module.__name__ for name in members}
        parts.append(_directive(module.__name__, members))
    return "\n".join(parts)


def _target(package: str, name: str, value: Any) -> str:
    """The module and name under which the source of an exported value is found."""
    # What is neither a class nor a function of ours, such as a constant, is found by its export.
    origin = str(getattr(value, "__module__", ""))
    if origin.startswith("corporeal") and hasattr(value, "__qualname__"):
        return f"{origin}.{value.__qualname__}"
    return f"{package}.{name}"


def _defined(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The public classes and functions that a module defines itself."""
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            yield name, f"{module.__name__}.{name}"


def _directive(target: str, members: list[str] | None = None) -> str:
    """What mkdocstrings replaces by the docstrings of `target`, and of `members` alone if given."""
    lines = [f"::: {target}", "    options:", "      heading_level: 2"]
    if members is not None:
        lines.append(f"      members: {members if members else 'false'}")
    return "\n".join(lines) + "\n"
