"""What a command file ends with, and how the program knows of it before it imports the file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from corporeal.errors import CorporealError
from corporeal.registry import plugin_names

PACKAGE = "corporeal.cli.commands"
FORMER = {
    "delete": ("dataset", "drop"),
    "merge": ("dataset", "merge"),
    "select": ("dataset", "keep"),
    "split": ("dataset", "split"),
}
"""Commands that were called otherwise: they go on working, and no help lists them."""
PANELS = (
    "Start", "Record", "Check", "Workspace", "Label", "Curate", "Release", "Exchange", "Retarget",
    "Robots and documents", "People",
)  # fmt: skip
"""The commands in the order of the work."""
KINDS = {
    "decision": "DECISION", "driver": "DRIVER", "episode": "EPISODE", "format_name": "FORMAT",
    "new": "RELEASE", "old": "RELEASE", "on": "RUNNER", "paths": "DATA", "protocol": "PROTOCOL",
    "query": "EPISODES", "release": "RELEASE", "robot": "ROBOT", "role": "ROLE", "root": "FOLDER",
    "schema": "SCHEMA", "task": "TASK", "taxonomy": "TAXONOMY", "trigger": "TRIGGER",
    "view": "VIEW", "wanted": "EPISODES", "where": "EPISODES",
}  # fmt: skip
"""What a value is, by the name of its parameter, in help and for completion; else by its type."""


@dataclass(frozen=True)
class Command:
    """A function with typer's annotations, or a group of them."""

    run: Callable[..., Any] | typer.Typer
    panel: str = "Workspace"


def group(help_text: str) -> typer.Typer:
    """An empty group of subcommands."""
    return typer.Typer(
        help=help_text, no_args_is_help=True, add_completion=False, rich_markup_mode="rich"
    )


def option(help_text: str, *flags: str, **settings: Any) -> Any:
    """An option; `flags` where it is not called as its parameter is."""
    return typer.Option(*flags, help=help_text, **settings)


def argument(help_text: str, metavar: str | None = None) -> Any:
    """What is given without a flag. The metavar says what it is, in help and for completion."""
    return typer.Argument(help=help_text, metavar=metavar)


def read_pairs(texts: Iterable[str] | None, flag: str) -> dict[str, str]:
    """What an option of the form NAME=VALUE was given, by name."""
    pairs = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise CorporealError(f"{flag}, got {text!r}; expected NAME=VALUE.")
        pairs[name] = value
    return pairs


def spread_options(function: Callable[..., None]) -> Callable[..., None]:
    """Show typer the fields of a parameter that is a dataclass as options of their own.

    So a command takes its options as one value, and commands that share them share the class.
    """
    hints = get_type_hints(function, include_extras=True)
    values = {name: hints[name] for name in signature(function).parameters
              if is_dataclass(hints[name])}  # fmt: skip
    parameters: list[Parameter] = []
    for parameter in signature(function).parameters.values():
        if parameter.name in values:
            parameters.extend(_field_parameters(values[parameter.name]))
        else:
            annotation = hints[parameter.name]
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=annotation))

    def call(**given: Any) -> None:
        for name, kind in values.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        function(**given)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(call)["__signature__"] = Signature(parameters)
    return call


def _field_parameters(kind: Any) -> Iterator[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
        )


