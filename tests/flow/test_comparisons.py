"""What a model extracts of a comparison, on every way by which a reader gets it: none drops it, none crosses classes."""

import json
from collections.abc import AsyncGenerator

import pytest

import lightwell.entrypoints.operations.briefs as brief_replies
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.access import Reader, TagAuthority
from lightwell.domain.briefs import Brief
from lightwell.domain.graph import Predicate, RelationMention
from lightwell.entrypoints.operations import graph
from lightwell.entrypoints.operations.declaration import Caller
from lightwell.entrypoints.operations.searches import Passages
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records.database import Database
from lightwell.testing.endpoint import Body, FakeEndpoint
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever

from .conftest import Project
from .extraction_model import passage, read_by_model
from .notes import Noted, noted

COMPARISON = "Dijkstra is O(E log V) and Heap is O(log n)"
USE_CASE = "use Heap alone for small n"
QUESTION = "How is Dijkstra compared to Heap?"
TEAM = ["team:a"]
BOTH = {("COMPARED_TO", COMPARISON, USE_CASE), ("PREREQUISITE", "", "")}
NOT_ANSWERABLE = json.dumps({"answerable": False, "sentences": list[str]()})


def _extract(body: Body) -> str:
    if "Dijkstra" not in passage(body):
        return "END"
    return "\n".join(
        (
            "E|Dijkstra|concept|an algorithm on graphs",
            "E|Heap|concept|a tree",
            "R|Dijkstra|Heap|PREREQUISITE|queue|takes the nearest vertex from it|5|0.9",
            f"R|Dijkstra|Heap|COMPARED_TO|cost||5|0.9|{COMPARISON}|{USE_CASE}",
            "END",
        )
    )


@pytest.fixture
async def extracted(database: Database) -> AsyncGenerator[Project]:
    """A project in which a model extracted a comparison of which the passage itself says nothing."""
    with FakeEndpoint(_extract).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, _):
            document = make_document("a.md", "Chapter three has Dijkstra and a Heap.", TEAM)
            done = await project.kb.ingestion.ingest(InMemorySource(documents=(document,)))
            assert done.problems == ()
            yield project


async def test_s3_10_search_names_the_comparison_and_its_use_case(extracted: Project) -> None:
    reader = await extracted.kb.reader(TEAM)
    found = await extracted.kb.questions.search(QUESTION, reader)
    relations = Passages.model_validate(found).relations
    assert {(each.predicate, each.comparison, each.use_case) for each in relations} == BOTH


async def test_s3_10_a_chat_model_is_shown_the_comparison_and_the_predicate_in_words(
    extracted: Project,
) -> None:
    model = ScriptedModel(lambda _: NOT_ANSWERABLE)
    kb = KnowledgeBase(
        extracted.context, make_retriever(extracted.context), AnswerGenerator(model=model)
    )
    await kb.questions.ask(QUESTION, await kb.reader(TEAM))
    sent = model.sent[0].messages[-1].content
    assert (
        f'- Dijkstra → Heap (compared with; cost): comparison: "{COMPARISON}"; use case: "{USE_CASE}"'
        in sent
    )
    assert "- Dijkstra → Heap (needs; queue): takes the nearest vertex from it" in sent


async def test_s3_10_the_graph_answers_with_the_comparison_and_a_conversation_keeps_it(
    extracted: Project,
) -> None:
    kb = extracted.kb
    reader = await kb.reader(TEAM)
    turn = await kb.questions.chat(QUESTION, reader)
    said = f'Dijkstra → Heap (compared with): comparison: "{COMPARISON}"; use case: "{USE_CASE}"'
    assert said in turn.response.response
    assert turn.response.sources[0].source == "LightRAG Answer"
    kept = await kb.conversations.messages(reader, turn.conversation_id)
    assert kept[-1].content == turn.response.response


async def test_s3_10_graph_commands_and_briefs_have_the_comparison(extracted: Project) -> None:
    kb = extracted.kb
    reader = await kb.reader(TEAM)
    authority = TagAuthority(tags=reader.tags)
    caller = Caller(knowledge_base=kb, reader=reader, authority=authority)
    listed = (await graph.list_relations.run(caller)).relations
    shown = (await graph.get_entity.run(caller, "Heap")).relations
    for relations in (listed, shown):
        assert {
            (relation.predicate, relation.comparison, relation.use_case) for relation in relations
        } == BOTH
    (link,) = brief_replies.Brief.model_validate(await _brief(kb, "Heap", reader)).links
    assert (link.entity_name, link.comparison, link.use_case) == ("Dijkstra", COMPARISON, USE_CASE)


