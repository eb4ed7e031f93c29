"""`lightwell search` for people, on a real database."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli import main
from lightwell.entrypoints.cli.commands import app
from lightwell.entrypoints.cli.options import SearchMode

PAPER = """---
title: Benefits
author: Ada Okafor
phase: two
---
# Benefits

## Health

Otters get dental care in every plan.

## Retirement

The firm matches four percent of the pension savings of herons.
"""


ASKED = ("search", "pension savings of herons", "--as", "team:us")


@pytest.fixture
def runner(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Return what runs commands on a store that has read the paper."""
    assert main
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benefits.md").write_text(PAPER)
    runner = CliRunner()
    assert runner.invoke(app, ["ingest", str(tmp_path), "--acl", "team:us"]).exit_code == 0
    return runner


def test_search_shows_of_a_passage_what_bears_on_the_question(runner: CliRunner) -> None:
    """Not its first words; and under which heading that stands, though the passage has several sections."""
    shown = runner.invoke(app, ASKED)
    row = shown.stdout.splitlines()[1]
    assert "Benefits  Retirement  The firm matches four percent" in row
    assert "dental" not in shown.stdout


def test_options_say_of_which_documents_one_asks(runner: CliRunner) -> None:
    for options, finds in (
        (["--author", "ada", "--system", "linear", "--system", "file"], True),
        (["--only", "author=Okafor", "--metadata", "phase=two", "--type", "document"], True),
        (["--only", "system=file", "--only", "system=linear"], True),
        (["--tag", "team:us"], True),
        (["--author", "Bob"], False),
        (["--metadata", "phase=one"], False),
        (["--since", "2026-01-01"], False),
    ):
        shown = runner.invoke(app, [*ASKED, *options])
        assert ("four percent" in shown.stdout) is finds, options
    for wrong in (["--since", "May"], ["--metadata", "phase"], ["--only", "colour=red"]):
        refused = runner.invoke(app, [*ASKED, *wrong])
        assert refused.exit_code == 2, wrong
        assert f"Invalid value for {wrong[0]}:" in refused.stderr, wrong
    chat = ["chat", "Who matches pension savings?", "--as", "team:us"]
    assert "four percent" in runner.invoke(app, chat).stdout
    assert "four percent" not in runner.invoke(app, [*chat, "--author", "Bob"]).stdout


def test_no_help_offers_a_mode_that_is_refused() -> None:
    assert main
    assert {each.mode for each in SearchMode} == set(Mode) - {Mode.BYPASS}
    runner = CliRunner()
    for command in ("search", "eval"):
        assert "bypass" not in runner.invoke(app, [command, "--help"]).stdout
    assert "bypass" in runner.invoke(app, ["ask", "--help"]).stdout
