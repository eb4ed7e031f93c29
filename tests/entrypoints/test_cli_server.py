"""Commands against a server on a socket."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from lightwell.domain.document_lists import DocumentFilter
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, serving_in_thread
from tests.entrypoints.program import Ended, run

DISCOUNT = "Nordwind Energie receives a discount of 18 percent on all items."
QUESTION = "What discount does Nordwind Energie receive?"


@dataclass(frozen=True)
class Running:
    url: str
    key: str
    other_key: str
    database_url: str
    document: str


@pytest.fixture(scope="module")
def running(databases: Databases) -> Iterator[Running]:

    async def prepare(site: Site) -> tuple[list[str], str]:
        document = make_document("contract.md", DISCOUNT, ["team:sales"], title="Contract")
        await site.kb.ingestion.ingest(InMemorySource(documents=(document,)))
        keys = [
            await site.key("team:sales", scopes=ALL_BUT_ADMIN),
            await site.key("team:support"),
        ]
        reader = await site.kb.reader(frozenset(("team:sales",)))
        (held,) = await site.kb.documents.list(reader, DocumentFilter(), after="", limit=2)
        return keys, str(held.id)

    with databases.lent() as database_url, serving_in_thread(database_url, prepare) as made:
        url, (keys, document) = made
        yield Running(url, keys[0], keys[1], database_url, document)


def ask(home: Path, running: Running, key: str, *more: str) -> Ended:
    return run(home, "ask", QUESTION, "--server", running.url, *more, LIGHTWELL_API_KEY=key)


def test_a_server_gives_the_cited_answer_that_its_key_may_see(
    running: Running, tmp_path: Path
) -> None:
    answered = ask(tmp_path, running, running.key)
    assert answered.returncode == 0, answered.stderr
    assert DISCOUNT in answered.stdout
    assert "[1] Contract" in answered.stdout
    assert "confidence: " in answered.stdout
    document = json.loads(ask(tmp_path, running, running.key, "--json").stdout)
    assert document["citations"][0]["snippet"] == DISCOUNT
    refused = ask(tmp_path, running, running.other_key)
    assert refused.stdout.startswith("Insufficient evidence")
    assert "Nordwind" not in refused.stdout


def test_a_server_streams(running: Running, tmp_path: Path) -> None:
    streamed = ask(tmp_path, running, running.key, "--stream")
    assert streamed.stdout.startswith(DISCOUNT)
    assert "[1] Contract" in streamed.stdout
    lines = ask(tmp_path, running, running.key, "--stream", "--json").stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines][-1] == "done"


def test_after_a_login_neither_server_nor_key_is_named(running: Running, tmp_path: Path) -> None:
    done = run(tmp_path, "login", f"{running.url}/", stdin=f"{running.key}\n")
    assert done.returncode == 0, done.stderr
    assert running.key not in done.stdout + done.stderr
    saved = tmp_path / "config" / "lightwell" / "logins.json"
    assert saved.stat().st_mode & 0o777 == 0o600
    assert DISCOUNT in run(tmp_path, "ask", QUESTION).stdout
    found = run(tmp_path, "search", QUESTION)
    assert "Contract" in found.stdout
    # Whoever names a reader means the store here, which there is none of.
    assert "no Lightwell store" in run(tmp_path, "ask", QUESTION, "--as", "team:sales").stderr
    assert run(tmp_path, "logout", running.url).returncode == 0
    assert "no Lightwell store" in run(tmp_path, "ask", QUESTION).stderr
    assert run(tmp_path, "logout", running.url).returncode == 3


def test_documents_jobs_and_the_graph_of_a_server(running: Running, tmp_path: Path) -> None:
    def there(*arguments: str) -> Ended:
        return run(tmp_path, *arguments, "--server", running.url, LIGHTWELL_API_KEY=running.key)

    (tmp_path / "osprey.txt").write_text("Osprey Plant receives 24 pumps from Hebden Works.")
    added = there("documents", "add", "osprey.txt", "--acl", "team:sales", "--title", "Osprey")
    assert added.returncode == 0, added.stderr
    assert "1 passage ingested; job" in added.stdout
    assert "100%" in added.stderr
    (document,) = json.loads(there("documents", "list", "--title", "osprey", "--json").stdout)[
        "documents"
    ]
    name = document["documentId"]
    assert "Osprey" in there("documents", "list").stdout
    assert "24 pumps" in there("documents", "show", name, "--text").stdout
    assert "access" in there("documents", "tags", name, "team:sales").stdout
    (job,) = json.loads(there("jobs", "list", "--document", name, "--json").stdout)["jobs"]
    assert there("jobs", "wait", job["jobId"]).returncode == 0
    assert "complete" in there("jobs", "show", job["jobId"]).stdout
    assert there("jobs", "cancel", job["jobId"]).returncode != 0
    refused = there("documents", "fetch", "http://127.0.0.1:1/x", "--acl", "team:sales")
    assert refused.returncode != 0
    assert "Osprey Plant" in there("graph", "list").stdout
    assert "Hebden Works" in there("graph", "neighbourhood", "Osprey Plant").stdout
    assert "sources" in json.loads(there("graph", "show", "Osprey Plant", "--json").stdout)
    assert "no such links" in there("links", "list").stdout
    assert "1 deleted" in there("documents", "delete", name, "--yes").stdout
    assert there("documents", "show", name).returncode == 3
    by_url = there("documents", "show", "https://example.org/a")
    assert "by reference or id" in by_url.stderr


def test_passages_of_a_server_are_replaced_with_one_s_own(running: Running, tmp_path: Path) -> None:
    def there(*arguments: str) -> Ended:
        return run(tmp_path, *arguments, "--server", running.url, LIGHTWELL_API_KEY=running.key)

    (tmp_path / "kestrel.txt").write_text("Kestrel Plant receives 24 valves.")
    added = there("documents", "add", "kestrel.txt", "--acl", "team:sales", "--json")
    name = json.loads(added.stdout)["documentId"]
    (tmp_path / "own.json").write_text(
        json.dumps([{"content": "Kestrel Plant receives 25 valves from Hebden Works. " * 12}])
    )
    replaced = there("documents", "replace", name, "own.json")
    assert "1 passage ingested; job" in replaced.stdout, replaced.stderr
    assert "25 valves" in there("documents", "passages", name).stdout
    refused = there("documents", "replace", name, "own.json", "--as", "team:sales")
    assert "leave one out" in refused.stderr
    assert there("documents", "delete", name, "--yes").returncode == 0


def test_a_command_that_needs_a_server_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text.")
    missing = run(tmp_path, "documents", "add", "a.txt", "--server", "http://127.0.0.1:1")
    assert missing.returncode == 3
    assert "Traceback" not in missing.stderr


def test_a_server_chats(running: Running, tmp_path: Path) -> None:
    def chat(*arguments: str, stdin: str = "", key: str = running.key) -> Ended:
        there = ("--server", running.url)
        return run(tmp_path, "chat", *arguments, *there, stdin=stdin, LIGHTWELL_API_KEY=key)

    first = json.loads(chat(QUESTION, "--json").stdout)
    assert "18 percent" in first["response"]
    assert first["sources"][0]["source"] == "contract.md"
    again = chat(QUESTION, "--conversation", first["conversationId"])
    assert DISCOUNT in again.stdout
    assert again.stdout.endswith(f"conversation: {first['conversationId']}\n")
    piped = chat(stdin=f"{QUESTION}\n\nThank you\n")
    assert DISCOUNT in piped.stdout
    assert "conversation: " in piped.stdout
    other = chat(QUESTION, key=running.other_key)
    assert "Nordwind" not in other.stdout
    strange = chat(QUESTION, "--conversation", first["conversationId"], key=running.other_key)
    assert strange.returncode == 3


@pytest.mark.parametrize("said", [QUESTION, "Who won the regatta of Kiel?", "hello"])
def test_a_server_chats_as_the_store_here_does(running: Running, tmp_path: Path, said: str) -> None:
    own = run(
        tmp_path, "chat", said, "--as", "team:sales", LIGHTWELL_DATABASE_URL=running.database_url
    )
    sent = run(tmp_path, "chat", said, "--server", running.url, LIGHTWELL_API_KEY=running.key)
    *here, _ = own.stdout.splitlines()  # the last line names the conversation
    *there, _ = sent.stdout.splitlines()
    assert here == there
    if said == QUESTION:
        assert "[1] Contract" in own.stdout


def test_the_output_is_that_of_the_store_here(running: Running, tmp_path: Path) -> None:
    here = {"LIGHTWELL_DATABASE_URL": running.database_url}
    there = {"LIGHTWELL_API_KEY": running.key}
    for command in (
        ("documents", "list"),
        ("documents", "show", running.document),
        ("documents", "passages", running.document),
        ("documents", "passages", running.document, "--limit", "1", "--after", "1"),
        ("jobs", "list"),
        ("graph", "list"),
        ("graph", "show", "Nordwind Energie"),
        ("graph", "relations"),
        ("graph", "neighbourhood", "Nordwind Energie"),
        ("graph", "merges"),
        ("graph", "proposals"),
        ("links", "list"),
    ):
        for form in ((), ("--json",)):
            own = run(tmp_path, *command, *form, "--as", "team:sales", **here)
            sent = run(tmp_path, *command, *form, "--server", running.url, **there)
            assert sent.returncode == own.returncode == 0, sent.stderr + own.stderr
            assert sent.stdout == own.stdout, command


def test_statements_and_briefs_of_a_server_are_those_of_the_store_here(
    running: Running, tmp_path: Path
) -> None:
    for command in (("ask", QUESTION, "--statements"), ("brief", "Nordwind Energie")):
        own = run(
            tmp_path, *command, "--as", "team:sales", LIGHTWELL_DATABASE_URL=running.database_url
        )
        sent = run(tmp_path, *command, "--server", running.url, LIGHTWELL_API_KEY=running.key)
        assert sent.returncode == own.returncode == 0, sent.stderr + own.stderr
        assert DISCOUNT in sent.stdout
        assert sent.stdout == own.stdout, command
        hidden = run(
            tmp_path, *command, "--server", running.url, LIGHTWELL_API_KEY=running.other_key
        )
        assert "18 percent" not in hidden.stdout


def test_feedback_and_analytics_of_a_server(running: Running, tmp_path: Path) -> None:
    def there(*arguments: str) -> dict[str, Any]:
        key = {"LIGHTWELL_API_KEY": running.key}
        ended = run(tmp_path, *arguments, "--json", "--server", running.url, **key)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    session = there("analytics", "begin")["sessionId"]
    query = there("ask", QUESTION, "--session", session)["queryId"]
    given = there("feedback", query, "4", "--comment", "good")
    assert there("analytics", "feedback")["feedback"] == [given]
    (asked,) = there("analytics", "queries", "--session", session)["queries"]
    assert (asked["queryId"], asked["rating"]) == (query, 4.0)
    assert there("analytics", "summary", "--session", session)["queries"] == 1
    assert there("analytics", "end", session)["queries"] == 1
    page = there("analytics", "sessions", "--limit", "1")
    assert page["sessions"][0]["sessionId"] == page["nextAfter"] or page["nextAfter"] is None
    key = {"LIGHTWELL_API_KEY": running.key}
    shown = run(tmp_path, "analytics", "queries", "--server", running.url, **key)
    assert query in shown.stdout


def test_the_graph_of_a_server_is_edited(running: Running, tmp_path: Path) -> None:
    def there(*arguments: str) -> dict[str, Any]:
        key = {"LIGHTWELL_API_KEY": running.key}
        ended = run(tmp_path, "graph", *arguments, "--json", "--server", running.url, **key)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    made = there("create", "Tarn Valley", "--kind", "site", "--acl", "team:sales")
    named = there("rename", "Tarn Valley", "Tarn Dam", "--acl", "team:sales")
    assert (named["entityName"], named["previousEntityRef"]) == ("Tarn Dam", made["entityRef"])
    there("describe", "Tarn Dam", "--description", "A dam.", "--acl", "team:sales")
    related = there("relate", "Tarn Dam", "Nordwind Energie", "--acl", "team:sales")
    assert related["predicate"] == "RELATED_TO"
    assert there("unrelate", "Tarn Dam", "Nordwind Energie")["hidden"]["source"] == "Tarn Dam"
    assert there("hide", "Tarn Dam", "--yes")["hidden"]["description"] == "A dam."
    split = there(
        "split", "Nordwind Energie", "--into", "Nordwind Oslo", "--document", running.document
    )
    (listed,) = there("splits")["splits"]
    assert (listed["splitId"], listed["part"]) == (split["splitId"], "Nordwind Oslo")
    whole = there("unsplit", split["splitId"])["entities"]
    assert "Nordwind Energie" in [each["entityName"] for each in whole]
    assert len(there("hide-entities", "Nordwind Energie", "--yes")["hidden"]) == 1
    assert there("unhide", "Nordwind Energie")["entityName"] == "Nordwind Energie"


def test_a_limit_beyond_the_interface_is_explained(running: Running, tmp_path: Path) -> None:
    key = {"LIGHTWELL_API_KEY": running.key}
    long = run(tmp_path, "links", "list", "--about", "a" * 401, "--server", running.url, **key)
    assert (long.returncode, "about: " in long.stderr) == (2, True)


def test_a_wrong_key_is_not_saved(running: Running, tmp_path: Path) -> None:
    refused = run(tmp_path, "login", running.url, stdin="lw_wrong\n")
    assert refused.returncode != 0
    assert "valid API key" in refused.stderr
    assert not (tmp_path / "config").exists()


class Stranger(BaseHTTPRequestHandler):
    """Answers everything, and is no Lightwell server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "fine"}')

    def log_message(self, format: str, *args: object) -> None:
        return


