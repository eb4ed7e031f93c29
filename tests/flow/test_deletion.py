"""Deleting documents: one rebuild for all, a report, and nothing left to find."""

from collections.abc import Awaitable, Callable

import pytest

from lightwell.domain.access import Reader
from lightwell.domain.errors import NotFound
from lightwell.domain.graph import (
    ManualEdit,
    MergeStrategy,
    Predicate,
    RelationKey,
    RelationMention,
)
from lightwell.records.database import Database
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project
from .notes import Noted, noted
from .observed import entities_seen
from .test_ingestion import ingest, residue

SALES, SUPPORT = ["team:sales"], ["team:support"]


async def test_the_report_says_what_went_and_what_was_rebuilt(project: Project) -> None:
    await ingest(
        project,
        make_document("a.md", "Acme Corp met Jane Smith in Oslo.", SALES),
        make_document("b.md", "Acme Corp met Zyxwvut Ltd in Oslo.", SALES),
        make_document("c.md", "Acme Corp stays. Oslo is far.", SALES),
    )
    reader = await project.kb.reader(SALES)
    report = await project.kb.documents.delete(reader, ["file:///shelf/a.md", "file:///shelf/b.md"])
    assert len(report.documents) == report.removed.chunks == report.removed.vectors == 2
    gone = {ref.rpartition(":")[2] for ref in report.entities_deleted}
    rebuilt = {ref.rpartition(":")[2] for ref in report.entities_rebuilt}
    assert "jane-smith" in gone
    assert "acme-corp" in rebuilt
    assert not gone & rebuilt
    assert report.relations_deleted > 0
    assert report.removed.mentions >= len(gone) + len(rebuilt)
    assert report.errors == ()
    assert await residue(project, "zyxwvut") == []
    stale = await project.database.rows("SELECT count(*) FROM stale_profiles", {})
    assert stale == [(0,)]


async def test_many_documents_are_rebuilt_once(project: Project) -> None:
    await ingest(
        project, *(make_document(f"{n}.md", "Acme Corp met Jane Smith.", SALES) for n in range(6))
    )
    before = await profiles_updated(project)
    reader = await project.kb.reader(SALES)
    await project.kb.documents.delete(reader, [f"file:///shelf/{n}.md" for n in range(5)])
    after = await profiles_updated(project)
    assert {name for name, _ in after} <= {name for name, _ in before}
    assert len({moment for _, moment in after}) == 1


async def profiles_updated(project: Project) -> list[tuple[str, object]]:
    rows = await project.database.rows(
        "SELECT display_name, updated_at FROM profiles WHERE subject = 'entity' ORDER BY 1", {}
    )
    return [(str(name), moment) for name, moment in rows]


async def test_the_report_is_the_readers_and_says_nothing_of_others(project: Project) -> None:
    """What only others still see is gone for this reader."""
    await ingest(
        project,
        make_document("a.md", "Acme Corp met Jane Smith.", SALES),
        make_document("b.md", "Jane Smith wrote to Acme Corp.", SUPPORT),
    )
    reader = await project.kb.reader(SALES)
    report = await project.kb.documents.delete(reader, ["file:///shelf/a.md"])
    assert report.entities_rebuilt == ()
    other = await project.kb.reader(SUPPORT)
    assert (await project.kb.documents.status(other)).entities > 0


async def test_one_that_is_not_there_keeps_all(project: Project) -> None:
    await ingest(
        project,
        make_document("a.md", "Acme Corp.", SALES),
        make_document("b.md", "Acme Corp.", SUPPORT),
    )
    reader = await project.kb.reader(SALES)
    with pytest.raises(NotFound):
        await project.kb.documents.delete(reader, ["file:///shelf/a.md", "file:///shelf/b.md"])
    assert (await project.kb.documents.status(reader)).chunks == 1


