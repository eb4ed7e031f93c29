"""Modes: what each mode finds, non-interference of each channel, and the query log."""

from uuid import uuid4

import pytest

from lightwell.domain.access import Reader
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.questions import (
    GRAPH_CHANNELS,
    PASSAGE_CHANNELS,
    Channel,
    Fusion,
    Mode,
    Question,
)
from lightwell.records.database import Database
from lightwell.retrieve.pipeline import Ranking
from lightwell.wiring import make_retriever

from .notes import Noted, noted

QUESTION = "Who supplies the pumps for the river station?"
OF_TWO_THINGS = "Who supplies the pumps for the river station, and who cooks the soup?"
OF_A_RELATION = "Who buys turbine blades every spring?"


async def described(database: Database, *, hidden: bool) -> Noted:
    """Return a project whose graph says things; with what team:b has, or without."""
    project = await noted(database, uuid4().hex)
    await project.put(
        "acme",
        ["team:a"],
        "Acme Corp (organization): supplies pumps for the river station",
        "Acme Corp -> Nordwind [USES]: buys turbine blades every spring",
    )
    await project.put("lunch", ["team:a"], "Jane Smith (person): cooks soup in the canteen")
    await project.put(
        "talk", ["team:a"], "The canteen serves soup at noon, and people sit outside."
    )
    if hidden:
        await project.put(
            "secret",
            ["team:b"],
            "Borealis (organization): supplies the best pumps for the river station of all",
            "Borealis -> Acme Corp [COMPARED_TO]: pumps for the river station cost half",
            "Acme Corp (organization): bribes the river station",
        )
    return project


def told(found: Retrieval) -> object:
    return (
        [
            (one.chunk.url, one.chunk.text, one.score, one.relevance, dict(one.ranks))
            for one in found.evidence
        ],
        [_entity(each) for each in found.entities],
        [_relation(each) for each in found.relations],
        {channel: each.hits for channel, each in found.metrics.channels.items()},
        found.best_relevance,
        found.notes,
        [(part.question.text, told(part)) for part in found.parts],
    )


def _entity(each: Entity) -> object:
    return (each.name, each.kind, each.description, each.chunk_count, each.paths)


def _relation(each: Relation) -> object:
    return (each.source, each.target, each.predicate, each.description, each.weight, each.paths)


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.BYPASS])
async def test_no_mode_feels_what_the_reader_may_not_see(
    database: Database, other_database: Database, mode: Mode
) -> None:
    full = await described(database, hidden=True)
    own = await described(other_database, hidden=False)
    asked = (QUESTION, OF_A_RELATION, "What do Acme Corp and Nordwind buy?")
    for text in asked:
        seen = await full.kb.questions.search(
            text, await full.kb.reader(["team:a"]), limit=20, mode=mode
        )
        due = await own.kb.questions.search(
            text, await own.kb.reader(["team:a"]), limit=20, mode=mode
        )
        assert told(seen) == told(due)
        assert "bribes" not in str(told(seen))


async def test_no_ranking_feels_what_hidden_documents_are_called_and_how_often_they_name_a_thing(
    database: Database, other_database: Database
) -> None:
    full = await described(database, hidden=False)
    own = await described(other_database, hidden=False)
    for number in range(12):  # more than make "Acme Corp" too common to follow links from
        await full.put(f"secret-{number}", ["team:b"], f"Acme Corp (organization): price {number}")
    await full.put("does-acme-corp-buy-lunch", ["team:b"], "Acme Corp (organization): eats")
    text = "Where does Acme Corp buy lunch?"  # gives the title of the visible "lunch", too
    seen = await full.kb.questions.search(text, await full.kb.reader(["team:a"]), limit=20)
    due = await own.kb.questions.search(text, await own.kb.reader(["team:a"]), limit=20)
    assert told(seen) == told(due)
    both = await full.kb.questions.search(
        text, await full.kb.reader(["team:a", "team:b"]), limit=20
    )
    assert told(both) != told(due)


