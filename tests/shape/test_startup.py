"""The command line starts fast: a command imports what it needs. These counts are its cost, whatever the machine."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import UnixStreamServer

import pytest
import typer
from typer.core import TyperGroup

from lightwell.entrypoints.cli.commands import COMMANDS, app
from lightwell.entrypoints.owner_door import door_path
from lightwell.settings import Settings
from lightwell.testing.server import temporary_folder

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
_FOR_TEXT = {"nupunkt", "Stemmer", "tokenizers", "spellchecker", "selectolax", "stamina"}


def imported(*arguments: str, **settings: str) -> set[str]:
    """Return what a process has imported at the end of `lightwell` with these arguments."""
    code = (
        "import sys; from lightwell.entrypoints.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code; print('modules:', *sys.modules, file=sys.stderr)"
    )
    inherited = {name: text for name, text in os.environ.items() if "LIGHTWELL" not in name}
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=inherited | settings,
    )
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.partition("modules:")[2].split())


def own(modules: set[str]) -> int:
    return sum(name.partition(".")[0] == "lightwell" for name in modules)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_library_but_typer(option: str) -> None:
    modules = imported(option)
    assert modules & (_FOR_WORK | _FOR_A_COMMAND | _FOR_TEXT) == set()
    assert own(modules) <= 4


@pytest.mark.parametrize("name", ["ask", "ingest", "documents", "graph", "export"])
def test_the_help_of_a_command_imports_nothing_that_work_needs(name: str) -> None:
    assert imported(name, "--help") & _FOR_WORK == set()


ANSWER: Mapping[str, object] = {
    "queryId": "019f0000-0000-7000-8000-000000000000",
    "query": "?",
    "answer": "",
    "state": "insufficient",
    "context": [],
    "sentences": [],
    "confidence": "insufficient",
    "relevance": 0.0,
    "model": "extracts",
    "citations": [],
    "nearest": [],
    "missingWords": [],
    "notes": [],
    "unsupported": [],
    "ambiguousNames": [],
    "filters": [],
    "metadata": {
        "queryId": "019f0000-0000-7000-8000-000000000000",
        "totalTokens": 0,
        "citationCount": 0,
        "confidence": "insufficient",
        "vectorResultCount": 0,
        "graphResultCount": 0,
        "latencyMs": 1,
    },
    "usage": {
        "calls": 0,
        "totalInputTokens": 0,
        "totalOutputTokens": 0,
        "totalDurationMs": 0,
        "byOperationType": {},
    },
}
DOCUMENTS: Mapping[str, object] = {"documents": [], "nextAfter": None}


class _Reply(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(ANSWER)

    def do_GET(self) -> None:
        self._send(DOCUMENTS)

    def _send(self, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "a command"

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def running(server: HTTPServer | UnixStreamServer) -> Generator[None]:
    """Answer in a thread: an answer to what is posted, a list of documents to what is got."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("command", "most"),
    [(("ask", "?"), 58), (("ask", "?", "--json"), 58), (("documents", "list"), 66)],
    ids=["ask", "ask as JSON", "documents"],
)
def test_a_command_that_a_server_answers_imports_nothing_that_a_store_needs(
    command: tuple[str, ...], most: int
) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Reply)
    with running(server):
        url = f"http://127.0.0.1:{server.server_port}"
        modules = imported(*command, "--server", url, LIGHTWELL_API_KEY="lw_x")
    assert modules & (_FOR_WORK | _FOR_TEXT) == set()
    assert own(modules) <= most


@pytest.mark.parametrize(
    ("command", "most"), [(("ask", "?"), 56), (("documents", "list"), 64)], ids=["ask", "documents"]
)
def test_a_command_beside_a_server_imports_no_client_either(
    command: tuple[str, ...], most: int
) -> None:
    with temporary_folder() as folder:
        path = door_path(Settings(data=folder))
        assert path is not None
        server = UnixStreamServer(str(path), _Reply)
        path.chmod(0o600)
        with running(server):
            modules = imported(*command, "--as", "team:a", LIGHTWELL_DATA=str(folder))
    assert modules & (_FOR_WORK | _FOR_TEXT | {"httpx", "httpcore", "anyio"}) == set()
    assert own(modules) <= most


def test_keys_need_a_database_and_no_model(database_url: str) -> None:
    url = {"LIGHTWELL_DATABASE_URL": database_url}
    modules = imported("keys", "create", "one", "--acl", "team:a", **url)
    assert (
        modules
        & (
            (_FOR_WORK | _FOR_TEXT)
            - {"lightwell.knowledge_base", "lightwell.wiring", "psycopg", "structlog"}
        )
        == set()
    )
    assert own(modules) <= 62


def test_a_question_waits_for_no_library_that_only_others_need(database_url: str) -> None:
    """Exports, benchmarks, web pages, business systems, merges: none is loaded for a question."""
    url = {"LIGHTWELL_DATABASE_URL": database_url}
    modules = imported("ask", "Who?", "--as", "team:a", **url)
    others = {"xlsxwriter", "scipy", "docx", "openai", "httpx", "rapidfuzz", "yaml", "selectolax"}
    assert modules & (others | {"fastapi", "stamina"}) == set()
    assert own(modules) <= 262


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
