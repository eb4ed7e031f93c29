"""The fields of retrieved passages (S2 and S3 of the specification), from real documents."""

from dataclasses import replace
from operator import attrgetter

from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.questions import Channel, Question
from lightwell.entrypoints.operations.searches import Passages
from lightwell.retrieve.passages import Passage, join_passage
from lightwell.retrieve.pipeline import Ranking
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever
from tests.passages import chunk, found, passage

from .conftest import Project

TAGS = ["team:a"]
PRICES = "# Prices\n\n| pump | price |\n|---|---|\n| Tarn 4 | 480 EUR |\n"
START = "# Starting the gateway\n\n```bash\nsystemctl start gateway\n```\n"


async def test_a_passage_knows_what_it_holds_and_when_it_came(project: Project) -> None:
    documents = (make_document("prices.md", PRICES, TAGS), make_document("start.md", START, TAGS))
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    reader = await project.kb.reader(TAGS)
    (prices,) = (await project.kb.questions.search("Tarn 4 price", reader, limit=1)).evidence
    (start,) = (await project.kb.questions.search("starting the gateway", reader, limit=1)).evidence
    for each, table, code in ((prices, True, False), (start, False, True)):
        assert (each.chunk.has_table, each.chunk.has_code) == (table, code)
        assert not each.chunk.has_formula
        assert each.chunk.ingested_at is not None
        assert each.chunk.ingested_at >= each.chunk.updated_at


def test_a_joined_passage_holds_what_one_of_its_chunks_holds() -> None:
    one, other = chunk("One."), replace(chunk("Other."), has_formula=True)
    joined = replace(
        passage(join_passage(Passage(best=one.id, members=(one, other)))),
        members=(one, other),
        ranks={Channel.DENSE: 3, Channel.LEXICAL: 0, Channel.LINKS: 1},
    )
    alone = replace(passage(chunk("Pumps are blue. " * 60)), ranks={Channel.RELATIONS: 2})
    first, second = Passages.model_validate(found("What?", joined, alone)).results
    assert (first.metadata.has_formula, first.metadata.has_table) == (True, False)
    fused = attrgetter("rrf_score", "vector_rank", "graph_rank", "in_both_sources")
    assert fused(first) == (round(1 / 64 + 1 / 61 + 1 / 62, 6), 0, 1, True)
    assert fused(second) == (round(1 / 63, 6), None, 2, False)
    assert second.snippet == "Pumps are blue."


async def test_without_a_reranker_no_sentence_is_embedded_and_terms_choose_the_best_one(
    project: Project,
) -> None:
    text = "The yard is large. The pump Tarn 4 costs 480 EUR. The gate is green and wide."
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("a.md", text, TAGS),))
    )
    reader = await project.kb.reader(TAGS)
    asked = Question(text="What does the pump Tarn 4 cost?")
    project.embedder.texts.clear()
    retriever = make_retriever(project.context, ranking=Ranking(is_local=False))
    [entry] = (await retriever.retrieve(asked, reader)).evidence
    best = entry.highlights[0]
    assert project.embedder.texts == []
    assert entry.chunk.text[best.start : best.end] == "The pump Tarn 4 costs 480 EUR."
    await make_retriever(project.context).retrieve(asked, reader)
    assert project.embedder.texts != []


async def test_a_retrieval_carries_the_analysis_of_its_question(project: Project) -> None:
    reader = await project.kb.reader(TAGS)
    retrieval = await project.kb.questions.search(
        "Who promised Ada Smith 480 EUR by 3 May 2026?", reader
    )
    analysis = retrieval.analysis
    assert analysis == analyze_question("Who promised Ada Smith 480 EUR by 3 May 2026?")
    assert analysis.capitalized_names == ("Ada Smith", "EUR", "May")
    assert analysis.keywords.low == ("Ada Smith 480 EUR", "3 May 2026")
    assert [(day.year, day.month, day.day) for day in analysis.dates] == [(2026, 5, 3)]
    assert analysis.expected.figures >= {"480"}
    assert "commit" in analysis.speech_acts
    assert not analysis.asks_for_message_content
