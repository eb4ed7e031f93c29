"""Writes docs/cli.md from the commands: `python -m tests.cli_reference > docs/cli.md`, which is `make docs`."""

import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Protocol, cast

import typer
from typer.core import TyperGroup

from lightwell.entrypoints.cli.commands import SECTIONS, app

HEAD = """\
# Commands

Every command with its options, as `lightwell COMMAND --help` shows them. `make docs` writes this page.
[command-line.md](command-line.md) says what the options of every command mean, what the exit codes and the JSON are, and how `.lightwell.yaml` works.
"""
EVERYWHERE = ("--as", "--server", "--json", "--verbose", "--help")


class TypeDescriptor(Protocol):
    annotation: object


class Parameter(Protocol):
    param_type_name: str
    opts: list[str]
    secondary_opts: list[str]
    metavar: str | None
    name: str
    nargs: int
    required: bool
    help: str | None
    is_flag: bool
    default: object
    type_descriptor: TypeDescriptor


class Command(Protocol):
    params: list[Parameter]
    epilog: str | None
    help: str | None


def commands() -> Iterator[tuple[str, Command]]:
    """Yield every command that does something, with its whole name: `documents list`."""
    pending = [("lightwell", typer.main.get_command(app))]
    while pending:
        name, command = pending.pop()
        if not isinstance(command, TyperGroup):
            yield name, cast("Command", command)
            continue
        context = typer.Context(command)
        for word in command.list_commands(context):
            child = command.get_command(context, word)
            assert child is not None
            pending.append((f"{name} {word}", child))


def page() -> str:
    """Return the text of docs/cli.md."""
    by_name = dict(reversed(list(commands())))
    parts = [HEAD]
    for title, words in SECTIONS.items():
        parts.append(f"## {title}\n")
        for word in words.split():
            prefix = f"lightwell {word}"
            parts += [
                describe(name, command)
                for name, command in by_name.items()
                if f"{name} ".startswith(f"{prefix} ")
            ]
    return "\n".join(parts)


def describe(name: str, command: Command) -> str:
    arguments = [
        parameter for parameter in command.params if parameter.param_type_name == "argument"
    ]
    rows = [
        row(parameter) for parameter in command.params if not set(parameter.opts) & {*EVERYWHERE}
    ]
    takes = [
        f"`{word}`"
        for word in ("--as", "--server")
        if any(word in parameter.opts for parameter in command.params)
    ]
    usage = " ".join([name, *(shown(argument) for argument in arguments)])
    text = [f"### `{usage}`\n", plain(command.help or ""), ""]
    if rows:
        text += ["| | |", "|---|---|", *rows, ""]
    if takes:
        text.append(f"Takes {' and '.join(takes)}.\n")
    examples = re.findall(r"^  (lightwell .+)$", command.epilog or "", re.M)
    text.append(" · ".join(f"`{example}`" for example in examples[:2]) + "\n")
    return "\n".join(text)


def shown(parameter: Parameter) -> str:
    """Return how an argument stands in the heading: `PATH...`."""
    word = parameter.metavar or parameter.name.upper()
    word += "..." if parameter.nargs == -1 and not word.endswith("...") else ""
    return word if parameter.required else f"[{word}]"


def row(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{shown(parameter)}`"
    else:
        names = [*parameter.opts, *parameter.secondary_opts]
        value = "" if parameter.is_flag else f" {parameter.metavar or values(parameter)}"
        name = ", ".join(f"`{option}{value}`" for option in names)
    text = plain(parameter.help or "")
    default = parameter.default
    if isinstance(default, int | str) and not isinstance(default, bool) and default:
        text += "" if "default" in text else f" By default {getattr(default, 'value', default)}."
    return f"| {escaped(name)} | {escaped(text)} |"


def escaped(text: str) -> str:
    """Return a text as a cell of a table."""
    return text.replace("|", "\\|")


def values(parameter: Parameter) -> str:
    """Return what an option takes that names no metavariable: its choices, or a number."""
    annotation = parameter.type_descriptor.annotation
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(member.value) for member in annotation)
    return "TEXT" if annotation is str else "N"


def plain(text: str) -> str:
    """Return a help text with one line for each paragraph."""
    paragraphs = inspect.cleandoc(text).replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).strip()


if __name__ == "__main__":
    sys.stdout.write(page())
