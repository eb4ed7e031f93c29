"""What a model costs, on the command line: said before, said after, and stopped in between."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from lightwell.stores.embedded.server import run_server
from lightwell.testing.endpoint import Body, FakeEndpoint
from tests.entrypoints import program
from tests.flow.extraction_model import content, names


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lightwell-costs-"))
    folder.chmod(0o755)
    (folder / "papers").mkdir()
    for number in range(6):
        text = f"# Order {number}\n\nAcme Corp buys Pump {number} from Nordwind.\n"
        (folder / "papers" / f"{number}.md").write_text(text)
    with run_server(folder / "data"):
        yield folder
    rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FakeEndpoint]:
    def reply(body: Body) -> str:
        if "Several passages" in content(body, 0):
            return "One firm."
        is_question = not content(body, 1).startswith("~")
        return "Acme Corp buys Pump 1 from Nordwind [1]." if is_question else names(body)

    with FakeEndpoint(reply).running() as running:
        yield running


def run(home: Path, endpoint: FakeEndpoint, *arguments: str) -> program.Ended:
    return program.run(
        home,
        *arguments,
        "--json",
        LIGHTWELL_CHAT_URL=endpoint.base_url,
        LIGHTWELL_CHAT_MODEL="reader",
        LIGHTWELL_CHAT_PRICE_INPUT="1000",
        LIGHTWELL_CHAT_PRICE_OUTPUT="2000",
        LIGHTWELL_EXTRACTION="model",
    )


@pytest.fixture
def read(home: Path, endpoint: FakeEndpoint) -> None:
    """See to it that the papers are in, whichever test comes first."""
    assert run(home, endpoint, "ingest", "papers", "--acl", "team:us").returncode == 0


def test_costs_are_estimated_kept_to_and_said(home: Path, endpoint: FakeEndpoint) -> None:
    ingest = ("ingest", "papers", "--acl", "team:us")
    before = json.loads(run(home, endpoint, *ingest, "--estimate").stdout)
    assert (before["documents"], before["chunks"], before["kept"]) == (6, 6, 0)
    assert before["price"] == pytest.approx(
        (before["inputTokens"] + 2 * before["outputTokens"]) / 1000
    )
    assert endpoint.requests == []
    stopped = run(home, endpoint, *ingest, "--budget", "2500")
    assert stopped.returncode == 1
    error, hint = stopped.stderr.strip().splitlines()[-1], stopped.stderr
    assert json.loads(error)["code"] == "budget_spent", hint
    paid = len(endpoint.requests)
    assert 0 < paid < 6

    done = json.loads(run(home, endpoint, *ingest).stdout)
    assert done["usage"]["calls"] == 6 - paid == len(endpoint.requests) - paid
    assert done["usage"]["byOperationType"].keys() == {"INGESTION"}
    assert done["usage"]["price"] > 0

    copy = home / "papers" / "6.md"
    copy.write_text("# Order 1\n\nAcme Corp buys Pump 1 from Nordwind.\n")
    copied = json.loads(run(home, endpoint, *ingest, "--estimate").stdout)
    copy.unlink()
    assert (copied["documents"], copied["kept"], copied["calls"]) == (1, 1, 0)


@pytest.mark.usefixtures("read")
def test_reading_anew_costs_what_is_not_kept(home: Path, endpoint: FakeEndpoint) -> None:
    again = ("documents", "reread", "--all", "--as", "team:us")
    estimated = json.loads(run(home, endpoint, *again, "--estimate").stdout)
    assert (estimated["documents"], estimated["kept"], estimated["calls"]) == (6, 6, 0)
    asked = len(endpoint.requests)
    done = json.loads(run(home, endpoint, *again).stdout)
    assert (done["read"], done["failed"], done["usage"]["calls"]) == (6, [], 0)
    assert len(endpoint.requests) == asked
    one = run(home, endpoint, "documents", "reread", "papers/1.md", "--as", "team:us", "--no-wait")
    assert json.loads(one.stdout) == {"waiting": 1}
    for wrong in (again[:2], (*again, "papers/1.md")):
        assert run(home, endpoint, *wrong).returncode == 2


@pytest.mark.usefixtures("read")
def test_a_question_says_what_it_cost(home: Path, endpoint: FakeEndpoint) -> None:
    asked = json.loads(
        run(home, endpoint, "ask", "What does Acme Corp buy?", "--as", "team:us").stdout
    )
    assert asked["usage"]["calls"] == 2
    assert asked["usage"]["byOperationType"].keys() == {"KEYWORD_EXTRACTION", "QUERY"}


@pytest.mark.usefixtures("read")
@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        (("search", "What does Acme Corp order?"), {"KEYWORD_EXTRACTION"}),
        (("brief", "Acme Corp"), {"QUERY"}),
        (("chat", "What did Acme Corp order?"), {"KEYWORD_EXTRACTION", "QUERY"}),
    ],
)
def test_s1_1_every_command_that_asks_a_model_says_what_it_cost(
    home: Path, endpoint: FakeEndpoint, command: tuple[str, ...], kinds: set[str]
) -> None:
    told = json.loads(run(home, endpoint, *command, "--as", "team:us").stdout)
    assert told["usage"]["byOperationType"].keys() == kinds
    assert told["usage"]["calls"] == len(kinds)


@pytest.mark.usefixtures("read")
def test_s1_1_a_stream_ends_with_what_it_cost(home: Path, endpoint: FakeEndpoint) -> None:
    ask = ("ask", "What will Acme Corp buy?", "--stream", "--as", "team:us")
    events = [json.loads(line) for line in run(home, endpoint, *ask).stdout.splitlines()]
    assert [event["type"] for event in events][-2:] == ["metadata", "done"]
    assert events[-1]["usage"]["byOperationType"].keys() == {"KEYWORD_EXTRACTION", "QUERY"}


@pytest.mark.usefixtures("read")
def test_a_correction_says_what_it_cost(home: Path, endpoint: FakeEndpoint) -> None:
    merge = ("graph", "merge", "Nordwind", "--into", "Acme Corp", "--as", "team:us")
    merged = json.loads(run(home, endpoint, *merge, "--strategy", "LLM_SUMMARIZE").stdout)
    assert merged["targetEntity"]["description"] == "One firm."
    assert merged["usage"]["calls"] == 1
    assert merged["usage"]["byOperationType"].keys() == {"SUMMARIZATION"}


def test_a_model_that_is_not_named_is_asked_for(home: Path) -> None:
    ingest = ("ingest", "papers", "--acl", "team:us")
    ended = program.run(home, *ingest, LIGHTWELL_EXTRACTION="model")
    assert ended.returncode == 2
    assert "LIGHTWELL_CHAT_URL" in ended.stderr
