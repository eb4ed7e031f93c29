"""The real program, as a shell runs it: its output, its exit codes, its signals."""

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import cast

import pytest

from lightwell import open_knowledge_base
from lightwell.entrypoints.cli.commands import COMMANDS, SECTIONS
from lightwell.knowledge_base.ingestion import Ingestion
from lightwell.stores.embedded.server import run_server
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.server import temporary_folder
from tests.entrypoints import program
from tests.patience import PATIENCE

LIGHTWELL = Path(sys.executable).with_name("lightwell")
ROOMS = 32  # so many that a signal after the first finds others open, also on a busy machine
LEAVE = (
    "Everyone has 27 days of paid leave a year. It is asked for in the calendar, two weeks ahead."
)
SALARY = "The salary band of a senior engineer begins at 71,000 euros and ends at 94,000 euros."

Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder with papers in `papers/` and the data directory beside them."""
    folder = Path(tempfile.mkdtemp(prefix="lightwell-cli-"))
    folder.chmod(0o755)
    papers = folder / "papers"
    (papers / "closed").mkdir(parents=True)
    (papers / "leave.md").write_text(f"# Leave\n\n## Days\n\n{LEAVE}\n")
    (papers / "closed" / "salaries.md").write_text(
        f"---\nacl_tags: [team:people]\n---\n# Salaries\n\n{SALARY}\n"
    )
    (papers / "hostile\x1b[31m.txt").write_text(
        "The canteen serves \u202ered [bold]soup on Thursdays, says the kitchen of the canteen."
    )
    (papers / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    with run_server(folder / "data"):  # or each process would start and stop a server of its own
        yield folder
    rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    """Run a command in this process."""

    def run(*arguments: str, **settings: str) -> Ended:
        return program.run(home, *arguments, **settings)

    return run


def alone(home: Path, *arguments: str, **settings: str) -> Ended:
    """Run the program in a process of its own."""
    return subprocess.run(
        [LIGHTWELL, *arguments],
        cwd=home,
        env=environment(home) | settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _heeds_ctrl_c() -> None:
    """A suite that was started in the background ignores SIGINT, and so would the program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def begun(home: Path, *arguments: str, **settings: str) -> Generator[subprocess.Popen[str]]:
    """Run the program meanwhile; at the end it is gone, whatever became of the test."""
    with subprocess.Popen(
        [LIGHTWELL, *arguments],
        cwd=home,
        env=environment(home) | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heeds_ctrl_c,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def ingested(run: Run) -> Mapping[str, object]:
    return document(run("ingest", "papers", "--acl", "team:us", "--json"), code=1)


def environment(home: Path) -> dict[str, str]:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("LIGHTWELL_")
    }
    return inherited | {"LIGHTWELL_DATA": str(home / "data")}


def document(ended: Ended, *, code: int = 0) -> Mapping[str, object]:
    """Return the one JSON document on stdout."""
    assert ended.returncode == code, ended.stderr
    return cast("Mapping[str, object]", json.loads(ended.stdout))


def listed(value: object) -> Sequence[Mapping[str, object]]:
    return cast("Sequence[Mapping[str, object]]", value)


# ── what is wrong before anything is opened ───────────────────────────────────────────────────────────