class LazyCommand(TyperCommand):
    """Stands for a command in the list of all; its file is imported when it is called."""

    def __init__(self, file_name: str) -> None:
        # A word that Python keeps for itself, such as import, has an underscore behind it.
        super().__init__(name=file_name.rstrip("_").replace("_", "-"), rich_markup_mode="rich")
        self.module = f"{PACKAGE}.{file_name}"
        self.is_group = False

    def describe(self) -> None:
        """Read help, panel and kind from the file, without importing it."""
        self.help, self.rich_help_panel, self.is_group = _read_outline(self.module)

    def load(self) -> Any:
        """Import the file, and return the command or group that it ends with."""
        command = getattr(import_module(self.module), "COMMAND", None)
        if not isinstance(command, Command):
            raise _missing(self.module)
        app = command.run
        if not isinstance(app, typer.Typer):
            app = typer.Typer(add_completion=False, rich_markup_mode="rich")
            app.command()(command.run)
        loaded: Any = typer.main.get_command(app)
        loaded.name, loaded.rich_help_panel = self.name, command.panel
        _name_kinds(loaded)
        return loaded

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Hand the call over to the loaded command."""
        return self.load().make_context(*arguments, **settings)


class LazyGroup(TyperGroup):
    """All commands of the program, of which only the called one is imported."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.lazy_commands = [LazyCommand(name) for name in plugin_names(PACKAGE)]
        for command in self.lazy_commands:
            self.add_command(command)

    def get_command(self, context: Any, name: str) -> Any:
        """A command by its name, or by the one that it had before."""
        if name not in FORMER:
            return super().get_command(context, name)
        group_name, present = FORMER[name]
        stand_in: Any = self.commands[group_name]
        sys.stderr.write(f"corporeal {name} is now: corporeal {group_name} {present}\n")
        return stand_in.load().commands[present]

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        """The command that is called; one of a former name says in its errors what it is now."""
        name, command, rest = super().resolve_command(context, arguments)
        return (" ".join(FORMER[name]) if name in FORMER else name), command, rest

    def format_help(self, *arguments: Any) -> None:
        """Write the help with the title of every command, the groups last in their panel."""
        for command in self.lazy_commands:
            command.describe()
        ordered = sorted(self.lazy_commands, key=_place)
        self.commands = {str(command.name): command for command in ordered}
        super().format_help(*arguments)

    def get_params(self, context: Any) -> Any:
        """The options of the program itself, without the names that Python has for kinds."""
        return _without_types(super().get_params(context))


def _place(command: LazyCommand) -> tuple[int, bool]:
    panel = str(command.rich_help_panel)
    return PANELS.index(panel) if panel in PANELS else len(PANELS), command.is_group


def _name_kinds(command: Any) -> None:
    """Say in the help of a command and those below it what a value is, not its Python type."""
    for parameter in command.params:
        if parameter.metavar is None and not getattr(parameter, "is_flag", False):
            parameter.metavar = _kind_of(parameter)
    listed = command.get_params
    vars(command)["get_params"] = lambda context: _without_types(listed(context))
    for inner in getattr(command, "commands", {}).values():
        _name_kinds(inner)


def _without_types(parameters: Any) -> Any:
    for parameter in parameters:
        is_option = parameter.param_type_name == "option"
        word = parameter.metavar if is_option and not getattr(parameter, "is_flag", False) else ""
        vars(parameter)["display_type_rich"] = partial(_shown, word or "")
    return parameters


def _shown(word: str, **_: Any) -> str:
    return word


def _kind_of(parameter: Any) -> str:
    """What a value is, by its name or its type."""
    if parameter.name in KINDS:
        return KINDS[parameter.name]
    kind = str(getattr(parameter, "type_descriptor", None) or parameter.type)
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    names = {"Path": "PATH", "int": "NUMBER", "float": "NUMBER"}
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", kind)
    return next((word for name, word in names.items() if name in str(annotation)), "TEXT")


def _read_outline(module: str) -> tuple[str, str, bool]:
    """Help and panel of a command, and whether it is a group, as its source says."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise CorporealError(f"plugin {module}, got no file; expected one in {PACKAGE}.")
    tree = ast.parse(Path(spec.origin).read_bytes())
    values = {target.id: node.value for node in tree.body if isinstance(node, ast.Assign)
              for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    match values.get("COMMAND"):
        case ast.Call(args=[ast.Name(id=run)], keywords=keywords):
            named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in keywords}
            panel = str(named.get("panel", Command.panel))
            match values.get(run):
                case ast.Call(args=[ast.Constant(value=str(title))]):
                    return title, panel, True
            return ast.get_docstring(functions[run]) or "", panel, False
    raise _missing(module)


def _missing(module: str) -> CorporealError:
    return CorporealError(
        f"plugin {module}, got no COMMAND; expected the file to end with COMMAND = Command(...)."
    )