async def test_erasing_leaves_not_even_the_name(project: Project) -> None:
    await ingest(project, make_document("zyxwvut.md", "Acme Corp met Jane Smith.", SALES))
    reader = await project.kb.reader(SALES)
    await project.kb.documents.erase(reader, ["file:///shelf/zyxwvut.md"])
    assert await residue(project, "zyxwvut") == []
    rows = await project.database.rows("SELECT count(*) FROM ingestion_jobs", {})
    assert rows == [(0,)]
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("zyxwvut.md", "Acme Corp is back.", SALES),))
    )
    assert (await project.kb.documents.status(await project.kb.reader(SALES))).chunks == 1


CANARY = "Zyxwvut Ltd (organization): sells pumps"


async def with_canary(database: Database) -> Noted:
    """Several documents, of which only one names Zyxwvut Ltd."""
    store = await noted(database, model=ScriptedModel(lambda _: "Zyxwvut and others, in short."))
    await store.put(
        "canary", SALES, CANARY, "Zyx Inc (organization): old", "Zyxwvut Ltd -> Zyx Inc [USES]: so"
    )
    await store.put("plain", SALES, "Acme Corp (organization): buys pumps", "Oslo (place): far")
    return store


async def merged(store: Noted, reader: Reader) -> None:
    await store.kb.graph.merge(reader, ["Zyxwvut Ltd"], "Zyx Inc")


async def merged_into_what_stays(store: Noted, reader: Reader) -> None:
    await store.kb.graph.merge(reader, ["Zyxwvut Ltd"], "Acme Corp")


async def target_of_what_stays(store: Noted, reader: Reader) -> None:
    await store.kb.graph.merge(reader, ["Acme Corp", "Oslo"], "Zyxwvut Ltd")


async def between_what_stays(store: Noted, reader: Reader) -> None:
    await store.kb.graph.merge(reader, ["Acme Corp"], "Zyxwvut Ltd")
    await store.kb.graph.merge(reader, ["Zyxwvut Ltd"], "Oslo")


async def merged_by_a_model(store: Noted, reader: Reader) -> None:
    by_model = MergeStrategy.LLM_SUMMARIZE
    await store.kb.graph.merge(reader, ["Zyxwvut Ltd"], "Acme Corp", strategy=by_model)


async def merged_and_taken_back(store: Noted, reader: Reader) -> None:
    await merged_by_a_model(store, reader)
    await store.kb.graph.unmerge(reader, "Zyxwvut Ltd")


async def hidden(store: Noted, reader: Reader) -> None:
    await store.kb.graph.delete(reader, "Zyxwvut Ltd")


async def unrelated(store: Noted, reader: Reader) -> None:
    key = RelationKey(source="Zyxwvut Ltd", predicate=Predicate.USES, target="Zyx Inc")
    await store.kb.graph.delete_relations(reader, [key])


async def related_and_taken_back(store: Noted, reader: Reader) -> None:
    """By hand, for a class that has no text on either."""
    said = RelationMention(subject="Zyxwvut Ltd", object="Oslo", predicate=Predicate.PART_OF)
    await store.kb.graph.relate(reader, said, tags=["user:ada"])
    ada = await store.kb.reader([*SALES, "user:ada"])
    key = RelationKey(source="Zyxwvut Ltd", predicate=Predicate.PART_OF, target="Oslo")
    await store.kb.graph.delete_relations(ada, [key])


async def rejected(store: Noted, reader: Reader) -> None:
    await store.kb.graph.reject(reader, "Zyxwvut Ltd", "Acme Corp")


async def s2_8_split(store: Noted, reader: Reader) -> None:
    canary = ["file:///shelf/canary.txt"]
    await store.kb.graph.split(reader, "Zyx Inc", "Zyxwvut Group", documents=canary)
    await store.kb.graph.split(reader, "Zyxwvut Ltd", "Acme Corp", documents=canary)


async def s2_8_split_and_undone(store: Noted, reader: Reader) -> None:
    await s2_8_split(store, reader)
    await store.kb.graph.unsplit(reader, "Acme Corp")
    await store.kb.graph.unsplit(reader, "Zyxwvut Group")


