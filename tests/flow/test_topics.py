"""A question on one topic finds its documents, however many documents on other topics match."""

from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import product

import pytest

from lightwell.domain.errors import Invalid
from lightwell.domain.questions import Filters, Mode
from lightwell.entrypoints.operations.questions import DocumentFilters
from lightwell.records.database import Database
from lightwell.retrieve.channels import MAX_FOUND
from lightwell.stores.postgres.vectors import PostgresVectors, SearchLimits
from lightwell.testing.sources import InMemorySource, make_document

from .notes import noted

SAID = (
    "Acme Corp (organization): supplies pumps for the river station",
    "Acme Corp -> Nordwind [USES]: buys turbine blades every spring",
)


MODES = [mode for mode in Mode if mode is not Mode.BYPASS]
QUESTION = "Which pumps does Acme Corp supply, and who buys turbine blades?"


async def test_a_topic_is_searched_by_itself_and_not_what_is_left_of_everything(
    database: Database,
) -> None:
    project = await noted(database)
    elsewhere = [
        make_document(f"{number:03}.txt", "\n".join((*SAID, f"Note {number}.")), ["team:a"])
        for number in range(MAX_FOUND + 20)
    ]
    clinic = make_document("visit.txt", "\n".join((*SAID, "A visit.")), ["team:a"], topic="clinic")
    await project.kb.ingestion.ingest(InMemorySource(documents=(*elsewhere, clinic)))
    reader = await project.kb.reader(["team:a"])
    search = partial(project.kb.questions.search, QUESTION, reader)
    for mode in MODES:
        evidence = await search(mode=mode, filters=Filters(topic="clinic"))
        assert [one.chunk.url for one in evidence.evidence] == [clinic.url], mode
        assert all(channel.hits <= 1 for channel in evidence.metrics.channels.values()), mode
        assert len((await search(mode=mode)).evidence) > 1, mode


_FROM_A_SOURCE = """
WITH made AS (
    INSERT INTO sources (source_id, project_id, name, system, every_seconds, sweep_seconds)
    VALUES (gen_random_uuid(), %(project_id)s, 'tracker', 'linear', 60, 60) RETURNING source_id
)
UPDATE source_documents SET source_key = made.source_id FROM made WHERE source_system = 'linear'
"""

FILTERS = {
    "system": Filters(systems=("linear",)),
    "type": Filters(kinds=("issue",)),
    "since": Filters(since=date(2026, 3, 2)),
    "until": Filters(until=date(2026, 3, 2), since=date(2026, 3, 2), systems=("linear",)),
    "source": Filters(sources=("none", "tracker")),
    "author": Filters(authors=("bob", " okafor,  ada ")),
    "tag": Filters(tags=("team:none", "team:desk")),
    "metadata": Filters(metadata=(("phase", "two"), ("site", "north"))),
    "several": Filters(systems=("attio", "linear"), kinds=("issue",), authors=("Ada",)),
}


async def test_a_filter_is_searched_by_itself_and_not_what_is_left_of_everything(
    database: Database,
) -> None:
    project = await noted(database)
    text = "\n".join(SAID)
    elsewhere = [
        make_document(f"{number:03}.txt", f"{text}\nNote {number}.", ["team:a"])
        for number in range(MAX_FOUND + 20)
    ]
    dated = make_document("a.txt", f"{text}\nDate: 1 March 2026", ["team:a"])
    wanted = replace(
        make_document("visit.txt", f"{text}\nA visit.", ["team:a", "team:desk"]),
        metadata={"author": "Okafor, Ada", "phase": "two", "site": "north", "other": "yes"},
        system="linear",
        kind="issue",
        updated_at=datetime(2026, 3, 2, 23, 30, tzinfo=UTC),
    )
    hidden = replace(
        wanted,
        url="file:///shelf/h.txt",
        source_id="h",
        acl_tags=frozenset(["team:b", "team:desk"]),
    )
    documents = (*elsewhere, dated, wanted, hidden)
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    await database.execute(_FROM_A_SOURCE, {"project_id": project.kb.project_id})
    reader = await project.kb.reader(["team:a"])
    search = partial(project.kb.questions.search, QUESTION, reader)
    for mode, (name, filters) in product(MODES, FILTERS.items()):
        evidence = await search(mode=mode, filters=filters)
        assert [one.chunk.url for one in evidence.evidence] == [wanted.url], (mode, name)
        hits = [channel.hits for channel in evidence.metrics.channels.values()]
        assert max(hits) <= 1, (mode, name)
    for name, filters in FILTERS.items():
        nothing = await search(filters=replace(filters, topic="clinic"))
        assert not nothing.evidence, name


@pytest.mark.parametrize(
    "filters",
    [
        Filters(authors=("Ad",)),
        Filters(authors=("Ada Bob",)),
        Filters(authors=("%",)),
        Filters(metadata=(("phase", "one"),)),
        Filters(metadata=(("phase", "two"), ("site", "south"))),
        Filters(tags=("team:b",)),
        Filters(sources=("linear",)),
    ],
)
async def test_a_filter_that_no_document_of_the_reader_matches_finds_nothing(
    database: Database, filters: Filters
) -> None:
    project = await noted(database)
    seen = replace(
        make_document("a.txt", "\n".join(SAID), ["team:a"]),
        metadata={"author": "Ada Okafor", "phase": "two", "site": "north"},
    )
    hidden = make_document("h.txt", "\n".join(SAID), ["team:b"])
    await project.kb.ingestion.ingest(InMemorySource(documents=(seen, hidden)))
    reader = await project.kb.reader(["team:a"])
    found = await project.kb.questions.search("Who buys blades?", reader, filters=filters)
    assert not found.evidence


def test_a_request_names_one_value_or_several_and_an_empty_text_is_any() -> None:
    body = {"system": "", "type": "issue", "author": ["Ada", "Bob"], "metadata": {"phase": "two"}}
    assert DocumentFilters.model_validate(body).with_topic("") == Filters(
        kinds=("issue",), authors=("Ada", "Bob"), metadata=(("phase", "two"),)
    )


def test_too_many_values_and_too_long_ones_are_refused() -> None:
    with pytest.raises(Invalid, match="at most 20 values of system"):
        Filters(systems=("a",) * 21)
    with pytest.raises(Invalid, match="author has at most 256"):
        Filters(authors=("a" * 257,))


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(Invalid, match="no day"):
        Filters(since=date(2026, 3, 2), until=date(2026, 3, 1))


async def test_the_approximate_search_keeps_to_the_topic(database: Database) -> None:
    project = await noted(database)
    texts = [
        make_document(f"{number:03}.txt", f"Note {number}: of pumps.", ["team:a"], topic=topic)
        for number, topic in enumerate(["clinic", *["works"] * 60])
    ]
    await project.kb.ingestion.ingest(InMemorySource(documents=tuple(texts)))
    reader = await project.kb.reader(["team:a"])
    vectors, space = (
        PostgresVectors(database, limits=SearchLimits(exact=0, signs=0, signs_of_part=0)),
        project.project.context.space.id,
    )
    assert await vectors.build(space)
    asked = (await project.project.embedder.embed_query("Note 30: of pumps."))[0]

    for topic, due in (("clinic", 1), ("works", 20), ("", 20), ("nothing", 0)):
        hits = await vectors.nearest(space, asked, reader, limit=20, filters=Filters(topic=topic))
        assert len(hits) == due, topic
    for kind, due in (("document", 20), ("issue", 0)):
        hits = await vectors.nearest(space, asked, reader, limit=20, filters=Filters(kinds=(kind,)))
        assert len(hits) == due, kind
