"""Jobs, runs, feedback and analytics on the command line: rows S2.2, S3.4 and S3.8."""

import json
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from lightwell.entrypoints.cli import app

ASKED = "When was the dam built?"


def ran(*words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--as", "team:us,user:ada"])


def told(*words: str) -> dict[str, object]:
    given = ran(*words, "--json")
    assert given.exit_code == 0, given.stderr
    return cast("dict[str, object]", json.loads(given.stdout))


@pytest.fixture
def folder(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIGHTWELL_DATABASE_URL", database_url)
    monkeypatch.setenv("LIGHTWELL_DATA", str(tmp_path / "data"))
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "dam.md").write_text("The dam in Tarn Valley was built in 1931.")
    return papers


def ingested(folder: Path, *words: str) -> dict[str, object]:
    told = CliRunner().invoke(app, ["ingest", str(folder), "--acl", "team:us", *words, "--json"])
    assert told.exit_code == 0, told.stderr
    return cast("dict[str, object]", json.loads(told.stdout))


def test_jobs_and_runs(folder: Path) -> None:
    (queued,) = cast("list[dict[str, str]]", ingested(folder, "--no-wait")["jobs"])
    job = queued["jobId"]
    shown = told("jobs", "show", job)
    assert (shown["status"], shown["progress"], shown["currentStep"]) == ("queued", 0, "")
    assert shown["documentUrl"] == queued["documentUrl"]
    cancelled = told("jobs", "cancel", job)
    assert (cancelled["status"], cancelled["jobState"]) == ("failed", "cancelled")
    assert ran("jobs", "cancel", job).exit_code == 2
    assert told("jobs", "retry", job)["status"] == "queued"
    ingested(folder)
    listed = cast("list[dict[str, object]]", told("jobs", "list")["jobs"])
    assert [row["progress"] for row in listed if row["jobId"] == job] == [100]
    assert "100%" in ran("jobs", "list", "--document", str(folder / "dam.md")).stdout
    assert told("jobs", "list", "--state", "failed") == {"jobs": []}
    assert ran("jobs", "show", str(uuid4())).exit_code == 3
    runs = cast("list[dict[str, object]]", told("runs", "list")["runs"])
    assert runs[-1]["counts"] == {"inserted": 1, "updated": 0, "deleted": 0, "failed": 0}
    assert told("runs", "show", str(runs[-1]["runId"])) == runs[-1]
    assert folder.as_uri() in ran("runs", "list").stdout
    (cursor,) = cast("list[dict[str, str]]", told("runs", "cursors")["cursors"])
    assert cursor["cursorKey"] == folder.as_uri()


def test_feedback_and_analytics(folder: Path) -> None:
    ingested(folder)
    session = str(told("analytics", "begin")["sessionId"])
    query = str(told("ask", ASKED, "--session", session)["queryId"])
    other = str(told("search", ASKED)["queryId"])
    given = told("feedback", query, "5", "--comment", "Right.")
    assert (given["rating"], given["comment"]) == (5, "Right.")
    assert told("analytics", "feedback")["feedback"] == [given]
    assert "Right." in ran("analytics", "feedback").stdout
    assert ran("feedback", query, "9").exit_code == 2
    assert ran("feedback", str(uuid4()), "3").exit_code == 3
    logged = cast("list[dict[str, object]]", told("analytics", "queries")["queries"])
    assert [entry["queryId"] for entry in logged] == [other, query]
    assert [entry["rating"] for entry in logged] == [None, 5.0]
    assert told("analytics", "summary", "--session", session)["queries"] == 1
    assert "95th percentile" in ran("analytics", "summary").stdout
    assert told("analytics", "end", session)["queries"] == 1
    assert ran("ask", ASKED, "--session", session).exit_code == 3
    assert ran("ask", ASKED, "--session", session, "--statements").exit_code == 2
    assert session in ran("analytics", "sessions").stdout


def test_documents_are_added_and_their_chunks_replaced(folder: Path) -> None:
    """S3.6 and S3.9 on the command line."""
    path = folder / "notes.dat"
    path.write_text("The dam in Tarn Valley was built in 1931.")
    options = ("--format", "text", "--title", "Dam", "--metadata", "customer=Nordwind")
    given = CliRunner().invoke(
        app, ["documents", "add", str(path), "--acl", "team:us", *options, "--json"]
    )
    assert given.exit_code == 0, given.stderr
    answer = json.loads(given.stdout)
    assert (answer["status"], answer["estimatedChunks"]) == ("queued", 1)
    assert told("jobs", "show", answer["jobId"])["status"] == "complete"
    shown = told("documents", "show", str(path))
    assert (shown["title"], shown["metadata"]) == ("Dam", {"customer": "Nordwind"})
    chunks = folder / "chunks.json"
    text = " ".join(f"Pump {n} moves {n} litres of water out of the valley." for n in range(20))
    chunks.write_text(json.dumps([{"content": text, "sectionPath": ["Pumps"]}]))
    assert told("documents", "replace", str(path), str(chunks))["estimatedChunks"] == 1
    assert text in ran("documents", "show", str(path), "--text").stdout.replace("\n", " ")
    chunks.write_text(json.dumps([{"content": "x"}]))
    refused = ran("documents", "replace", str(path), str(chunks))
    assert refused.exit_code == 2
    assert "Chunk must be 100-2000 tokens" in refused.stderr
    chunks.write_text("{}")
    assert ran("documents", "replace", str(path), str(chunks)).exit_code == 2
    for wrong in (("--metadata", "x"), ("--format", "rtf")):
        assert CliRunner().invoke(app, ["documents", "add", str(path), *wrong]).exit_code == 2