WRONG = [
    (["ask", ""], "Error: Query cannot be empty\n"),
    (["ask", "   ", "--as", "ada"], "Error: Query cannot be empty\n"),
    (["ask", "x" * 2001, "--as", "ada"], "Error: Query exceeds maximum length\n"),
    (["search", ""], "Error: Query cannot be empty\n"),
    (["ask", "Why?"], "Name who asks: --as team:sales (an access tag); several"),
    (["status", "--as", ","], "Name who asks"),
    (["ask", "Why?", "--as", "a b"], "'a b' is not an access tag; write it like team:sales"),
    (["ask", "Why?", "--as", "team:"], "'team:' is not an access tag"),
    (
        ["ask", "Why?", "--as", "ada", "--limit", "21"],
        "'--limit': Input should be less than or equal to 20",
    ),
    (
        ["ask", "Why?", "--as", "ada", "--limit", "0"],
        "'--limit': Input should be greater than or equal",
    ),
    (
        ["search", "Why?", "--as", "ada", "--limit", "21"],
        "'--limit': Input should be less than or equal to 20",
    ),
    (["search", "Why?", "--as", "ada", "--mode", "bypass"], "'bypass' is not one of 'naive'"),
    (["chat", ""], "Error: Message cannot be empty\n"),
    (["chat", "", "--as", "ada", "--json"], "Message cannot be empty"),
    (
        ["ask", "caf\udce9", "--as", "ada"],
        "Error: The question contains the byte 0xe9, which is not",
    ),
    (
        ["search", "a\ud800b", "--as", "ada"],
        "Error: The question contains U+D800, half a character",
    ),
    (["chat", "caf\udce9", "--as", "ada"], "Error: The message contains the byte 0xe9"),
    (["status", "--as", "team:caf\udce9"], "Error: The access tag contains the byte 0xe9"),
    (["ask", "Why?", "--as", "ada", "--topic", "x" * 257], "A topic has at most 256 characters"),
    (["ask"], "Missing argument 'QUESTION'"),
    (["ask", "one", "two"], 'Quote the question: lightwell ask "..."'),
    (["search", "one", "two", "three"], 'Quote the question: lightwell search "..."'),
    (["ingest"], "Missing argument"),
    (["ingest", "nowhere"], "'nowhere' does not exist"),
    (["ingest", ".", "--acl", "a b"], "'a b' is not an access tag; write it like team:sales"),
    (["ingest", ".", "--acl", "team:s\u200bales"], "contains an invisible character"),
    (["ingest", ".", "--acl", "team:x", "--topic", "x" * 257], "A topic has at most 256"),
    (["documents", "show", "x"], "Name who asks"),
    (["documents", "delete", "x", "--as", "ada"], "there is no terminal"),
    (["documents", "list", "--as", "ada", "--limit", "0"], "--limit"),
    (["reticulate"], "No such command 'reticulate'"),
    (["ask", "Why?", "--loud"], "No such option: --loud"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_input_ends_with_two_and_says_what_is_wrong(
    run: Run, arguments: Sequence[str], message: str
) -> None:
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert "Error: " in ended.stderr or '"detail": ' in ended.stderr


@pytest.mark.parametrize(
    "command", [["ask", "Why?"], ["search", "Why?"], ["brief", "Ada"], ["chat", "Why?"], ["status"]]
)
def test_whoever_asks_with_a_tag_that_nothing_carries_is_told(
    run: Run, home: Path, command: list[str]
) -> None:
    (home / "tagged").mkdir(exist_ok=True)
    (home / "tagged" / "note.md").write_text("The gate is closed at nine.")
    assert run("ingest", "tagged", "--acl", "team:gate").returncode == 0
    note = "Note: no document has the access tag team:gat\n"
    assert note in run(*command, "--as", "team:gat").stderr
    assert "Note: no document" not in run(*command, "--as", "team:gat,team:gate").stderr
    many = run(*command, "--as", "t:1,t:2,t:3,t:4,t:5").stderr
    assert "Note: no document has the access tag t:1 or t:2 or t:3 or 2 others\n" in many


NEED_A_STORE = [
    ["ask", "Why?"],
    ["ask", "Why?", "--stream"],
    ["ask", "Why?", "--statements"],
    ["search", "Why?"],
    ["brief", "Ada"],
    ["chat", "Why?"],
    ["conversations", "list"],
    ["status"],
    ["documents", "list"],
    ["documents", "show", "x.md"],
    ["documents", "delete", "x.md", "--yes"],
    ["documents", "reread", "--all"],
    ["documents", "passages", "x.md"],
    ["graph", "list"],
    ["graph", "describe", "Ada", "--description", "x"],
    ["export", "graph.csv"],
    ["jobs", "list"],
    ["runs", "list"],
    ["analytics", "summary"],
]


@pytest.mark.parametrize("command", NEED_A_STORE, ids=" ".join)
def test_a_folder_without_a_store_is_named_and_stays_empty(
    home: Path, run: Run, command: list[str]
) -> None:
    nowhere = home / "no-store-here"
    ended = run(*command, "--as", "team:us", LIGHTWELL_DATA=str(nowhere))
    assert (ended.returncode, ended.stdout) == (3, ""), ended.stderr
    assert f"There is no Lightwell store in {nowhere}: " in ended.stderr
    assert "LIGHTWELL_DATA" in ended.stderr
    assert "`lightwell ingest PATH`" in ended.stderr
    assert not nowhere.exists()


def test_the_demos_people_are_nobody_elsewhere(run: Run, home: Path) -> None:
    (home / "people").mkdir()
    (home / "people" / "deal.md").write_text("The zeppelin deal is worth seven percent.")
    assert run("ingest", "people", "--acl", "team:sales").returncode == 0
    assert document(run("search", "zeppelin deal", "--as", "team:sales", "--json"))["results"]
    assert document(run("search", "zeppelin deal", "--as", "grace", "--json"))["results"] == []


def test_the_program_itself_leaves_with_the_code(home: Path) -> None:
    ended = alone(home, "ask", "")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "Error: Query cannot be empty\n"


def test_wrong_settings_are_named_without_their_values(run: Run) -> None:
    ended = run("status", "--as", "ada", LIGHTWELL_EMBEDDING_BATCH_SIZE="hunter2")
    assert ended.returncode == 2
    assert "LIGHTWELL_EMBEDDING_BATCH_SIZE: " in ended.stderr
    assert "hunter2" not in ended.stderr


def test_with_json_an_error_is_a_document_on_stderr(run: Run) -> None:
    ended = run("ask", "", "--as", "ada", "--json")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert json.loads(ended.stderr) == {
        "code": "invalid_request",
        "detail": "Query cannot be empty",
    }


@pytest.mark.parametrize(
    ("group", "title"),
    [
        ("", "Ingest and ask:"),
        ("documents", "Commands:"),
        ("graph", "Commands:"),
        ("jobs", "Commands:"),
    ],
)
def test_help_shows_whole_summaries(run: Run, group: str, title: str) -> None:
    shown = run(*group.split(), "--help").stdout
    assert title in shown
    assert "..." not in shown.replace("[ARGS]...", "")


def test_help_needs_no_models() -> None:
    code = (
        "import sys; from lightwell.entrypoints.cli import main\n"
        "sys.argv = ['lightwell', 'ask', '--help']\n"
        "try: main()\n"
        "finally: assert not {'numpy', 'psycopg', 'onnxruntime'} & set(sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert b"Examples:" in ended.stdout


def test_help_lists_commands_in_the_order_of_use(run: Run) -> None:
    shown = run("--help").stdout
    commands = shown.partition(f"{next(iter(SECTIONS))}:\n")[2].partition("Examples:")[0]
    names = [
        line.split()[0] for line in commands.splitlines() if line[:2] == "  " and line[2:3].strip()
    ]
    assert names[:8] == "ingest ask search brief chat conversations demo documents".split()
    assert sorted(names) == sorted(COMMANDS)


@pytest.mark.parametrize("function", [Ingestion.ingest, open_knowledge_base])
def test_signatures_are_readable(function: Callable[..., object]) -> None:
    assert "lambda" not in str(inspect.signature(function))


def test_doctor_creates_no_store_and_says_that_there_is_none(tmp_path: Path) -> None:
    data = tmp_path / "data"
    checks = json.loads(program.run(tmp_path, "doctor", "--json").stdout)
    (store,) = [each for each in checks["checks"] if each["name"] == "database"]
    assert store["ok"]
    assert store["detail"].startswith(f"no store in {data} yet")
    assert not data.exists()


def test_an_estimate_creates_no_store_and_says_that_there_is_none(tmp_path: Path) -> None:
    data, papers = tmp_path / "data", tmp_path / "papers"
    papers.mkdir()
    (papers / "a.md").write_text(LEAVE)
    words = ("ingest", str(papers), "--acl", "team:us", "--estimate", "--json")
    ended = program.run(tmp_path, *words)
    assert json.loads(ended.stdout)["documents"] == 1
    assert f"There is no store in {data} yet" in ended.stderr
    assert not data.exists()


def test_whoever_creates_a_store_is_told_where(home: Path) -> None:
    with (
        temporary_folder() as place
    ):  # pytest's own is for root alone: its data would stay elsewhere
        papers = place / "papers"
        papers.mkdir()
        ended = program.run(place, "ingest", str(papers), "--acl", "team:us")
        assert f"This creates a store in {place / 'data'}." in ended.stderr
        assert "creates" not in program.run(home, "ingest", str(papers), "--acl", "team:us").stderr


def test_a_database_that_does_not_answer_ends_with_four(run: Run) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    ended = run("status", "--as", "ada", LIGHTWELL_DATABASE_URL=nowhere)
    assert ended.returncode == 4
    assert ended.stderr.startswith("Error: ")
    assert "lightwell doctor" in ended.stderr


# ── in ────────────────────────────────────────────────────────────────────────────────────────────────


def test_ingest_counts_and_names_what_failed(ingested: Mapping[str, object]) -> None:
    counts = {key: ingested[key] for key in ("new", "changed", "unchanged", "gone", "waiting")}
    assert counts == {"new": 3, "changed": 0, "unchanged": 0, "gone": 0, "waiting": 0}
    [failure] = listed(ingested["failed"])
    assert str(failure["documentUrl"]).endswith("/papers/broken.pdf")
    assert failure["errorMessage"]
    assert ingested["tags"] == [
        {"aclTags": ["team:people"], "documents": 1},
        {"aclTags": ["team:us"], "documents": 2},
    ]
    [overruled] = listed(ingested["aclOverruled"])
    assert str(overruled["by"]).endswith("/papers/closed/salaries.md")
    assert overruled["documents"] == 1


def test_tags_that_a_settings_file_sets_in_the_place_of_acl_are_told(run: Run, home: Path) -> None:
    folder = home / "overruled"
    folder.mkdir()
    (folder / ".lightwell.yaml").write_text(
        "files: {'c*': {acl_tags: [user:x]}, 'b*': {acl_tags: [team:b]}}"
    )
    for name in ("a.md", "b1.md", "b2.md"):
        (folder / name).write_text(f"The gate {name} is closed at nine.")
    told = run("ingest", "overruled", "--acl", "team:a").stdout
    assert "2 documents for team:b\n1 document for team:a\n" in told
    assert f"--acl did not apply to 2: {folder.resolve()}/.lightwell.yaml sets other tags\n" in told


def test_settings_that_do_not_apply_are_named(run: Run, home: Path) -> None:
    everybody = home / "everybody"
    (everybody / "mine").mkdir(parents=True)
    everybody.chmod(0o1777)
    (everybody / ".lightwell.yaml").write_text("acl_tags: [user:mallory]")
    (everybody / "mine" / "a.md").write_text("The side gate is closed at ten.")
    told = run("ingest", "everybody/mine", "--acl", "team:mine")
    assert "everybody/.lightwell.yaml does not apply: " in told.stderr
    assert "1 document for team:mine\n" in told.stdout


def test_a_refused_document_is_counted_once(run: Run, home: Path) -> None:
    (home / "once").mkdir()
    (home / "once" / "fine.md").write_text("The cellar is locked at eight.")
    (home / "once" / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    for word in ("1 new, 0 changed, 0 unchanged", "0 new, 0 changed, 1 unchanged"):
        told = run("ingest", "once", "--acl", "team:once")
        assert told.stdout.splitlines()[0] == f"{word}, 0 gone, 1 failed"


@pytest.mark.usefixtures("ingested")
def test_progress_goes_to_stderr_line_by_line(run: Run, home: Path) -> None:
    (home / "more").mkdir()
    (home / "more" / "bikes.md").write_text(
        "# Bikes\n\nBicycles stand in the yard, not in the hall."
    )
    ended = run("ingest", "more", "--acl", "team:us", "--topic", "house")
    assert ended.returncode == 0, ended.stderr
    assert "[1/1] more/bikes.md: 1 passage" in ended.stderr
    assert (
        ended.stdout == "1 new, 0 changed, 0 unchanged, 0 gone, 0 failed\n1 document for team:us\n"
    )
    again = run("ingest", "more", "--acl", "team:us", "--topic", "house")
    assert again.stdout.startswith("0 new, 0 changed, 1 unchanged, 0 gone, 0 failed\n")


@pytest.mark.usefixtures("ingested")
def test_what_is_no_document_is_counted_and_no_failure(run: Run, home: Path) -> None:
    (home / "pond").mkdir()
    for name in ("a.svg", "b.svg", "c.RUBY"):
        (home / "pond" / name).write_bytes(b"x")
    (home / "pond" / "links.rst").write_text(".. _pond: https://pond.example\n")
    (home / "pond" / "carp.md").write_text("Carp sleep in winter.")
    for words in ("1 new, 0 changed, 0 unchanged", "0 new, 0 changed, 1 unchanged"):
        added = run("ingest", "pond", "--acl", "team:garden")
        assert added.returncode == 0
        assert added.stdout.startswith(f"{words}, 0 gone, 0 failed\n")
        assert "\nskipped: 2 .svg, 1 .ruby, 1 without text\n" in added.stdout


@pytest.mark.usefixtures("ingested")
def test_a_topic_given_later_replaces_what_was_there(run: Run, home: Path) -> None:
    (home / "garden").mkdir()
    (home / "garden" / "pond.md").write_text(
        "# Pond\n\nThe pond behind the house holds eleven carp."
    )
    assert run("ingest", "garden", "--acl", "team:garden").returncode == 0
    topic = ("--acl", "team:garden", "--topic", "animals")
    changed = run("ingest", "garden", *topic)
    assert changed.stdout.startswith("0 new, 1 changed, 0 unchanged, 0 gone, 0 failed\n")
    asked = ("search", "carp in the pond", "--as", "team:garden", "--json")
    found = document(run(*asked, "--topic", "animals"))
    assert "eleven carp" in str(listed(found["results"])[0]["content"])
    assert document(run(*asked, "--topic", "plants"))["results"] == []


@pytest.mark.usefixtures("ingested")
def test_what_nobody_could_see_is_refused_and_what_is_for_nobody_is_hidden(
    run: Run, home: Path
) -> None:
    folder = home / "untagged"
    folder.mkdir()
    (folder / "note.md").write_text("# Note\n\nThe boiler is serviced in October by two people.")
    refused = run("ingest", "untagged")
    assert refused.returncode == 1
    assert "it has no access tags, so nobody could see it; set --acl TAG" in refused.stdout
    assert run("ingest", "untagged", "--acl", "team:boiler").returncode == 0
    assert "active" in run("status", "--as", "team:boiler").stdout
    assert run("ingest", "untagged").returncode == 0
    assert "active" in run("status", "--as", "team:boiler").stdout
    hidden = run("ingest", "untagged", "--no-acl")
    assert f"Note: {folder} was for team:boiler, and is now for nobody." in hidden.stderr
    assert hidden.returncode == 1
    assert "1 document without access tags, so nobody may see it any more" in hidden.stdout
    assert "active" not in run("status", "--as", "team:boiler").stdout


@pytest.mark.usefixtures("ingested")
def test_a_worker_does_what_was_enqueued_and_stops_when_told(run: Run, home: Path) -> None:
    folder = home / "later"
    folder.mkdir()
    (folder / "roof.md").write_text("# Roof\n\nThe roof terrace closes at nine in the evening.")
    enqueued = document(run("ingest", "later", "--acl", "team:roof", "--no-wait", "--json"))
    assert (enqueued["new"], enqueued["waiting"]) == (1, 1)
    assert document(run("status", "--as", "team:roof", "--json"))["documents"] == {"pending": 1}
    with begun(home, "worker", "--json") as worker:
        assert worker.stderr
        assert "Working on the project 'default'" in worker.stderr.readline()
        assert "roof.md: 1 passage" in worker.stderr.readline()
        worker.send_signal(signal.SIGTERM)
        stdout, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0
    report = json.loads(stdout)
    assert report.pop("usage")["calls"] == 0
    assert report == {"done": 1, "failed": 0, "chunks": 1}


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_ingest_says_so_and_the_next_one_goes_on_at_once(
    home: Path, run: Run, sign: signal.Signals
) -> None:
    project = {"LIGHTWELL_PROJECT": sign.name, "LIGHTWELL_LEASE_SECONDS": "600"}
    folder = home / sign.name
    folder.mkdir()
    for number in range(ROOMS):
        text = f"Room {number} holds {number + 3} chairs and one table by the window. " * 10
        (folder / f"{number:03}.md").write_text(f"# Room {number}\n\n{text}")
    ingest = ("ingest", str(folder), "--acl", "team:rooms")
    with begun(home, *ingest, **project) as interrupted:
        assert interrupted.stderr
        assert f"/{ROOMS}]" in interrupted.stderr.readline()
        interrupted.send_signal(sign)
        _, stderr = interrupted.communicate(timeout=PATIENCE)
    assert interrupted.returncode == 130
    assert "Finished documents are kept" in stderr
    assert "Traceback" not in stderr
    again = run(*ingest, **project)  # would wait for the lease if its documents were kept
    assert again.returncode == 0
    lines = again.stderr.splitlines()
    finished = sum(line.startswith("[") for line in lines)
    assert 0 < finished < ROOMS
    # also the passages of those that the first one had published
    assert any(line.startswith(f"{ROOMS} of {ROOMS} passages read") for line in lines), lines
    counts = (
        f"0 new, 0 changed, {ROOMS - finished} unchanged, {finished} finished, 0 gone, 0 failed"
    )
    assert again.stdout.splitlines()[0] == counts


# ── out ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("ingested")
def test_ask_answers_with_citations_whoever_may_see_it(run: Run) -> None:
    answer = document(
        run("ask", "How many days of paid leave does everyone have?", "--as", "team:us", "--json")
    )
    assert "27 days" in str(answer["answer"])
    assert answer["confidence"] in ("high", "medium", "low")
    cited = listed(answer["citations"])[0]
    assert cited["id"] == "[1]"
    assert str(cited["documentUrl"]).endswith("/papers/leave.md")
    assert cast("Mapping[str, object]", cited["locator"])["section"] == ["Leave", "Days"]
    assert set(cited) == {
        *("id", "chunkId", "chunkRef", "documentRef", "documentTitle", "documentUrl", "sourceUrl"),
        *("sourceSystem", "sourceType", "createdAt", "snippet", "score", "relevanceScore"),
        *("locator", "highlight", "suppliedByHand", "address", "sourceAddress", "datedAt"),
    }


@pytest.mark.usefixtures("ingested")
def test_people_read_the_answer_with_numbered_citations(run: Run) -> None:
    shown = run("ask", "How many days of paid leave does everyone have?", "--as", "team:us")
    assert "[1] Leave › Days\n" in shown.stdout
    assert "    papers/leave.md\n" in shown.stdout
    assert "27 days of paid leave" in shown.stdout


@pytest.mark.usefixtures("ingested")
def test_a_streamed_answer_is_the_answer_event_by_event(run: Run) -> None:
    asked = ("ask", "How many days of paid leave does everyone have?", "--as", "team:us")
    lines = run(*asked, "--stream", "--json").stdout.splitlines()
    events = [cast("Mapping[str, object]", json.loads(line)) for line in lines]
    told = "".join(str(each["content"]) for each in events if each["type"] == "token")
    answer = document(run(*asked, "--json"))
    assert told == answer["answer"]
    cited = [each["citation"] for each in events if each["type"] == "citation"]
    assert cited == answer["citations"]
    assert [each["type"] for each in events][-2:] == ["metadata", "done"]
    shown = run(*asked, "--stream").stdout
    assert shown.startswith(told)
    assert "[1] Leave › Days\n" in shown
    assert shown.count(told) == 1


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_stream_goes_into_a_pipe_piece_by_piece(home: Path, form: tuple[str, ...]) -> None:
    first, second = LEAVE.split(". ")
    reply = f"{first}. [1] {second} [1]"
    asked = ("ask", "How many days of paid leave does everyone have?", "--as", "team:us")
    with FakeEndpoint(lambda _: reply, behaviour=Behaviour(word_delay=0.25)).running() as model:
        settings = {"LIGHTWELL_CHAT_URL": model.base_url, "LIGHTWELL_CHAT_MODEL": "fake"}
        with begun(home, *asked, "--stream", *form, **settings) as process:
            assert process.stdout
            pipe = process.stdout.fileno()
            pieces = [*iter(lambda: os.read(pipe, 10_000).decode(), "")]
            assert process.wait(PATIENCE) == 0
    early = next(piece for piece in pieces if "27 days" in piece)
    assert "two weeks ahead" not in early
    assert "two weeks ahead" in "".join(pieces)


@pytest.mark.usefixtures("ingested")
def test_statements_are_listed_with_their_dates_and_citations(run: Run) -> None:
    asked = ("ask", "What paid leave does everyone have?", "--as", "team:us", "--statements")
    stated = document(run(*asked, "--json"))
    first = listed(stated["statements"])[0]
    assert "27 days of paid leave" in str(first["text"])
    assert str(listed(first["citations"])[0]["documentUrl"]).endswith("/papers/leave.md")
    assert first["saidAt"] is None  # the page names no date, and when it was ingested is none
    assert "• " in run(*asked).stdout
    hidden = document(
        run("ask", "What is said about salary bands?", "--as", "team:us", "--statements", "--json")
    )
    assert (hidden["statements"], hidden["confidence"]) == ([], "insufficient")


@pytest.mark.usefixtures("ingested")
def test_a_mode_says_where_to_look(run: Run) -> None:
    found = document(run("search", "paid leave", "--as", "team:us", "--mode", "naive", "--json"))
    metadata = cast("Mapping[str, object]", found["metadata"])
    assert found["mode"] == "naive"
    assert set(cast("Mapping[str, object]", metadata["channels"])) == {"dense", "words"}
    alone_asked = run("ask", "What is leave?", "--as", "team:us", "--mode", "bypass")
    assert alone_asked.returncode == 2
    assert "LIGHTWELL_CHAT_URL" in alone_asked.stderr


@pytest.mark.usefixtures("ingested")
def test_insufficient_evidence_is_no_failure_and_names_nothing_hidden(run: Run) -> None:
    question = "Where does the salary band of a senior engineer begin?"
    seen = document(run("ask", question, "--as", "team:people", "--json"))
    hidden = run("ask", question, "--as", "team:us", "--json")
    answer = document(hidden)
    assert "71,000" in str(seen["answer"])
    assert (answer["confidence"], answer["citations"]) == ("insufficient", [])
    assert cast("float", answer["relevance"]) < cast("float", answer["threshold"]) == 0.6
    assert "alaries" not in hidden.stdout
    assert "Insufficient evidence" in run("ask", question, "--as", "team:us").stdout


@pytest.mark.usefixtures("ingested")
def test_search_lists_passages_best_first(run: Run) -> None:
    found = document(run("search", "days of paid leave", "--as", "team:us", "--json"))
    results = listed(found["results"])
    assert [one["rank"] for one in results] == list(range(1, len(results) + 1))
    assert str(results[0]["content"]).endswith(LEAVE)
    assert set(results[0]) == {
        *("rank", "chunkId", "content", "relevanceScore", "isAboveThreshold", "score", "distance"),
        *("sourceUrl", "sourceSystem", "sourceType", "documentRef", "chunkRef", "createdAt"),
        *("snippet", "rrfScore", "vectorRank", "graphRank", "inBothSources", "sources", "ranks"),
        *("originalRank", "newRank", "chunkRefs", "locator", "metadata", "snippetLocator"),
        *("address", "sourceAddress"),
    }
    assert (results[0]["sourceSystem"], results[0]["sourceType"]) == ("file", "document")
    assert str(results[0]["snippet"]) in LEAVE
    assert set(cast("Mapping[str, object]", results[0]["metadata"])) == {
        *("documentId", "documentUrl", "documentTitle", "pageNumber", "sectionPath", "chunkIndex"),
        *(
            "hasCode",
            "hasFormula",
            "hasTable",
            "language",
            "ingestedAt",
            "documentUpdatedAt",
            "llmCacheIds",
        ),
        *("tokenCount", "documentRef", "topic", "createdAt"),
    }
    shown = run("search", "days of paid leave", "--as", "team:us")
    assert shown.stdout.splitlines()[0].split() == [
        *("#", "relevance", "document", "where", "snippet")
    ]


@pytest.mark.usefixtures("ingested")
def test_no_document_speaks_to_the_terminal(run: Run) -> None:
    shown = run("documents", "show", "papers/hostile\x1b[31m.txt", "--as", "team:us", "--text")
    assert "serves red [bold]soup on Thursdays" in shown.stdout
    answered = run("ask", "What does the canteen serve on Thursdays?", "--as", "team:us")
    listed = run("documents", "list", "--as", "team:us")
    for each in (shown, answered, listed):
        assert "hostile" in each.stdout
        assert not {"\x1b", "\u202e"} & set(each.stdout)


@pytest.mark.usefixtures("ingested")
def test_documents_are_listed_in_pages(run: Run) -> None:
    first = document(run("documents", "list", "--as", "team:people", "--json"))
    assert [one["title"] for one in listed(first["documents"])] == ["Salaries"]
    assert first["nextAfter"] is None
    one = document(run("documents", "list", "--as", "team:us", "--limit", "1", "--json"))
    after = str(one["nextAfter"])
    two = document(
        run("documents", "list", "--as", "team:us", "--limit", "1", "--after", after, "--json")
    )
    assert after == listed(one["documents"])[0]["documentUrl"]
    assert str(listed(two["documents"])[0]["documentUrl"]) > after


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize("name", ["papers/closed/salaries.md", "papers/none.md"])
def test_what_one_may_not_see_and_what_is_not_there_end_alike(
    run: Run, home: Path, name: str
) -> None:
    ended = run("documents", "show", name, "--as", "team:us")
    assert ended.returncode == 3
    url = (home / name).resolve().as_uri()
    assert ended.stderr == f"Error: There is no document {url!r} that you may see\n"
    assert run("documents", "delete", name, "--as", "team:us", "--yes").returncode == 3


@pytest.mark.usefixtures("ingested")
def test_a_deleted_document_is_gone(run: Run, home: Path) -> None:
    folder = home / "passing"
    folder.mkdir()
    (folder / "passing.md").write_text("# Passing\n\nThis note is here today and gone tomorrow.")
    assert run("ingest", "passing", "--acl", "team:passing").returncode == 0
    shown = document(
        run("documents", "show", "passing/passing.md", "--as", "team:passing", "--json")
    )
    for name in (shown["documentRef"], shown["documentId"], shown["documentUrl"]):
        assert run("documents", "show", str(name), "--as", "team:passing").returncode == 0
    deleted = run("documents", "delete", "passing/passing.md", "--as", "team:passing", "--yes")
    assert deleted.stdout.startswith("1 deleted: 1 passages, 1 vectors, 1 mentions\n")
    assert (
        run("documents", "show", str(shown["documentId"]), "--as", "team:passing").returncode == 3
    )


@pytest.mark.usefixtures("ingested")
def test_status_counts_what_the_reader_sees(run: Run) -> None:
    counted = document(run("status", "--as", "team:people", "--json"))
    keys = {"documents", "chunks", "waitingChunks", "entities", "relations", "openJobs"}
    assert (set(counted), counted["waitingChunks"]) == (keys, 0)
    assert (counted["documents"], counted["chunks"]) == ({"active": 1}, 1)


@pytest.mark.usefixtures("ingested")
def test_doctor_says_what_it_looked_at(run: Run) -> None:
    found = document(run("doctor", "--json"))
    assert found["ok"] is True
    assert all(set(check) == {"name", "ok", "detail", "fix"} for check in listed(found["checks"]))
