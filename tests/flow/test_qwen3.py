"""Qwen3-Embedding and Qwen3-Reranker as vLLM serves them: the requests are those of its protocol, and a small real model stands behind one."""

from typing import cast

import pytest
from pydantic import SecretStr

from lightwell import Invalid, KnowledgeBase, Settings, open_knowledge_base
from lightwell.models.bge import BgeSmall
from lightwell.settings import EmbeddingSettings, QuestionSettings, RerankerSettings
from lightwell.testing.endpoint import FakeEndpoint
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases

QUESTION = "What discount does Nordwind receive on all items?"
TASK = "Given a question, retrieve passages that answer it"
SALES = ["team:sales"]
NOTES = (
    make_document(
        "contract.md",
        "# Contract\n\nNordwind receives a discount of 18 percent on all items. The term is three years.",
        SALES,
    ),
    make_document("lunch.md", "# Lunch\n\nOn Fridays there is soup and bread in the hall.", SALES),
    make_document("boats.md", "# Boats\n\nThe Tarn 4 is a boat that was built in Bergen.", SALES),
)


def qwen3(database_url: str, endpoint: FakeEndpoint) -> Settings:
    return Settings(
        database_url=SecretStr(database_url),
        embedding=EmbeddingSettings(
            url=endpoint.base_url,
            model="Qwen/Qwen3-Embedding-8B",
            dimension=1536,
            matryoshka=True,
            instruction=TASK,
        ),
        questions=QuestionSettings(rerank="endpoint"),
        reranker=RerankerSettings(url=endpoint.base_url, model="Qwen/Qwen3-Reranker-4B"),
    )


async def urls(kb: KnowledgeBase, question: str) -> list[str]:
    found = await kb.questions.search(question, await kb.reader(SALES))
    return [each.chunk.url for each in found.evidence]


async def test_s3_13_vectors_of_4096_numbers_are_cut_and_questions_have_the_instruction(
    database_url: str,
) -> None:
    with FakeEndpoint(embedder=HashEmbedder(4096)).running() as fake:
        async with open_knowledge_base(qwen3(database_url, fake)) as kb:
            assert (await kb.ingestion.ingest(InMemorySource(documents=NOTES))).problems == ()
            answer = await kb.questions.ask(QUESTION, await kb.reader(SALES))
        embedded = [each.body for each in fake.requests if each.path == "/v1/embeddings"]
        reranked = [each.body for each in fake.requests if each.path.endswith("/rerank")]
    assert "18 percent" in answer.text
    texts = [text for body in embedded for text in cast("list[str]", body["input"])]
    assert f"Instruct: {TASK}\nQuery:{QUESTION}" in texts
    assert any("18 percent" in text and "Instruct" not in text for text in texts)
    # vLLM refuses `dimensions` for a model that is not declared as Matryoshka there.
    assert all("dimensions" not in body for body in embedded)
    assert {body["model"] for body in embedded} == {"Qwen/Qwen3-Embedding-8B"}
    assert {body["model"] for body in reranked} == {"Qwen/Qwen3-Reranker-4B"}
    assert {body["query"] for body in reranked} == {QUESTION}


async def test_s3_13_more_numbers_than_an_index_takes_are_refused_with_the_setting(
    database_url: str,
) -> None:
    with FakeEndpoint(embedder=HashEmbedder(4096)).running() as fake:
        whole = qwen3(database_url, fake).with_values(
            {"embedding.dimension": 0, "embedding.matryoshka": False}
        )
        with pytest.raises(Invalid, match=r"gives 4096.*LIGHTWELL_EMBEDDING_DIMENSION"):
            async with open_knowledge_base(whole):
                pass


async def test_s3_13_a_real_model_finds_behind_the_protocol_what_it_finds_bundled(
    database_url: str, databases: Databases
) -> None:
    asked = (QUESTION, "Where was the boat built?", "What can one eat?")
    bundled = Settings(
        database_url=SecretStr(database_url), questions=QuestionSettings(rerank="none")
    )
    async with open_knowledge_base(bundled) as kb:
        await kb.ingestion.ingest(InMemorySource(documents=NOTES))
        expected = [await urls(kb, each) for each in asked]
    with FakeEndpoint(embedder=BgeSmall()).running() as fake, databases.lent() as other:
        served = bundled.with_values(
            {
                "database_url": SecretStr(other),
                "embedding.url": fake.base_url,
                "embedding.model": "bge-small-en-v1.5",
            }
        )
        async with open_knowledge_base(served) as kb:
            await kb.ingestion.ingest(InMemorySource(documents=NOTES))
            assert [await urls(kb, each) for each in asked] == expected