@pytest.mark.parametrize(
    ("other", "parts"),
    [("who cooks the soup?", (2, 2)), ("how is Borealis compared to Acme Corp?", (0, 2))],
)
async def test_no_part_of_a_question_feels_what_the_reader_may_not_see(
    database: Database, other_database: Database, other: str, parts: tuple[int, int]
) -> None:
    full = await described(database, hidden=True)
    own = await described(other_database, hidden=False)
    text = f"Who supplies the pumps for the river station, and {other}"
    seen = await full.kb.questions.search(text, await full.kb.reader(["team:a"]), limit=20)
    due = await own.kb.questions.search(text, await own.kb.reader(["team:a"]), limit=20)
    assert told(seen) == told(due)
    both = await full.kb.questions.search(
        text, await full.kb.reader(["team:a", "team:b"]), limit=20
    )
    assert (len(seen.parts), len(both.parts)) == parts


async def test_a_question_of_several_parts_finds_no_more_passages_than_its_limit(
    database: Database,
) -> None:
    project = await described(database, hidden=False)
    reader = await project.kb.reader(["team:a"])
    text = "What does the canteen serve, and who cooks the soup?"
    found = await project.kb.questions.search(text, reader, limit=2)
    assert len(found.parts) == 2
    assert [each.chunk.text for each in found.evidence] == [
        part.evidence[0].chunk.text for part in found.parts
    ]
    listed = await project.kb.questions.statements(text, reader, limit=1)
    assert {cited.source_url for cited in listed.citations} == {found.evidence[0].chunk.url}


async def test_no_list_and_no_stream_feels_what_the_reader_may_not_see(
    database: Database, other_database: Database
) -> None:
    full = await described(database, hidden=True)
    own = await described(other_database, hidden=False)
    for text in (QUESTION, OF_A_RELATION, "Who bribes the river station?", OF_TWO_THINGS):
        seen = await listed_and_streamed(full, text)
        assert seen == await listed_and_streamed(own, text)
        assert "bribes" not in str(seen)


async def listed_and_streamed(project: Noted, text: str) -> object:
    reader = await project.kb.reader(["team:a"])
    listed = await project.kb.questions.statements(text, reader)
    return (
        [(each.text, each.dates, each.citations[0].snippet) for each in listed.sentences],
        [cited.snippet for cited in listed.nearest],
        (listed.confidence, listed.relevance),
        [
            (event.type, event.content, event.citation and event.citation.snippet)
            async for event in project.kb.questions.stream(text, reader)
        ],
    )


async def test_the_modes_would_feel_a_visible_document(
    database: Database, other_database: Database
) -> None:
    full = await described(database, hidden=True)
    own = await described(other_database, hidden=False)
    both = ["team:a", "team:b"]
    for mode in (Mode.NAIVE, Mode.LOCAL, Mode.GLOBAL):
        seen = await full.kb.questions.search(QUESTION, await full.kb.reader(both), mode=mode)
        due = await own.kb.questions.search(QUESTION, await own.kb.reader(both), mode=mode)
        assert told(seen) != told(due), mode


async def found_by(project: Noted, mode: Mode, text: str = QUESTION) -> Retrieval:
    return await project.kb.questions.search(text, await project.kb.reader(["team:a"]), mode=mode)


async def test_a_mode_draws_from_its_channels_and_no_other(database: Database) -> None:
    project = await described(database, hidden=False)
    naive = await found_by(project, Mode.NAIVE)
    assert naive.metrics.channels.keys() == PASSAGE_CHANNELS
    assert (naive.entities, naive.relations, naive.metrics.concepts) == ((), (), 0)
    local = await found_by(project, Mode.LOCAL)
    assert local.metrics.channels.keys() == {Channel.ENTITIES, Channel.NEIGHBOURS, Channel.LINKS}
    assert local.entities[0].name == "Acme Corp"
    assert local.relations == ()
    broad = await found_by(project, Mode.GLOBAL, OF_A_RELATION)
    assert broad.metrics.channels.keys() == {Channel.RELATIONS}
    assert [each.target for each in broad.relations] == ["Nordwind"]
    assert [each.chunk.title for each in broad.evidence] == ["acme"]
    both = await found_by(project, Mode.HYBRID)
    assert both.metrics.channels.keys() == GRAPH_CHANNELS
    mix = await found_by(project, Mode.MIX)
    assert mix.metrics.channels.keys() == frozenset(Channel)
    assert mix.evidence[0].chunk.title == "acme"


