"""What an ingestion is said to take before it begins: counts are exact, time and bytes are measured with a few passages."""

from dataclasses import replace
from pathlib import Path

from lightwell.ingest.context import IngestContext
from lightwell.knowledge_base.ingestion import Ingestion
from lightwell.records.database import Database
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import files
from tests.scripted_late_interaction import ScriptedLateInteraction

from .conftest import CountingEmbedder, project_on

OWN = ["team:a"]
TEXTS = tuple(
    f"Everybody in the office has {number} days of annual leave in a year." for number in range(40)
)
SOURCES = tuple(
    InMemorySource(
        documents=tuple(make_document(f"{name}{n}.md", text, OWN) for n, text in enumerate(TEXTS)),
        scope=f"file:///shelf/{name}",
    )
    for name in ("a", "b")
)


def with_models(
    context: IngestContext,
    embedder: CountingEmbedder,
    late: ScriptedLateInteraction,
    *,
    is_bundled: bool,
) -> IngestContext:
    model = SpaceModel(embedder=embedder, sentences=embedder, is_bundled=is_bundled)
    return replace(context, embedder=embedder, models=(model,), late_interaction=late)


async def test_an_estimate_counts_all_and_lets_the_networks_read_a_few(database: Database) -> None:
    embedder, late = CountingEmbedder(), ScriptedLateInteraction(lambda text: 0.0)
    project = await project_on(database)
    context = with_models(project.context, embedder, late, is_bundled=True)
    estimate = await Ingestion(context=context).estimate(*SOURCES)
    assert (estimate.documents, estimate.chunks, estimate.calls) == (80, 80, 0)
    assert estimate.text_bytes == 2 * sum(map(len, TEXTS))
    assert estimate.disk_bytes > 8 * estimate.text_bytes
    assert estimate.seconds > 0
    assert len(embedder.texts) == len(late.texts) == 17  # one of them, first, loads the network
    assert await database.value("SELECT count(*) FROM source_documents", {}) == 0


async def test_an_estimate_calls_no_endpoint_and_says_what_is_kept_without_token_vectors(
    database: Database,
) -> None:
    embedder, late = CountingEmbedder(), ScriptedLateInteraction(lambda text: 0.0)
    project = await project_on(database)
    context = with_models(project.context, embedder, late, is_bundled=False)
    estimate = await Ingestion(context=replace(context, late_interaction=None)).estimate(SOURCES[0])
    assert embedder.texts == late.texts == []
    assert estimate.disk_bytes == round(7.7 * estimate.text_bytes)


async def test_an_estimate_counts_what_the_source_cannot_deliver(
    database: Database, tmp_path: Path
) -> None:
    for name in ("a.md", "font.eot"):
        (tmp_path / name).write_text("Everybody has 27 days of leave.")
    (tmp_path / "b.docx").write_bytes(b"PK\x03\x04 torn")
    (tmp_path / "c.md").write_text("---\nacl_tags: [Greta Holm]\n---\n\nx")
    project = await project_on(database)
    folder = files(tmp_path, frozenset(OWN), Settings())
    estimate = await project.kb.ingestion.estimate(folder)
    ingested = await project.kb.ingestion.ingest(folder)
    assert (estimate.documents, estimate.unreadable) == (1, len(ingested.problems)) == (1, 2)


async def test_reading_again_is_estimated_without_the_network(database: Database) -> None:
    embedder, late = CountingEmbedder(), ScriptedLateInteraction(lambda text: 0.0)
    project = await project_on(database)
    context = with_models(project.context, embedder, late, is_bundled=True)
    await project.kb.ingestion.ingest(SOURCES[0])
    again = await Ingestion(context=context).estimate_again(await project.kb.reader(OWN), None)
    assert (again.documents, again.chunks, again.disk_bytes) == (40, 40, 0)
    assert again.text_bytes == sum(map(len, TEXTS))
    assert embedder.texts == late.texts == []
