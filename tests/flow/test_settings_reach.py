"""Settings reach what they are about, through the one place that puts everything together."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from lightwell.ports import Vectors
from lightwell.records.database import Database
from lightwell.settings import ChatSettings, IngestionSettings, Settings
from lightwell.testing.endpoint import Body, FakeEndpoint
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base

from .extraction_model import content
from .test_model_extraction import LIST
from .test_summaries import note, reply, summaries


@dataclass(frozen=True)
class Sizes:
    """An embedder that remembers how many texts it was given at once."""

    inner: HashEmbedder = field(default_factory=HashEmbedder)
    given: list[int] = field(default_factory=list[int])

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.given.append(len(texts))
        return await self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)


SUPPLIERS = ("Alden", "Borum", "Castor", "Delvin", "Ebner", "Farlow", "Gantry", "Holm")
PAPERS = tuple(
    make_document(f"{name}.md", f"Acme Corp met {name} GmbH about a pump in Oslo.", ["team:a"])
    for name in SUPPLIERS
)


async def test_batches_are_as_large_as_the_settings_say(
    database: Database, database_url: str
) -> None:
    sizes = Sizes()
    chosen = Settings(
        database_url=SecretStr(database_url),
        ingestion=IngestionSettings(embedding_batch_size=3, graph_batch_size=4),
    )
    async with open_knowledge_base(chosen, around=lambda _: sizes) as kb:
        await kb.ingestion.ingest(InMemorySource(documents=PAPERS))
    assert sizes.given[:3] == [3, 3, 2]
    refreshed = await database.rows(
        "SELECT count(*) FROM profiles GROUP BY updated_at ORDER BY updated_at", {}
    )
    assert sum(count for (count,) in refreshed) > len(SUPPLIERS)
    assert all(count <= 4 for (count,) in refreshed)


def by_model(url: str, endpoint: FakeEndpoint, values: Mapping[str, object]) -> Settings:
    return Settings(
        database_url=SecretStr(url),
        chat=ChatSettings(url=endpoint.base_url, model="reader"),
        ingestion=IngestionSettings(extraction="model"),
    ).with_values(values)


@pytest.mark.parametrize("passes", [0, 1])
async def test_so_many_second_looks_as_the_settings_allow(database_url: str, passes: int) -> None:
    with FakeEndpoint(lambda _: "E|Ada Moss|person|Met people\nEND").running() as endpoint:
        chosen = by_model(database_url, endpoint, {"ingestion.gleaning_passes": passes})
        async with open_knowledge_base(chosen, around=lambda _: Sizes()) as kb:
            await kb.ingestion.ingest(
                InMemorySource(documents=(make_document("a.md", LIST, ["team:a"]),))
            )
        assert len(endpoint.requests) == 1 + passes


async def test_descriptions_are_as_long_as_the_settings_allow(database_url: str) -> None:
    notes = tuple(note(f"a{n}", ["team:a"]) for n in range(3))
    with FakeEndpoint(reply).running() as endpoint:
        for most, asked in ((500, 0), (100, 1)):
            chosen = by_model(database_url, endpoint, {"ingestion.description_max_tokens": most})
            async with open_knowledge_base(chosen, around=lambda _: Sizes()) as kb:
                await kb.ingestion.ingest(InMemorySource(documents=notes))
                await kb.ingestion.reread(await kb.reader(["team:a"]), None)
            assert len(summaries(endpoint)) == asked
        (summary,) = summaries(endpoint)
        assert summary.body["max_tokens"] == 100
        assert "at most 60 words" in content(summary.body, 0)


def long_paper(n: int) -> str:
    reports = " ".join(
        f"Acme Corp wrote report {n}{m} on the valve of Pump {n}." for m in range(12)
    )
    return f"Acme Corp met Jane Smith about Pump {n} in Oslo. {reports}"


async def test_answers_and_briefs_are_shown_no_more_than_the_settings_allow(
    database_url: str,
) -> None:
    papers = tuple(make_document(f"{n}.md", long_paper(n), ["team:a"]) for n in range(8))
    with FakeEndpoint(lambda _: "INSUFFICIENT").running() as endpoint:
        chosen = by_model(
            database_url, endpoint, {"ingestion.extraction": "rules", "context.max_tokens": 500}
        )
        async with open_knowledge_base(chosen, around=lambda _: Sizes()) as kb:
            await kb.ingestion.ingest(InMemorySource(documents=papers))
            reader = await kb.reader(["team:a"])
            answer = await kb.questions.ask("Who met Jane Smith about Pump 3 in Oslo?", reader)
            await kb.questions.brief("Acme Corp", reader)
        assert 0 < answer.context_tokens <= 500
        shown = [content(asked.body, 1) for asked in endpoint.requests]
        assert [text.count("Acme Corp met") for text in shown] == [2, 2]


async def test_the_floor_and_the_second_judge_are_those_of_the_settings(database_url: str) -> None:
    said = "Jane Smith met Acme Corp in Oslo."
    sentence = {"text": said, "citations": [1]}
    given = json.dumps({"answerable": True, "sentences": [sentence]})

    def say(body: Body) -> str:
        return '{"supported": false}' if content(body, 0).startswith("You check") else given

    with FakeEndpoint(say).running() as endpoint:
        for options, answers, calls in (
            ({"context.min_relevance": 0.0}, [said], 1),
            ({"context.min_relevance": 0.0, "questions.verify": "model"}, [], 2),
            ({"context.min_relevance": 1.0}, [], 0),
        ):
            endpoint.requests.clear()
            chosen = by_model(database_url, endpoint, {"ingestion.extraction": "rules", **options})
            async with open_knowledge_base(chosen, around=lambda _: Sizes()) as kb:
                source = InMemorySource(documents=(make_document("a.md", said, ["team:a"]),))
                await kb.ingestion.ingest(source)
                answer = await kb.questions.ask(
                    "Whom did the auditors pay?", await kb.reader(["team:a"])
                )
            assert [each.text for each in answer.sentences] == answers
            assert len(endpoint.requests) == calls
