"""The documents that users go by describe what is there, all of it, and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

import pytest
import typer
from pydantic import SecretStr
from typer.core import TyperGroup

from lightwell.entrypoints.cli.commands import COMMANDS, SECTIONS, app
from lightwell.entrypoints.cli.errors import Exit
from lightwell.settings import Settings

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs/cli.md").read_text("utf-8")
SETTINGS = (ROOT / "docs/settings.md").read_text("utf-8")
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
FIELDS = sorted(Settings.model_fields)


def variable(field: str) -> str:
    return f"LIGHTWELL_{field.removesuffix('_').upper()}"


class Parameter(Protocol):
    param_type_name: str
    opts: list[str]


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


def described(name: str) -> str:
    """Return what docs/cli.md says under the heading of this command."""
    match = re.search(rf"^## `{re.escape(name)}(?: [^`]*)?`\n(.*?)(?=^## |\Z)", CLI, re.M | re.S)
    return match[1] if match else ""


@pytest.mark.parametrize(("name", "command"), sorted(commands(), key=lambda pair: pair[0]))
def test_every_command_and_option_is_described(name: str, command: Command) -> None:
    text = described(name)
    assert text, f"docs/cli.md lacks a heading ## `{name} …`"
    own = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    everywhere = described_everywhere()
    for option in {option for parameter in own for option in parameter.opts}:
        assert f"`{option}" in text or f"`{option}" in everywhere, (
            f"docs/cli.md does not describe {option} of {name}"
        )


@pytest.mark.parametrize(("name", "command"), sorted(commands(), key=lambda pair: pair[0]))
def test_every_described_option_exists(name: str, command: Command) -> None:
    known = {option for parameter in command.params for option in parameter.opts}
    listed = set(re.findall(r"^\| `(--[a-z-]+)", described(name), re.M))
    assert listed <= known, f"docs/cli.md describes {listed - known} of {name}, which is not there"


@pytest.mark.parametrize(("name", "command"), sorted(commands(), key=lambda pair: pair[0]))
def test_every_command_says_what_it_does_and_shows_an_example(name: str, command: Command) -> None:
    assert command.help
    assert f"Examples:\n  {name}" in (command.epilog or "")


def test_no_command_is_described_that_is_not_there() -> None:
    there = {name for name, _ in commands()}
    for heading in re.findall(r"^## `(lightwell[ a-z-]*[a-z])", CLI, re.M):
        assert heading in there


def test_the_contents_link_to_every_command() -> None:
    contents = CLI.split("## Contents\n")[1].split("\n## ")[0]
    links = set(re.findall(r"\]\(#([^)]+)\)", contents))
    headings = re.findall(r"^##+ (.+)$", CLI, re.M)
    anchors = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-"): each for each in headings}
    assert links <= anchors.keys()
    commands = {slug for slug, each in anchors.items() if each.startswith("`lightwell ")}
    assert commands <= links


def test_every_command_is_in_one_section_of_the_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names.split()]
    assert sorted(listed) == sorted(COMMANDS)


def test_every_exit_code_is_described() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", CLI, re.M)}
    assert listed == {code.value for code in Exit}


@pytest.mark.parametrize("field", FIELDS)
def test_every_setting_is_described_as_it_is(field: str) -> None:
    row = f"| `{variable(field)}` | {default(field)} | {Settings.model_fields[field].description} |"
    assert row in SETTINGS.splitlines(), f"docs/settings.md should say:\n{row}"


@pytest.mark.parametrize("field", FIELDS)
def test_every_setting_is_in_the_example_environment(field: str) -> None:
    lines = re.findall(rf"^# {variable(field)}=(.+)$", EXAMPLE, re.M)
    assert len(lines) == 1
    given = default(field)
    assert given in {"none", "per user"} or lines[0].strip('"') == given.strip("`").replace(
        "\\|", "|"
    )


def test_no_setting_is_named_that_is_not_there() -> None:
    names = {variable(field) for field in FIELDS}
    for text in (SETTINGS, EXAMPLE, CLI):
        named = set(re.findall(r"LIGHTWELL_[A-Z0-9_]*[A-Z]", text))
        assert {each for each in named if not each.startswith("LIGHTWELL_SOURCE")} <= names


def test_the_example_environment_can_be_used_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for field in FIELDS:
        monkeypatch.delenv(variable(field), raising=False)
    (tmp_path / ".env").write_text(re.sub(r"^# (?=LIGHTWELL_)", "", EXAMPLE, flags=re.M))
    monkeypatch.chdir(tmp_path)
    assert Settings().database_url is not None


def described_everywhere() -> str:
    match = re.search(r"^## Options of every command\n(.*?)(?=^## )", CLI, re.M | re.S)
    assert match
    return match[1]


def default(field: str) -> str:
    if Settings.model_fields[field].default_factory is not None:
        return "per user"
    value = cast("object", Settings.model_fields[field].default)
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    if isinstance(plain, bool):
        return f"`{str(plain).lower()}`"
    return "none" if plain is None or plain == "" else f"`{plain}`".replace("|", "\\|")


TOLD = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
    *(ROOT / "src").rglob("*.py"),
]
FROM_A_REGISTRY = re.compile(r"(?:install|upgrade|uvx)\b[^\n`]*?[ '\"]lightwell\b(?!-)")


def test_nobody_is_told_to_install_a_name_that_is_not_ours() -> None:
    """No registry has `lightwell`: whoever takes the name there would be installed."""
    said = "pip install 'lightwell[otel]'", "uv tool upgrade lightwell", "pipx install lightwell"
    assert all(FROM_A_REGISTRY.search(each) for each in said)
    assert not FROM_A_REGISTRY.search("`uv tool install .` puts `lightwell` on your PATH")
    for path in TOLD:
        assert not (match := FROM_A_REGISTRY.search(path.read_text("utf-8"))), (path, match)