def test_a_key_for_what_is_no_lightwell_server_is_not_saved(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            refused = run(tmp_path, "login", url, stdin="lw_key\n")
        finally:
            server.shutdown()
            thread.join()
    assert refused.returncode == 4
    assert "has not the form" in refused.stderr
    assert not (tmp_path / "config").exists()


def test_what_a_key_lacks_is_explained_by_another_key(running: Running, tmp_path: Path) -> None:
    sources = ("sources", "list", "--server", running.url)
    refused = run(tmp_path, *sources, LIGHTWELL_API_KEY=running.other_key)
    assert refused.returncode == 4
    assert "scope" in refused.stderr
    assert "saves another key" in refused.stderr
    assert "doctor" not in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--server", "ftp://x"), "begins with http://"),
        (("--server", "http://x", "--as", "team:us"), "leave one out"),
        (("--server", "http://127.0.0.1:9"), "lightwell login http://127.0.0.1:9"),
    ],
)
def test_a_server_that_cannot_be_asked_is_explained(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    ended = run(tmp_path, "ask", QUESTION, *arguments)
    assert ended.returncode in (2, 3)
    assert message in " ".join(ended.stderr.split())


def test_a_file_of_logins_that_cannot_be_read_shows_no_key(tmp_path: Path) -> None:
    path = tmp_path / "config" / "lightwell" / "logins.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"keys": {"http://x": "lw_secret", }')
    ended = run(tmp_path, "ask", QUESTION)
    assert ended.returncode == 2
    assert "logins.json" in ended.stderr
    assert "secret" not in ended.stderr
