"""What a person sees of an ingestion that is under way."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from lightwell.entrypoints.cli.console import describe_bytes, describe_seconds, file_name
from lightwell.entrypoints.cli.progress import describe_pace, show_progress
from lightwell.ingest.progress import DocumentOutcome, IngestPace, Progress, Step
from lightwell.ingest.sync import SyncResult

LONG = "file:///x/long.txt"


def lines(*told: Progress | DocumentOutcome) -> list[str]:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    with show_progress(console) as shown:
        for each in told:
            if isinstance(each, Progress):
                shown.progress(each)
            else:
                shown.advance(each)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def embedded(done: int, total: int) -> Progress:
    return Progress(url=LONG, step=Step.EMBEDDING, done=done, total=total)


def test_a_large_document_shows_each_tenth_of_a_step() -> None:
    shown = lines(*(embedded(done, 1000) for done in range(32, 1001, 32)))
    assert [line.partition(" (")[0] for line in shown] == [
        f"/x/long.txt: embedding {done:,} of 1,000 passages"
        for done in (32, 128, 224, 320, 416, 512, 608, 704, 800, 928)
    ]


def test_a_small_document_shows_its_end_only() -> None:
    end = DocumentOutcome(url=LONG, chunks=12, error="")
    assert lines(embedded(6, 12), embedded(12, 12), end) == ["[1/1] /x/long.txt: 12 passages"]


def test_a_file_is_named_by_its_path_and_in_its_own_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "handbook" / "ü 100%25" / "index.md"
    assert file_name(file.as_uri()) == "handbook/ü 100%25/index.md"
    assert file_name("file:///elsewhere/index.md") == "/elsewhere/index.md"
    assert file_name("https://wiki.example/a%20b") == "https://wiki.example/a%20b"
    assert file_name("file:///a%1B%5B31m.md") == "/a[31m.md"
    forged = "file:///a.md%0A[2/2]%20b.md:%2012%20passages%E2%80%A8x"
    assert file_name(forged) == "/a.md?[2/2] b.md: 12 passages?x"


def test_a_guess_of_the_rest_and_what_another_process_did() -> None:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    with show_progress(console) as shown:
        shown.start(SyncResult(), 6)
        for name in "abcd":
            url = f"file:///x/{name}.md"
            shown.progress(Progress(url=url, step=Step.EXTRACTING, done=1, total=1, moved=1))
            shown.advance(DocumentOutcome(url=url, chunks=1, error=""))
        shown.end()
    assert isinstance(console.file, io.StringIO)
    *lines, last = console.file.getvalue().splitlines()
    assert [" a minute, " in line and " until all can be searched)" in line for line in lines] == [
        False,
        False,
        True,
        True,
    ]
    assert last == "2 documents ended in another process, which ingests at the same time."


def test_the_rest_is_what_each_step_has_left_at_its_own_pace() -> None:
    """Two of four documents were seen, so the others count as 10 passages each; a passage is embedded in 2 s and read in 1."""
    pace = IngestPace()
    pace.note(Progress(url="a", step=Step.PARSING, done=0, total=0), 0)
    assert (pace.seconds_left(4, 0), pace.per_minute(4, 0)) == (None, None)
    for done in range(1, 11):
        pace.note(Progress(url="a", step=Step.EMBEDDING, done=done, total=10, moved=1), 2 * done)
    pace.note(Progress(url="b", step=Step.EMBEDDING, done=5, total=10, moved=5), 30)
    for done in range(1, 6):
        pace.note(Progress(url="a", step=Step.EXTRACTING, done=done, total=10, moved=1), 30 + done)
    assert pace.rest(4) == {Step.EMBEDDING: 25, Step.EXTRACTING: 35}
    assert pace.seconds_left(4, 35) == 25 * 2 + 35
    assert pace.per_minute(4, 35) == 20


@pytest.mark.parametrize("width", [80, 110, 200])
def test_beside_the_bar_nothing_is_cut_but_the_beginning_of_a_path(width: int) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width)
    with show_progress(console) as shown:
        shown.start(SyncResult(), 99)
        for n in range(20):
            url = f"file:///x/{'folder/' * 20}{n}.md"
            shown.progress(Progress(url=url, step=Step.EXTRACTING, done=1, total=1, moved=1))
            shown.advance(DocumentOutcome(url=url, chunks=1, error=""))
    assert isinstance(console.file, io.StringIO)
    drawn = Text.from_ansi(console.file.getvalue().split("\r")[-1]).plain
    assert "Searchable" in drawn
    assert " less than a minute left" in drawn
    assert " passages a minute, " in drawn or width == 80
    assert ("/19.md" in drawn, "…" in drawn) == (width > 100, False)


def test_of_many_documents_ten_lines_say_how_long_the_rest_takes() -> None:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    with show_progress(console) as shown:
        shown.start(SyncResult(), 100)
        for n in range(100):
            url = f"file:///x/{n}.md"
            shown.progress(Progress(url=url, step=Step.EXTRACTING, done=1, total=1, moved=1))
            shown.advance(DocumentOutcome(url=url, chunks=1, error=""))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [n for n, line in enumerate(lines, 1) if " a minute, " in line] == [*range(10, 100, 10)]


def test_the_second_stage_shows_tenths_and_what_can_be_done_meanwhile() -> None:
    """It begins with a report of each document, so the rest is known from then on."""

    def read(url: str, done: int, moved: int) -> Progress:
        return Progress(url=url, step=Step.VECTORS, done=done, total=20, moved=moved)

    first = Progress(url="a", step=Step.EXTRACTING, done=20, total=20, moved=20)
    assert len(lines(first, read("a", 0, 0), read("b", 8, 0), read("a", 0, 0))) == 1
    shown = lines(
        first,
        read("a", 0, 0),
        read("b", 0, 0),
        *(read("a", n, 5) for n in (5, 10, 15, 20)),
        read("b", 20, 20),
    )
    assert (
        shown[0]
        == "All can be searched by words and names. Now the passages are read for their meaning."
    )
    assert [line.partition(" (")[0] for line in shown[1:]] == [
        f"{count} of 40 passages read" for count in (5, 10, 15, 20, 40)
    ]
    assert [" left)" in line for line in shown[1:]] == [False, False, True, True, False]
    pace = IngestPace()
    for progress in (first, read("a", 0, 0), read("b", 0, 0)):
        pace.note(progress, 0)
    assert (pace.rest(7), pace.read) == ({Step.VECTORS: 40}, (0, 40))


def test_a_document_that_is_read_anew_counts_once() -> None:
    pace = IngestPace()
    for done, now in ((4, 4), (8, 8), (2, 10), (4, 12)):
        pace.note(Progress(url="a", step=Step.EMBEDDING, done=done, total=8), now)
    assert pace.rest(1) == {Step.EMBEDDING: 4}


@pytest.mark.parametrize(
    ("per_minute", "seconds", "words"),
    [
        (None, 3.0, ""),
        (12.4, None, ""),
        (12.4, 0.2, "12 passages a minute, less than a minute left"),
        (1234.5, 700.0, "1,234 passages a minute, about 12 min left"),
    ],
)
def test_a_pace_is_said_when_it_is_known(
    per_minute: float | None, seconds: float | None, words: str
) -> None:
    assert describe_pace(per_minute, seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (119, "119 s"), (121, "2 min"), (7300, "2 h")]
)
def test_a_duration_is_short(seconds: float, words: str) -> None:
    assert describe_seconds(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_400, "1.4 kB"),
        (25_300_000, "25 MB"),
        (3 * 10**12, "3,000 GB"),
    ],
)
def test_a_size_is_short(count: int, words: str) -> None:
    assert describe_bytes(count) == words


def test_a_long_path_is_shown_by_its_end() -> None:
    url = f"file:///{'home/' * 20}site-packages/world/documents/sales/plan.md"
    assert lines(DocumentOutcome(url=url, chunks=1, error="")) == [
        "[1/1] …/documents/sales/plan.md: 1 passage"
    ]