async def test_what_nobody_described_is_found_by_the_names_that_it_relates(
    database: Database,
) -> None:
    project = await noted(database, uuid4().hex)
    await project.put("one", ["team:a"], "Acme Corp -> Nordwind [USES]")
    await project.put("both", ["team:a"], "Acme Corp -> Jane Smith [USES]")
    await project.put("hidden", ["team:b"], "Acme Corp -> Jane Smith [USES]")
    await project.put("neither", ["team:a"], "Borealis -> Nordwind [USES]")

    broad = await found_by(project, Mode.GLOBAL, "What have Acme Corp and Jane Smith to do?")

    assert broad.metrics.channels[Channel.RELATIONS].hits == 2
    ranks = {one.chunk.title: one.ranks[Channel.RELATIONS] for one in broad.evidence}
    assert ranks == {"both": 0, "one": 1}


async def test_a_channel_can_be_left_out(database: Database) -> None:
    project = await described(database, hidden=False)
    asked = Question(
        text=QUESTION, excluded_channels=frozenset({Channel.LEXICAL, Channel.ENTITIES})
    )
    reader = await project.kb.reader(["team:a"])
    found = await make_retriever(project.project.context).retrieve(asked, reader)
    assert not found.metrics.channels.keys() & asked.excluded_channels


async def test_reciprocal_ranks_order_by_the_channels_places(database: Database) -> None:
    project = await described(database, hidden=False)
    reader = await project.kb.reader(["team:a"])
    by_ranks = make_retriever(project.project.context, ranking=Ranking(fusion=Fusion.RRF))
    found = await by_ranks.retrieve(Question(text=QUESTION), reader)
    scores = [sum(1 / (61 + rank) for rank in one.ranks.values()) for one in found.evidence]
    assert [one.score for one in found.evidence] == pytest.approx(scores, abs=1e-6)
    assert scores == sorted(scores, reverse=True)


async def link(project: Noted, reader: Reader, status: str) -> None:
    await project.project.database.execute(
        """
        INSERT INTO entity_links (link_id, project_id, from_ref, to_ref, class_id, link_type, directional,
                                  confidence, evidence, created_by, status)
        SELECT gen_random_uuid(), one.project_id, one.entity_id, other.entity_id, %(class)s, 'same_as', false, 0.9,
               '{}', 'user', %(status)s
        FROM entities AS one JOIN entities AS other USING (project_id)
        WHERE one.project_id = %(project)s
          AND one.normalized_name = 'acme corp' AND other.normalized_name = 'jane smith'
        """,
        {"class": reader.classes[0], "status": status, "project": reader.project_id},
    )


async def test_a_confirmed_link_brings_the_other_ends_passages_and_a_proposed_one_does_not(
    database: Database,
) -> None:
    project = await described(database, hidden=False)
    reader = await project.kb.reader(["team:a"])
    await link(project, reader, "proposed")
    found = await project.kb.questions.search("What of Acme Corp?", reader, mode=Mode.LOCAL)
    assert found.metrics.channels[Channel.LINKS].hits == 0
    await link(project, reader, "confirmed")
    found = await project.kb.questions.search("What of Acme Corp?", reader, mode=Mode.LOCAL)
    assert found.metrics.channels[Channel.LINKS].hits == 1
    assert "lunch" in {one.chunk.title for one in found.evidence}


async def test_a_question_leaves_its_strategy_and_its_channels_but_not_its_words(
    database: Database,
) -> None:
    project = await described(database, hidden=False)
    reader = await project.kb.reader(["team:a"])
    for mode in (Mode.NAIVE, Mode.GLOBAL, Mode.MIX):
        await project.kb.questions.ask(QUESTION, reader, mode=mode)
    rows = await database.rows(
        """
        SELECT strategy_used, query.*::text, metrics.*::text, channels
        FROM rag_queries AS query JOIN retrieval_metrics AS metrics ON metrics.query_id = query.id
        WHERE project_id = %(project)s ORDER BY query.id
        """,
        {"project": reader.project_id},
    )
    assert [row[0] for row in rows] == ["vector_only", "graph_only", "hybrid"]
    assert rows[0][3].keys() == {"dense", "words"}
    assert rows[2][3]["words"]["hits"] >= 1
    assert "pumps" not in str(rows)
