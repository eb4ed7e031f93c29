"""What is written down of how a question went."""

from dataclasses import replace

import pytest

from lightwell.domain.evidence import Answer
from lightwell.domain.ids import QueryId, new_id
from lightwell.domain.questions import Strategy
from lightwell.records import queries
from lightwell.testing.shelf import Shelf, written

from .conftest import Project

TAGS = ["team:sales"]
QUESTION = "What discount does the Nordwind contract give?"


async def asked(project: Project) -> Answer:
    contract = "The Nordwind contract gives a discount of 18 percent."
    await project.kb.ingest(Shelf(documents=(written("contract.md", contract, TAGS),)))
    return await project.kb.ask(QUESTION, await project.kb.reader(TAGS))


@pytest.mark.parametrize(("top", "met"), [(0.59, False), (0.6, True)])
async def test_the_threshold_is_met_by_the_best_score_whatever_was_said(
    project: Project, *, top: float, met: bool
) -> None:
    """S3: 0.6 of the best reranked passage; a list of statements may be surer than that of itself."""
    answer = await asked(project)
    other = replace(
        answer,
        query_id=QueryId(new_id()),
        relevance=1.19 - top,
        metrics=replace(answer.metrics, rerank_top=top),
    )
    reader = await project.kb.reader(TAGS)
    await queries.record(project.database, reader, Strategy.HYBRID, other)
    rows = await project.database.rows(
        "SELECT confidence_threshold_met FROM retrieval_metrics WHERE query_id = %(query)s",
        {"query": other.query_id},
    )
    assert rows == [(met,)]