@pytest.mark.parametrize(
    "correct",
    [
        s2_8_split,
        s2_8_split_and_undone,
        merged,
        merged_into_what_stays,
        target_of_what_stays,
        between_what_stays,
        merged_by_a_model,
        merged_and_taken_back,
        hidden,
        unrelated,
        related_and_taken_back,
        rejected,
    ],
)
async def test_erasing_leaves_no_name_that_only_those_documents_had(
    database: Database, correct: Callable[[Noted, Reader], Awaitable[None]]
) -> None:
    store = await with_canary(database)
    reader = await store.kb.reader([*SALES, "user:ada"])
    await correct(store, reader)
    assert "entities" in await residue(store.project, "zyxwvut")
    del store.shelf["canary"]
    await store.kb.documents.erase(await store.kb.reader(SALES), ["file:///shelf/canary.txt"])
    assert await residue(store.project, "zyxwvut") == []
    stale = await store.project.database.rows("SELECT count(*) FROM stale_profiles", {})
    assert stale == [(0,)]


async def test_erasing_a_name_takes_its_merges_with_it(database: Database) -> None:
    """What was one only by way of that name is two again, and stays so when the name comes back."""
    store = await with_canary(database)
    reader = await store.kb.reader(SALES)
    await between_what_stays(store, reader)
    await store.kb.documents.erase(reader, ["file:///shelf/canary.txt"])
    portrait = await store.kb.graph.entity(reader, "Acme Corp")
    assert (portrait.entity.name, portrait.aliases) == ("Acme Corp", ())
    with pytest.raises(NotFound):
        await store.kb.graph.unmerge(reader, "Acme Corp")
    await store.put("canary", SALES, CANARY)
    assert (await store.kb.graph.entity(reader, "Zyxwvut Ltd")).aliases == ()
    assert (await store.kb.graph.entity(reader, "Acme Corp")).entity.name == "Acme Corp"


async def test_erasing_keeps_what_people_said_in_words_and_what_others_name(
    database: Database,
) -> None:
    store = await with_canary(database)
    await store.put("other", SUPPORT, "Osprey (place)", "Tarn (place)")
    both = await store.kb.reader([*SALES, *SUPPORT])
    await store.kb.graph.edit(both, "Zyxwvut Ltd", ManualEdit(description="Ours."), tags=SALES)
    await store.kb.graph.merge(both, ["Zyxwvut Ltd"], "Acme Corp")
    await store.kb.graph.merge(both, ["Osprey"], "Tarn")
    await store.kb.graph.delete(await store.kb.reader(SALES), "Oslo")
    await store.kb.documents.erase(await store.kb.reader(SALES), ["file:///shelf/canary.txt"])
    reader = await store.kb.reader([*SALES, *SUPPORT])
    assert (await store.kb.graph.entity(reader, "Zyxwvut Ltd")).entity.name == "Acme Corp"
    assert (await store.kb.graph.entity(reader, "Osprey")).entity.name == "Tarn"
    names = [entity.name for entity in await entities_seen(store.kb.graph, reader)]
    assert names == ["Acme Corp", "Tarn"]


async def test_deleting_without_erasing_keeps_merges(database: Database) -> None:
    store = await with_canary(database)
    reader = await store.kb.reader(SALES)
    await merged(store, reader)
    await store.kb.documents.delete(reader, ["file:///shelf/canary.txt"])
    await store.ingest()
    assert (await store.kb.graph.entity(reader, "Zyxwvut Ltd")).entity.name == "Zyx Inc"


async def test_the_report_calls_what_is_merged_as_its_reader_does(database: Database) -> None:
    store = await with_canary(database)
    await store.put("secret", SUPPORT, "Project Falcon (codename): is secret")
    both = await store.kb.reader([*SALES, *SUPPORT])
    await store.kb.graph.merge(both, ["Zyxwvut Ltd"], "Project Falcon")
    report = await store.kb.documents.delete(
        await store.kb.reader(SALES), ["file:///shelf/canary.txt"]
    )
    assert "falcon" not in str(report)
    assert report.entities_deleted == ("kg:organization:zyx-inc", "kg:organization:zyxwvut-ltd")


