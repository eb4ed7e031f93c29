"""What a person sees of an ingestion that is under way."""

import io

from rich.console import Console

from lightwell.entrypoints.cli.progress import following
from lightwell.ingest.way import Outcome, Progress, Step


def lines(*told: Progress | Outcome) -> list[str]:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    with following(console) as shown:
        for each in told:
            if isinstance(each, Progress):
                shown.progress(each)
            else:
                shown.tell(each)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def embedded(done: int, total: int) -> Progress:
    return Progress(url="file:///x/long.txt", step=Step.EMBEDDING, done=done, total=total)


def test_a_large_document_shows_each_tenth_of_a_step() -> None:
    assert lines(*(embedded(done, 1000) for done in range(32, 1001, 32))) == [
        f"long.txt: embedding {done:,} of 1,000 passages"
        for done in (32, 128, 224, 320, 416, 512, 608, 704, 800, 928)
    ]


def test_a_small_document_shows_its_end_only() -> None:
    end = Outcome(url="file:///x/long.txt", chunks=12, error="")
    assert lines(embedded(6, 12), embedded(12, 12), end) == ["[1/1] long.txt: 12 passages"]
