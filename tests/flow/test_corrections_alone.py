"""A correction waits for what it touched, and for nothing that waited before it."""

from dataclasses import replace

import pytest

from lightwell.domain.graph import ManualEdit
from lightwell.ingest.derived_data import finish_derived
from lightwell.records.database import Database
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import read_by_model
from .notes import Noted, noted
from .test_merging import A
from .test_profile_vectors import embedded, rows
from .test_settings_reach import Sizes
from .test_summaries import note, reply_on_both, summaries

FIRMS = [f"Firm {n} (organization): sells pump {n}" for n in range(10)]


@pytest.fixture
async def behind(database: Database) -> Noted:
    """A project whose ten firms wait for their vectors."""
    store = await noted(database)
    await store.put("firms", A, *FIRMS)
    await store.project.database.execute(
        "UPDATE described_profiles SET changed = true, text_hash = NULL", {}
    )
    assert (await rows(store))[1] == 10
    return store


async def test_an_edit_embeds_what_it_touched_and_leaves_the_rest(behind: Noted) -> None:
    reader = await behind.kb.reader(A)
    before = len(embedded(behind))
    await behind.kb.graph.edit(reader, "Firm 3", ManualEdit(description="makes taps"))
    (anew,) = embedded(behind)[before:]
    assert anew.endswith("makes taps")
    assert (await rows(behind))[1] == 9
    await behind.kb.graph.merge(reader, ["Firm 4"], "Firm 5")
    assert (
        len(embedded(behind)) == before + 1
    )  # a merge changes no profile: it is applied when somebody reads
    assert (await rows(behind))[1] == 9
    await behind.ingest()
    assert (await rows(behind))[1] == 0


async def test_profiles_are_embedded_as_many_at_once_as_passages_are(behind: Noted) -> None:
    sizes = Sizes()
    context = replace(behind.project.context, embedder=sizes, embedding_batch_size=4)
    await finish_derived(context)
    assert sizes.given == [4, 4, 2]


async def test_an_edit_pays_for_no_summary_of_something_else(database: Database) -> None:
    notes = [note(f"a{n}", A) for n in range(12)]
    other = make_document("n.md", "Bolt Ltd in note bolt.", A, title="Note")

    script = [*[Behaviour()] * 13, *[Behaviour(status=500)] * 2]
    with FakeEndpoint(reply_on_both, script=script).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, _):
            await project.kb.ingestion.ingest(InMemorySource(documents=(*notes, other)))
            failed = len(summaries(endpoint))
            reader = await project.kb.reader(A)
            await project.kb.graph.edit(reader, "Bolt Ltd", ManualEdit(kind="company"))
            assert len(summaries(endpoint)) == failed
            await project.kb.ingestion.ingest(InMemorySource(documents=(*notes, other)))
            assert len(summaries(endpoint)) == failed + 1