@pytest.mark.parametrize("how", ["soft", "hard"])
async def test_no_conversation_quotes_what_went(project: Project, how: str) -> None:
    await ingest(
        project,
        make_document("a.md", "Zyxwvut signed the contract about pumps.", SALES),
        make_document("b.md", "The dam in Tarn Valley was built in 1931.", SALES),
    )
    reader = await project.kb.reader(SALES)
    turn = await project.kb.questions.chat("Who signed the contract about pumps?", reader)
    assert "Zyxwvut" in turn.response.response
    assert "conversation_turns" in await residue(project, "zyxwvut")
    away = project.kb.documents.erase if how == "hard" else project.kb.documents.delete
    await away(reader, ["file:///shelf/a.md"])
    assert await residue(project, "zyxwvut") == []
    assert await project.kb.conversations.messages(reader, turn.conversation_id) == ()


# As a reply about a question is kept where a model finds keywords.
KEEP_KEYWORDS = """
INSERT INTO extraction_cache (id, project_id, cache_type, content_hash, result, is_complete, model, expires_at)
VALUES (gen_random_uuid(), %(project)s, 'KEYWORD_EXTRACTION', repeat('0', 64), 'Zyxwvut', true, 'm',
        now() + interval '1 hour')
"""


async def questions_about_what_goes(project: Project) -> Reader:
    """Ingest a document that alone says Zyxwvut, and ask what nothing answers and what a model would."""
    await ingest(
        project,
        make_document("a.md", "Zyxwvut signed the contract about pumps.", SALES),
        make_document("b.md", "The dam in Tarn Valley was built in 1931.", SALES),
        make_document("c.md", "The canteen is closed on Sundays.", SUPPORT),
    )
    reader = await project.kb.reader(SALES)
    turn = await project.kb.questions.chat("Which colour has the moon over Zyxwvut?", reader)
    assert not turn.response.sources
    await project.database.execute(KEEP_KEYWORDS, {"project": project.kb.project_id})
    await project.database.execute("ANALYZE", {})
    return reader


async def test_erasing_leaves_no_question_and_no_keyword_that_names_what_went(
    project: Project,
) -> None:
    reader = await questions_about_what_goes(project)
    assert {"conversation_turns", "extraction_cache"} <= set(await residue(project, "zyxwvut"))
    await project.kb.documents.erase(reader, ["file:///shelf/a.md"])
    assert await residue(project, "zyxwvut") == []


async def statistics_that_name(project: Project, name: str) -> list[tuple[str, str]]:
    """Return the columns of which the planner has samples with this name."""
    rows = await project.database.rows(
        "SELECT tablename, attname FROM pg_stats WHERE schemaname = current_schema() AND position("
        "%(name)s IN lower(coalesce(most_common_vals::text, '') || coalesce(histogram_bounds::text, '')"
        " || coalesce(most_common_elems::text, ''))) > 0",
        {"name": name},
    )
    return [(str(table), str(column)) for table, column in rows]


@pytest.mark.parametrize("rest", [["b.md"], []])
async def test_erasing_leaves_no_name_in_the_planners_statistics(
    project: Project, rest: list[str]
) -> None:
    """Also where a table is empty then, of which ANALYZE would leave them."""
    reader = await questions_about_what_goes(project)
    assert await statistics_that_name(project, "zyxwvut")
    gone = [f"file:///shelf/{name}" for name in ("a.md", "b.md") if name not in rest]
    await project.kb.documents.erase(reader, gone)
    assert await statistics_that_name(project, "zyxwvut") == []


async def test_whoever_never_saw_what_is_erased_keeps_every_question(project: Project) -> None:
    """That it went would tell that something was there."""
    reader = await questions_about_what_goes(project)
    other = await project.kb.reader(SUPPORT)
    turn = await project.kb.questions.chat("Which colour has the moon over Zyxwvut?", other)
    before = await project.kb.conversations.messages(other, turn.conversation_id)
    await project.kb.documents.erase(reader, ["file:///shelf/a.md"])
    assert await project.kb.conversations.messages(other, turn.conversation_id) == before != ()