async def _brief(kb: KnowledgeBase, name: str, reader: Reader) -> Brief:
    brief = await kb.questions.brief(name, reader)
    assert isinstance(brief, Brief)
    return brief


HIDDEN = "Pump 7 -> Pump 9 [COMPARED_TO]:  // Pump 9 has a secret flaw // for no one"
OWN = "Pump 7 -> Pump 9 [COMPARED_TO]:  // Pump 7 is cheaper // for floods"
ASKED = "How is Pump 7 compared to Pump 9?"


async def _all_ways(store: Noted, reader: Reader) -> object:
    """Return all that a reader gets of comparisons, and what a chat model is sent."""
    kb, context = store.kb, store.project.context
    model = ScriptedModel(lambda _: NOT_ANSWERABLE)
    generating = KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=model))
    await generating.questions.ask(ASKED, reader)
    found = await kb.questions.search(ASKED, reader)
    return (
        [(each.source, each.comparison, each.use_case) for each in found.relations],
        [each.messages for each in model.sent],
        (await kb.questions.chat(ASKED, reader)).response.response,
        [(each.name, each.comparison) for each in (await _brief(kb, "Pump 7", reader)).links],
        [(each.key, each.comparison) async for each in kb.graph.relations(reader)],
    )


async def test_what_others_say_of_a_comparison_reaches_no_reader_on_any_way(
    database: Database, other_database: Database
) -> None:
    full, own = await noted(database), await noted(other_database)
    await full.put("s", ["team:b"], "The pumps of Pump 7 and Pump 9.", HIDDEN)
    hidden_from = await full.kb.reader(["team:b"])
    by_hand = RelationMention(
        subject="Pump 7",
        object="Pump 9",
        predicate=Predicate.COMPARED_TO,
        comparison="secretly worse",
        use_case="never",
    )
    await full.kb.graph.relate(hidden_from, by_hand)
    for store in (full, own):
        await store.put("v", ["team:a"], "The pumps of Pump 7 and Pump 9.", OWN)
    seen = await _all_ways(full, await full.kb.reader(["team:a"]))
    assert seen == await _all_ways(own, await own.kb.reader(["team:a"]))
    assert "is cheaper" in str(seen)
    assert "secret" in str(await _all_ways(full, hidden_from))


async def test_a_comparison_goes_with_its_document_also_from_conversations(
    database: Database,
) -> None:
    store = await noted(database)
    await store.put("v", TEAM, "The pumps of Pump 7 and Pump 9.", OWN)
    await store.put("w", TEAM, "Pump 7 (pump)", "Pump 9 (pump)")
    reader = await store.kb.reader(TEAM)
    turn = await store.kb.questions.chat(ASKED, reader)
    assert "is cheaper" in turn.response.response
    await store.remove("v")
    reader = await store.kb.reader(TEAM)
    assert await store.kb.conversations.messages(reader, turn.conversation_id) == ()
    rows = await database.rows("SELECT comparison, use_case FROM profiles", {})
    assert set(rows) == {("", "")}


async def test_a_relation_by_hand_keeps_nothing_of_a_document_that_is_gone(
    database: Database,
) -> None:
    store = await noted(database)
    await store.put("v", TEAM, "Pump 7 -> Pump 9 [COMPARED_TO]: old words // old // case")
    await store.put("w", TEAM, "Pump 7 (pump)", "Pump 9 (pump)")
    reader = await store.kb.reader(TEAM)
    by_hand = RelationMention(
        subject="Pump 7", object="Pump 9", predicate=Predicate.COMPARED_TO, comparison="by hand"
    )
    related = await store.kb.graph.relate(reader, by_hand)
    assert (related.description, related.comparison) == ("old words", "by hand | old")
    await store.remove("v")
    (related,) = (await store.kb.graph.entity(reader, "Pump 7")).relations
    assert (related.description, related.comparison, related.use_case) == ("", "by hand", "")
