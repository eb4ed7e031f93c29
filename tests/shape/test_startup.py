"""The command line starts fast: help imports no library that only work needs."""

import subprocess
import sys

import pytest
import typer
from typer.core import TyperGroup

from lightwell.entrypoints.cli.commands import COMMANDS, app

_FOR_WORK = {
    "lightwell.knowledge_base",
    "lightwell.wiring",
    "numpy",
    "onnxruntime",
    "fastapi",
    "openai",
    "psycopg",
    "structlog",
    "xlsxwriter",
}
_FOR_A_COMMAND = {
    "pydantic_settings",
    "rich",
}  # Typer itself loads pydantic when an option has a value


def imported(*arguments: str) -> set[str]:
    """Return what a process has imported at the end of `lightwell` with these arguments."""
    code = (
        "import sys; from lightwell.entrypoints.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    print(*sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(ended.stderr.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_library_but_typer(option: str) -> None:
    assert imported(option) & (_FOR_WORK | _FOR_A_COMMAND) == set()


@pytest.mark.parametrize("name", ["ask", "ingest", "documents", "graph", "export"])
def test_the_help_of_a_command_imports_nothing_that_work_needs(name: str) -> None:
    assert imported(name, "--help") & _FOR_WORK == set()


def test_a_question_waits_for_no_library_that_only_exports_or_benchmarks_need() -> None:
    code = "import sys, lightwell.wiring, lightwell.models.local; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"xlsxwriter", "scipy", "docx", "openai"} & set(ended.stdout.split()) == set()


def test_a_client_of_a_server_imports_nothing_that_a_store_needs() -> None:
    code = "import sys, lightwell.client; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"psycopg", "numpy", "fastapi", "onnxruntime"} & set(ended.stdout.split()) == set()


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_summary_in_the_list_of_commands_is_that_of_the_command(name: str) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    command = group.get_command(typer.Context(group), name)
    assert command is not None
    assert " ".join((command.help or "").split("\n\n")[0].split()) == COMMANDS[name].summary
