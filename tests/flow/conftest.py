"""A project on a fresh database, with the free embedder and extractor."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.ingest.context import IngestContext
from lightwell.ingest.graph_copy import GraphCopy
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Vectors
from lightwell.records import access_classes
from lightwell.records.database import Database
from lightwell.testing.models import HashEmbedder
from lightwell.wiring import make_retriever, rule_ingest_context
from tests.parsers import lent_parsers
from tests.store_combinations import POSTGRES, Stores
from tests.store_combinations import stores as stores  # a fixture of the tests in this folder


@dataclass(frozen=True)
class CountingEmbedder:
    """A free embedder that remembers which documents' texts it was given."""

    inner: HashEmbedder = field(default_factory=lambda: HashEmbedder(dimension=64))
    texts: list[str] = field(default_factory=list[str])

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts.extend(texts)
        return await self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)


@dataclass(frozen=True, kw_only=True)
class Project:
    """A knowledge base, with the parts that tests inspect."""

    kb: KnowledgeBase
    context: IngestContext
    database: Database
    embedder: CountingEmbedder


async def project_on(
    database: Database, name: str = "project", stores: Stores = POSTGRES, *, dimension: int = 64
) -> Project:
    """Return a project on this database, with its vectors, of this dimension, and the copy of its graph in these stores."""
    embedder = CountingEmbedder(inner=HashEmbedder(dimension=dimension))
    project_id = await access_classes.get_or_create_project(database, "tenant", name)
    context = await rule_ingest_context(
        database,
        project_id,
        embedder,
        lent_parsers()(),
        milvus=stores.milvus_for(project_id),
    )
    if stores.graph is not None:
        copy = GraphCopy(database=database, project_id=project_id, store=stores.graph)
        context = replace(context, graph_copy=copy)
    answers = AnswerGenerator(model=None)
    kb = KnowledgeBase(context, make_retriever(context), answers)
    return Project(kb=kb, context=context, database=database, embedder=embedder)


@pytest.fixture
async def project(database: Database) -> Project:
    return await project_on(database)
