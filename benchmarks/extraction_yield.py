"""What a model's reading yields and costs: ours, in both forms and with three ways of looking twice, beside LightRAG's own.

    uv run --with lightrag-hku==1.5.7 python -m benchmarks.extraction_yield --url URL --model NAME --keep FOLDER
    uv run --with lightrag-hku==1.5.7 python -m benchmarks.extraction_yield --scripted

Six short documents (`extraction_gold.yaml`). LightRAG's half is its own function `extract_entities` with its own prompts,
parser and defaults; without the package it is left out. Names match by normalised form and listed other forms,
relations by their pair of names. Tokens are cl100k, of what is sent and written, without a server's own marks. `--keep`
keeps replies on disk, so that a changed parser is measured for nothing. `--scripted` asks no model: see `scripted_reader`.
"""

import argparse
import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import SecretStr

from benchmarks.extraction_gold import Document, Said, Score, documents, missed, score, total
from benchmarks.extraction_readers import (
    CountedModel,
    KeptModel,
    Reader,
    Spent,
    our_readers,
    their_readers,
)
from benchmarks.scripted_reader import Quality, ScriptedReader
from lightwell.models.endpoint import Endpoint
from lightwell.models.endpoint import connect as connected_endpoint
from lightwell.models.limiter import Priority
from lightwell.models.openai_chat import OpenAIChat
from lightwell.ports import ChatModel
from lightwell.records.database import Database, connect
from lightwell.testing.server import temporary_server
from lightwell.text.tokens import token_count

SEEDS = 10
QUALITIES = (
    Quality(first=0.9),
    Quality(first=0.7),
    Quality(first=0.5),
    Quality(first=0.7, careless=0.2),
)
# ── the tables ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one reader made of some documents."""

    said: Mapping[str, Said]
    scores: Mapping[str, Score]
    spent: Spent


async def outcome(reader: Reader, model: ChatModel, read: Sequence[Document]) -> Outcome:
    counted = CountedModel(model)
    said = {document.title: await reader.read(document, counted) for document in read}
    scores = {document.title: score(document, said[document.title]) for document in read}
    return Outcome(said=said, scores=scores, spent=counted.spent)


def row(name: str, outcomes: Sequence[Outcome], read: Sequence[Document]) -> str:
    whole = total(one.scores[document.title] for one in outcomes for document in read)
    tokens = len(outcomes) * sum(token_count(document.text) for document in read)
    sent = sum(one.spent.sent for one in outcomes) / tokens * 1000
    written = sum(one.spent.written for one in outcomes) / tokens * 1000
    calls = sum(one.spent.calls for one in outcomes) / len(outcomes)
    spoilt = sum(one.spent.spoilt for one in outcomes) / len(outcomes)
    return (
        f"| {name} | {whole.recall:.0%} | {whole.precision:.0%} | {whole.recall_of_pairs:.0%}"
        f" | {whole.pairs_written / len(outcomes):.0f} | {calls:.1f} | {sent:,.0f} | {written:,.0f}"
        f" | {sent + written:,.0f} | {spoilt:.1f} |"
    )


def head(title: str) -> None:
    print(f"\n{title}\n")
    print(
        "| | entities found | right of those written | relations found | pairs written | calls"
        " | sent per 1,000 | written per 1,000 | together | spoilt |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")


async def scripted(database: Database) -> None:
    read = documents()
    for quality in QUALITIES:
        title = (
            f"{quality.first:.0%} noted at first, {quality.second:.0%} of the rest at a second look"
        )
        head(title + f", {quality.careless:.0%} of rows careless" * bool(quality.careless))
        for reader in [*our_readers(database), *their_readers()]:
            outcomes = [
                await outcome(reader, ScriptedReader(read, quality, seed), read)
                for seed in range(SEEDS)
            ]
            print(row(reader.name, outcomes, read))


async def real(
    database: Database, model: ChatModel, read: Sequence[Document], *, only: str, told: bool
) -> None:
    outcomes: dict[str, Outcome] = {}
    for reader in [*our_readers(database), *their_readers()]:
        if only not in reader.name:
            continue
        print(reader.name)
        outcomes[reader.name] = await outcome(reader, model, read)
        if told:
            _tell(read, outcomes[reader.name])
    head(", ".join(document.title for document in read))
    for name, one in outcomes.items():
        print(row(name, [one], read))
    for tuned_on, title in ((True, "Those looked at while tuning"), (False, "The others")):
        some = [document for document in read if document.tuned_on is tuned_on]
        if not some:
            continue
        print(f"\n{title}: entities found / right / relations found")
        for name, one in outcomes.items():
            part = total(one.scores[document.title] for document in some)
            print(
                f"  {name}: {part.recall:.0%} / {part.precision:.0%} / {part.recall_of_pairs:.0%}"
            )


def _tell(read: Sequence[Document], one: Outcome) -> None:
    for document in read:
        names, wrong, pairs = missed(document, one.said[document.title])
        print(f"  {document.title}: missed {names}; wrong {wrong}; pairs missed {pairs}")


async def run(conninfo: str, options: argparse.Namespace) -> None:
    async with connect(conninfo) as database:
        if options.scripted:
            await scripted(database)
            return
        endpoint = Endpoint(
            base_url=options.url,
            api_key=SecretStr(options.key),
            model=options.model,
            concurrency=1,
            timeout_seconds=1800,
        )
        async with connected_endpoint(endpoint) as connection:
            chat = OpenAIChat(connection, priority=Priority.INGESTION)
            kept = KeptModel(chat, Path(options.keep))
            by_title = {one.title: one for one in documents()}
            read = [
                by_title[title] for title in (options.documents or ",".join(by_title)).split(",")
            ]
            await real(database, kept, read, only=options.only, told=options.told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripted", action="store_true", help="ask no model")
    parser.add_argument("--url", default="http://127.0.0.1:11434/v1")
    parser.add_argument("--model", default="local")
    parser.add_argument("--key-file", help="a file with the endpoint's key")
    parser.add_argument("--keep", default=".replies", help="the folder that keeps the replies")
    parser.add_argument("--only", default="", help="those readers whose name has this in it")
    parser.add_argument("--documents", help="titles, by commas; without it all six")
    parser.add_argument("--told", action="store_true", help="say what was missed and what is wrong")
    options = parser.parse_args()
    options.key = Path(options.key_file).read_text("utf-8").strip() if options.key_file else "none"
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with temporary_server() as uri:
        asyncio.run(run(uri, options))


if __name__ == "__main__":
    main()
