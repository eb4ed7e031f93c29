"""The documents that users go by describe what is there, all of it, and nothing else."""

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from pydantic import BaseModel, SecretStr

from lightwell.entrypoints.cli.commands import COMMANDS, SECTIONS
from lightwell.entrypoints.cli.errors import Exit
from lightwell.settings import VARIABLES, Settings
from tests.cli_reference import Command, commands, page

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs/cli.md").read_text("utf-8")
RULES = (ROOT / "docs/command-line.md").read_text("utf-8")
SETTINGS = (ROOT / "docs/settings.md").read_text("utf-8")
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
NEXT = "LIGHTWELL_NEXT_EMBEDDING_"
"""The variables of the model to change to: described once, since they are those of the embedding model."""


def descriptions() -> dict[tuple[str, str], str]:
    """Return what stands below each field of each class of the settings."""
    found: dict[tuple[str, str], str] = {}
    for defined in ast.parse((ROOT / "src/lightwell/settings.py").read_text("utf-8")).body:
        if isinstance(defined, ast.ClassDef):
            for field, text in pairwise(defined.body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    assert isinstance(field.target, ast.Name)
                    assert isinstance(text.value, ast.Constant)
                    found[defined.name, field.target.id] = str(text.value.value)
    return found


DESCRIPTIONS = descriptions()


def owner(variable: str) -> tuple[type[BaseModel], str]:
    """Return the class and the field of a setting."""
    *subject, name = VARIABLES[variable]
    if not subject:
        return Settings, name
    return cast("type[BaseModel]", Settings.model_fields[subject[0]].annotation), name


def test_the_reference_of_the_commands_is_current() -> None:
    assert page() == CLI, "`make docs` writes docs/cli.md"


@pytest.mark.parametrize(("name", "command"), sorted(commands(), key=lambda pair: pair[0]))
def test_every_command_says_what_it_does_and_shows_an_example(name: str, command: Command) -> None:
    assert command.help
    assert f"Examples:\n  {name}" in (command.epilog or "")


def test_every_command_is_in_one_section_of_the_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names.split()]
    assert sorted(listed) == sorted(COMMANDS)


def test_every_exit_code_is_described() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", RULES, re.M)}
    assert listed == {code.value for code in Exit}


@pytest.mark.parametrize("variable", sorted(VARIABLES))
def test_every_setting_is_described_as_it_is(variable: str) -> None:
    cls, name = owner(variable)
    row = f"| `{variable}` | {default(variable)} | {DESCRIPTIONS[cls.__name__, name]} |"
    if variable.startswith(NEXT):
        row = f"| `{NEXT}URL`, `{NEXT}...` | as above | {DESCRIPTIONS['Settings', 'next_embedding']} |"
    assert row in SETTINGS.splitlines(), f"docs/settings.md should say:\n{row}"


@pytest.mark.parametrize("variable", sorted(VARIABLES))
def test_every_setting_is_in_the_example_environment(variable: str) -> None:
    lines = re.findall(rf"^# {variable}=(.+)$", EXAMPLE, re.M)
    assert len(lines) == 1
    given = default(variable)
    assert given in {"none", "per user"} or lines[0].strip('"') == given.strip("`").replace(
        "\\|", "|"
    )


def test_no_setting_is_named_that_is_not_there() -> None:
    for text in (SETTINGS, EXAMPLE, CLI, RULES):
        named = set(re.findall(r"LIGHTWELL_[A-Z0-9_]*[A-Z]", text))
        assert {name for name in named if not name.startswith("LIGHTWELL_SOURCE")} <= {
            *VARIABLES,
            NEXT.removesuffix("_"),
        }


def test_the_example_environment_can_be_used_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / ".env").write_text(re.sub(r"^# (?=LIGHTWELL_)", "", EXAMPLE, flags=re.M))
    monkeypatch.chdir(tmp_path)
    assert Settings().database_url is not None


def default(variable: str) -> str:
    cls, name = owner(variable)
    if cls.model_fields[name].default_factory is not None:
        return "per user"
    value = cast("object", cls.model_fields[name].default)
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    if isinstance(plain, bool):
        return f"`{str(plain).lower()}`"
    return "none" if plain is None or plain == "" else f"`{plain}`".replace("|", "\\|")


PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").rglob("*.md")),
]
TOLD = [*PAGES, *(ROOT / "src").rglob("*.py")]
FROM_A_REGISTRY = re.compile(r"(?:install|upgrade|uvx)\b[^\n`]*?[ '\"]lightwell\b(?!-)")


def test_nobody_is_told_to_install_a_name_that_is_not_ours() -> None:
    """No registry has `lightwell`: whoever takes the name there would be installed."""
    said = "pip install 'lightwell[otel]'", "uv tool upgrade lightwell", "pipx install lightwell"
    assert all(FROM_A_REGISTRY.search(each) for each in said)
    assert not FROM_A_REGISTRY.search("`uv tool install .` puts `lightwell` on your PATH")
    for path in TOLD:
        assert not (match := FROM_A_REGISTRY.search(path.read_text("utf-8"))), (path, match)


def anchors(path: Path) -> set[str]:
    """Return the names that links give to the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        name, _, anchor = link.partition("#")
        if not re.match(r"\w+:", link):
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link
