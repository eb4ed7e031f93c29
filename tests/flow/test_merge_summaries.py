"""Merges that a model summarises: each class by itself, through the cache and the meter, and undone without a trace."""

from collections.abc import Awaitable, Callable

import pytest

from lightwell.domain.errors import ModelFailed
from lightwell.domain.graph import ManualEdit, MergeStrategy
from lightwell.domain.usage import OperationType
from lightwell.records.database import Database, Row
from lightwell.testing.endpoint import FakeEndpoint
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import read_by_model
from .notes import Noted, dump, noted
from .test_summaries import note, reply_on_both, summaries

A, B, AB = ["team:a"], ["team:b"], ["team:a", "team:b"]
BY_MODEL = MergeStrategy.LLM_SUMMARIZE


async def kept(store: Noted) -> list[Row]:
    return await store.project.database.rows(
        "SELECT summary FROM merge_summaries UNION ALL SELECT result FROM extraction_cache", {}
    )


async def test_a_model_summarises_each_class_by_itself(database: Database) -> None:
    model = ScriptedModel(lambda messages: f"All of {len(messages[1].content.splitlines()) - 3}.")
    store = await noted(database, model=model)
    await store.put(
        "one", A, "Acme Corp (organization): sells pumps", "ACME Inc (company): makes taps"
    )
    await store.put("two", B, "Acme Corp (organization): in debt", "ACME Inc (company): in court")
    await store.put("three", ["team:c"], "Acme Corp (organization): c", "ACME Inc (company): d")
    reader = await store.kb.reader(AB)
    done = await store.kb.graph.merge(
        reader, ["ACME Inc"], "Acme Corp", strategy=MergeStrategy.LLM_SUMMARIZE
    )
    sent = sorted(each.messages[1].content for each in model.sent)
    assert len(sent) == 2
    assert "in debt" in sent[0]
    assert "in court" in sent[0]
    assert "pumps" not in sent[0]
    assert "in court" not in sent[1]
    assert done.target_entity.description == "All of 2."
    untold = await store.kb.graph.entity(await store.kb.reader(["team:c"]), "Acme Corp")
    assert untold.entity.description == "c"
    await store.put("four", A, "Acme Corp (organization): and seals")
    own = await store.kb.graph.entity(await store.kb.reader(A), "Acme Corp")
    assert own.entity.description == "sells pumps | and seals | makes taps"
    kept = await store.project.database.rows("SELECT class_id FROM merge_summaries", {})
    assert len(kept) == 1


async def test_a_model_that_fails_changes_nothing(database: Database) -> None:
    store = await noted(database, model=ScriptedModel([ModelFailed("down"), ""]))
    await store.put(
        "one", A, "Acme Corp (organization): sells pumps", "ACME Inc (company): makes taps"
    )
    reader = await store.kb.reader(A)
    before = await dump(store)
    for _ in range(2):
        with pytest.raises(ModelFailed):
            await store.kb.graph.merge(
                reader, ["ACME Inc"], "Acme Corp", strategy=MergeStrategy.LLM_SUMMARIZE
            )
    assert await dump(store) == before


async def test_what_a_model_said_before_another_call_failed_is_not_asked_again(
    database: Database,
) -> None:
    model = ScriptedModel(["Of one class.", ModelFailed("down"), "Of the other."])
    store = await noted(database, model=model)
    for name, tags in (("one", A), ("two", B)):
        lines = f"Acme Corp (organization): sells {name}", f"ACME Inc (company): makes {name}"
        await store.put(name, tags, *lines)
    reader = await store.kb.reader(AB)
    with pytest.raises(ModelFailed):
        await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp", strategy=BY_MODEL)
    done = await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp", strategy=BY_MODEL)
    assert len(model.sent) == 3
    assert set(done.target_entity.description.split(" | ")) == {"Of one class.", "Of the other."}


async def unmerged(store: Noted) -> None:
    await store.kb.graph.unmerge(await store.kb.reader(A), "ACME Inc")


async def silenced(store: Noted) -> None:
    await store.remove("one")


async def said_anew(store: Noted) -> None:
    await store.put("one", A, "Acme Corp (organization): old", "ACME Inc (company): new")


@pytest.mark.parametrize("change", [unmerged, silenced, said_anew])
async def test_no_summary_outlives_the_merge_or_what_it_was_made_of(
    database: Database, change: Callable[[Noted], Awaitable[None]]
) -> None:
    store = await noted(database, model=ScriptedModel(["A canary summary."]))
    await store.put("one", A, "Acme Corp (organization): a", "ACME Inc (company): b")
    await store.put("two", B, "Acme Corp (organization): c")
    reader = await store.kb.reader(A)
    await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp", strategy=BY_MODEL)
    await store.ingest()
    assert await kept(store) == [("A canary summary.",)] * 2
    await change(store)
    assert await kept(store) == []


async def test_a_merge_is_paid_for_as_a_summary_and_its_reply_is_kept(database: Database) -> None:
    paper = make_document("n.md", "Acme Corp met ACME Inc.", A, title="Note")
    said = "E|Acme Corp|organization|Sells pumps\nE|ACME Inc|organization|Makes taps\nEND"

    with FakeEndpoint(
        lambda body: "Both." if "Several passages" in str(body) else said
    ).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, meter):
            await project.kb.ingestion.ingest(InMemorySource(documents=(paper,)))
            reader = await project.kb.reader(A)
            done = await project.kb.graph.merge(
                reader, ["ACME Inc"], "Acme Corp", strategy=BY_MODEL
            )
            assert done.target_entity.description == "Both."
            assert meter.summary.by_operation_type[OperationType.SUMMARIZATION] > 0
            rows = await project.database.rows(
                "SELECT cache_type, result, chunk_id, id = ANY(reply_ids)"
                " FROM extraction_cache, merge_summaries WHERE cache_type = 'SUMMARIZATION'",
                {},
            )
            assert rows == [("SUMMARIZATION", "Both.", None, True)]


async def test_what_corrections_made_too_long_is_summarised_and_what_is_known_is_not_paid_for(
    database: Database,
) -> None:
    """Twelve notes say so much of Acme Corp that it is summarised; with a thirteenth thing they say more."""
    notes = [note(f"a{n}", A) for n in range(12)]
    other = make_document("n.md", "Bolt Ltd in note bolt.", A, title="Note")

    with FakeEndpoint(reply_on_both).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, _):
            await project.kb.ingestion.ingest(InMemorySource(documents=(*notes, other)))
            reader = await project.kb.reader(A)
            graph = project.kb.graph
            assert len(summaries(endpoint)) == 1
            renamed = await graph.edit(reader, "Acme Corp", ManualEdit(kind="company"))
            assert renamed.description.startswith("Summary of ")
            assert len(summaries(endpoint)) == 1
            done = await graph.merge(reader, ["Bolt Ltd"], "Acme Corp")
            assert done.target_entity.description.startswith("Summary of ")
            assert " | In note bolt " in done.target_entity.description
            assert len(summaries(endpoint)) == 1
            await graph.unmerge(reader, "Bolt Ltd")
            acme = (await graph.entity(reader, "Acme Corp")).entity
            assert acme.description.startswith("Summary of ")
            assert "note bolt" not in acme.description
