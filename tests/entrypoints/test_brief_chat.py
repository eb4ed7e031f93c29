"""`lightwell brief`, `chat` and `conversations`, from their words to their exit codes, on a real database."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest
from typer.testing import CliRunner, Result

from lightwell.entrypoints.cli import main
from lightwell.entrypoints.cli.commands import app
from lightwell.retrieve.rerank import UNANSWERED

Run = Callable[..., Result]
Json = Mapping[str, object]


@pytest.fixture
def run(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command as team:us, with three papers read."""
    assert main
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "2026-03-01-a.md").write_text(
        "Nordwind Energie is a utility in Lübeck. Dr. Katrin Albers decides for Nordwind Energie.\n"
    )
    (tmp_path / "2026-02-01-b.md").write_text("The offer to Nordwind Energie is overdue.\n")
    (tmp_path / "c.md").write_text("Nordwind Logistik drives lorries. The dam was built in 1931.\n")
    runner = CliRunner()

    def run(*words: str, who: str = "team:us", typed: str | None = None) -> Result:
        asks = ["--as", who] if words[0] != "ingest" else []
        return runner.invoke(app, [*words, *asks], input=typed)

    assert run("ingest", str(tmp_path), "--acl", "team:us").exit_code == 0
    return run


def said(result: Result) -> Json:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def each(document: Json, key: str) -> Sequence[Json]:
    return cast("Sequence[Json]", document[key])


def test_a_brief_for_people_and_for_programs(run: Run) -> None:
    text = run("brief", "Nordwind Energie").stdout
    for part in ("What it is", "Open", "People", "[1]", "confidence: "):
        assert part in text
    assert "2026-02-01  The offer to Nordwind Energie is overdue. [3]" in text
    document = said(run("brief", "Nordwind Energie", "--json"))
    assert [line["text"] for line in each(document, "about")] == [
        "Nordwind Energie is a utility in Lübeck."
    ]
    assert set(document) == {
        "queryId",
        "entity",
        "about",
        "lately",
        "openPoints",
        "people",
        "links",
        "citations",
        "confidence",
        "relevance",
        "model",
        "notes",
        "usage",
    }
    line = each(document, "openPoints")[0]
    assert line["date"] == "2026-02-01"
    assert each(line, "citations")[0]["snippet"] == line["text"]
    assert len(each(document, "citations")) == 3


@pytest.mark.parametrize("command", ["ask", "search", "chat"])
def test_a_question_with_an_ambiguous_name_shows_the_candidates(run: Run, command: str) -> None:
    text = run(command, "What does Nordwind do?").stdout
    (line,) = [line for line in text.splitlines() if "may mean 2 different entities:" in line]
    assert line == (
        "'Nordwind' may mean 2 different entities: Nordwind Energie, Nordwind Logistik. "
        "Ask again with the full name of one; `lightwell brief 'Nordwind'` lists them."
    )
    (several,) = each(said(run(command, "What does Nordwind do?", "--json")), "ambiguousNames")
    assert several["name"] == "Nordwind"
    assert {one["entityName"] for one in each(several, "candidates")} == {
        "Nordwind Energie",
        "Nordwind Logistik",
    }
    assert all(one["entityRef"] and one["distinguishing"] for one in each(several, "candidates"))


def test_a_pick_list_and_a_pick(run: Run) -> None:
    text = run("brief", "nordwind").stdout
    assert "may mean 2 different entities." in text
    assert "passages: 2" in text
    found = each(said(run("brief", "nordwind", "--json")), "candidates")
    assert [one["entityName"] for one in found] == ["Nordwind Energie", "Nordwind Logistik"]
    picked = said(run("brief", str(found[1]["entityRef"]), "--json"))
    assert cast("Json", picked["entity"])["entityName"] == "Nordwind Logistik"
    assert run("brief", "Nowhere").exit_code == 3
    assert run("brief", "Nordwind Energie", who="team:them").exit_code == 3
    assert run("brief", "Nordwind Energie", who="no body").exit_code == 2


def test_a_conversation_from_its_first_word_to_its_end(run: Run) -> None:
    first = said(run("chat", "When was the dam built?", "--json"))
    assert "1931" in str(first["response"])
    assert each(first, "sources")[0]["source"] == "c.md"
    own = str(first["conversationId"])
    again = run("chat", "Is Nordwind Energie a utility?", "--conversation", own)
    assert "utility" in again.stdout
    assert f"conversation: {own}" in again.stdout
    assert again.stdout.endswith(
        f"\n[1] 2026-03-01-a\n    2026-03-01-a.md\n\nconversation: {own}\n"
    )
    asked = ("chat", "Is Nordwind Energie a utility?", "--conversation", own)
    context = run(*asked, "--context").stdout
    assert "2026-03-01-a.md\n    Nordwind Energie is a utility in Lübeck." in context
    listed = run("conversations", "list").stdout
    assert own in listed
    assert "When was the dam built?" in listed
    (held,) = each(said(run("conversations", "list", "--json")), "conversations")
    assert held["messages"] == 6
    shown = run("conversations", "show", own).stdout
    assert shown.startswith("user: When was the dam built?\nassistant: ")
    assert len(each(said(run("conversations", "show", own, "--json")), "messages")) == 6
    for command in ("show", "forget"):
        assert run("conversations", command, own, *yes(command), who="team:them").exit_code == 3
    assert run("chat", "And?", "--conversation", own, who="team:them").exit_code == 3
    assert run("conversations", "forget", own).exit_code == 2
    assert (
        run("conversations", "forget", own, "--yes").stdout == f"Deleted the conversation {own}.\n"
    )
    assert run("conversations", "list").stdout == "You have no conversations.\n"


def yes(command: str) -> list[str]:
    return ["--yes"] if command == "forget" else []


def test_a_pipe_is_answered_line_by_line(run: Run) -> None:
    given = run("chat", typed="When was the dam built?\n\nWho won the regatta?\n")
    assert given.exit_code == 0
    assert "1931" in given.stdout
    refused = "I don't have information about that in the available documents.\n"
    assert f"{refused}Nearest: c: Nordwind Logistik drives lorries." in given.stdout
    (held,) = each(said(run("conversations", "list", "--json")), "conversations")
    assert held["messages"] == 4
    assert str(held["conversationId"]) in given.stdout
    whole = run("chat", "Who won the regatta?", "--nearest").stdout
    assert whole.startswith(f"{refused}\nPossibly relevant:\n\n  c\n    c.md\n    Nordwind")
    assert run("chat", typed="").stdout == "No message was sent.\n"


def test_what_did_not_go_as_it_should_is_told_beside_the_response(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTWELL_RERANK", "endpoint")
    monkeypatch.setenv("LIGHTWELL_RERANK_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("LIGHTWELL_RERANK_MODEL", "owl-rank")
    given = run("chat", "When was the dam built?", "--json")
    assert given.stderr.endswith(f"Note: {UNANSWERED}\n")
    assert set(said(given)) == {
        *("conversationId", "queryId", "response", "messages", "sources", "model"),
        *("state", "confidence", "relevance", "threshold", "filters"),
        *("totalDuration", "promptEvalCount", "evalCount", "ambiguousNames"),
    }


def test_wrong_words_end_with_their_exit_code(run: Run) -> None:
    assert run("chat", "--json").exit_code == 2
    assert run("chat", "  ").exit_code == 2
    assert run("chat", "Who?", "--mode", "magic").exit_code == 2
    assert run("chat", "Who?", "--conversation", "the last one").exit_code == 3
    assert run("conversations", "show", "the last one").exit_code == 3
