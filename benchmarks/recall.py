"""Recall of the real store, the real local model and the real pipeline on the evaluation sets.

`python -m benchmarks recall [--sets hotpotqa_train100,lihua_world,musique_train100]`: each passage is a document. Says so and does nothing
where `../shared/eval` is absent. Some minutes per set: embedding is most of it.
"""

import argparse
import asyncio
import gzip
import json
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, track
from rich.table import Table

from lightwell import KnowledgeBase, Settings, opened
from lightwell.domain.documents import NewDocument
from lightwell.ports import Change, Changed
from lightwell.testing.shelf import written

EVALUATION = Path(__file__).parents[2] / "shared" / "eval"
SETS = ("hotpotqa_train100", "musique_train100", "lihua_world")
DEPTH = 10


@dataclass(frozen=True)
class Corpus:
    documents: tuple[NewDocument, ...]
    scope: str = "file:///shelf/"

    async def changes(self, known: Mapping[str, str]) -> AsyncIterator[Change]:
        for document in self.documents:
            if document.url not in known:
                yield Changed(document=document)


@dataclass(frozen=True, kw_only=True)
class Measured:
    name: str
    passages: int
    questions: int
    recalls: tuple[float, float, float]
    all_gold: float
    relevant: float
    ingest_cpu: float
    ask_cpu: float


def lines(name: str, part: str) -> list[dict[str, object]]:
    with gzip.open(EVALUATION / name / f"{part}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


async def measured(name: str) -> Measured:
    documents = tuple(
        written(f"{each['id']}.txt", str(each["text"]), ["team:all"], title=str(each["title"]))
        for each in lines(name, "corpus")
    )
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Settings(data=Path(folder))) as kb:
            began = time.process_time()
            with Progress() as progress:
                bar = progress.add_task(f"reading {name}", total=len(documents))
                await kb.ingest(Corpus(documents), tell=lambda _: progress.advance(bar))
            ingest_cpu = time.process_time() - began
            return await asked(kb, name, len(documents), ingest_cpu)


async def asked(kb: KnowledgeBase, name: str, passages: int, ingest_cpu: float) -> Measured:
    reader = await kb.reader(["team:all"])
    recalls = [0.0, 0.0, 0.0]
    all_gold = enough = 0
    questions = lines(name, "questions")
    began = time.process_time()
    for each in track(questions, description=f"asking {name}"):
        gold = {f"file:///shelf/{one}.txt" for one in list(each["gold"])}  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportUnknownArgumentType]
        found = await kb.search(str(each["question"]), reader, limit=DEPTH)
        urls = [one.chunk.url for one in found.evidence]
        for place, depth in enumerate((2, 5, 10)):
            recalls[place] += len(gold & set(urls[:depth])) / len(gold)
        all_gold += gold <= set(urls[:5])
        enough += found.is_enough
    count = len(questions)
    return Measured(
        name=name,
        passages=passages,
        questions=count,
        recalls=(recalls[0] / count, recalls[1] / count, recalls[2] / count),
        all_gold=all_gold / count,
        relevant=enough / count,
        ingest_cpu=ingest_cpu / passages,
        ask_cpu=(time.process_time() - began) / count,
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks recall", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    if not EVALUATION.is_dir():
        print(f"skipped: the evaluation sets are not at {EVALUATION.name}")
        return
    table = Table(title="Recall of the whole pipeline, all questions")
    for heading in (
        "set",
        "passages",
        "R@2",
        "R@5",
        "R@10",
        "all gold @5",
        "≥ 0.6",
        "CPU s / passage",
        "CPU s / question",
    ):
        table.add_column(heading, justify="right")
    for name in parser.parse_args(arguments).sets.split(","):
        one = asyncio.run(measured(name))
        table.add_row(
            f"{one.name} ({one.questions})",
            f"{one.passages:,}",
            *(f"{100 * recall:.1f}" for recall in one.recalls),
            f"{100 * one.all_gold:.1f}",
            f"{100 * one.relevant:.0f} %",
            f"{one.ingest_cpu:.3f}",
            f"{one.ask_cpu:.3f}",
        )
    Console(width=120).print(table)
