"""Rows S2.2, S3.4, S3.6, S3.7 and S3.9: one requested document, supplied chunks, and the metadata of a document."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from lightwell.answer.quotes import make_nearest_citation
from lightwell.connectors.files import Files
from lightwell.connectors.single_document import RequestedDocument
from lightwell.domain.access import TagAuthority
from lightwell.domain.documents import Format
from lightwell.domain.entity_refs import text_ref
from lightwell.domain.errors import Invalid, LightwellError, NotFound, Unreadable
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import EmbeddedChunk, IngestRequest
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project
from .notes import noted

TAGS = frozenset({"team:a"})
PUMPS = " ".join(f"Pump {n} moves {n} litres of water out of the valley." for n in range(20))
DAMS = " ".join(f"Dam {n} holds {n} tons of water back from the fields." for n in range(20))


def request(url: str, **said: object) -> IngestRequest:
    return replace(IngestRequest(document_url=url, acl_tags=TAGS), **said)  # pyright: ignore[reportArgumentType]


async def test_s3_6_a_request_brings_in_one_document_as_it_says(
    project: Project, tmp_path: Path
) -> None:
    path = tmp_path / "notes.dat"
    path.write_text("# Own title\n\nThe dam was built in 1931.")
    asked = request(
        str(path),
        title="Dam notes",
        format=Format.MARKDOWN,
        metadata={"customer": "Nordwind", "author": "Jane Smith"},
        topic="dams",
    )
    answer = await project.kb.ingestion.enqueue_document(RequestedDocument(asked))
    assert (answer.status, answer.estimated_chunks) == (JobState.QUEUED, 1)
    reader = await project.kb.reader(TAGS)
    assert (await project.kb.jobs.get(reader, answer.job_id)).document_id == answer.document_id
    (done,) = await project.kb.ingestion.finish_jobs()
    assert done.error == ""
    held = await project.kb.documents.get(reader, str(answer.document_id))
    assert (held.title, held.format, held.topic) == ("Dam notes", "markdown", "dams")
    assert held.metadata == {"customer": "Nordwind", "author": "Jane Smith"}
    again = await project.kb.ingestion.enqueue_document(RequestedDocument(asked))
    assert again.document_id == answer.document_id
    assert again.job_id != answer.job_id


async def test_s3_6_a_request_may_bring_its_content_along(project: Project) -> None:
    content = b"The dam was built in 1931. " * 1000
    asked = request("https://example.org/dam.txt", content=content)
    answer = await project.kb.ingestion.enqueue_document(RequestedDocument(asked))
    assert answer.estimated_chunks
    await project.kb.ingestion.finish_jobs()
    held = await project.kb.documents.get(
        await project.kb.reader(TAGS), "https://example.org/dam.txt"
    )
    assert answer.estimated_chunks / 2 <= held.chunk_count <= answer.estimated_chunks * 2
    pdf = request("x.pdf", content=b"%PDF-1.4 nothing")
    assert (
        await project.kb.ingestion.enqueue_document(RequestedDocument(pdf))
    ).estimated_chunks is None


@pytest.mark.parametrize(
    ("url", "error", "said"),
    [
        ("https://example.org/dam.html", Invalid, "are not fetched"),
        (" ", Invalid, "documentUrl cannot be empty"),
        ("{folder}", Invalid, "is a folder"),
        ("{folder}/picture.png.unknown", LightwellError, "cannot be read"),
    ],
)
async def test_s3_6_a_request_without_a_document_says_why(
    project: Project, tmp_path: Path, url: str, error: type[LightwellError], said: str
) -> None:
    with pytest.raises(error, match=said):
        await project.kb.ingestion.enqueue_document(
            RequestedDocument(request(url.format(folder=tmp_path)))
        )


async def test_s3_6_a_request_for_what_cannot_be_read_is_refused(project: Project) -> None:
    with pytest.raises(Unreadable, match="PNG"):
        await project.kb.ingestion.enqueue_document(
            RequestedDocument(request("picture", content=b"\x89PNG\r\n\x1a\n" + b"0" * 100))
        )


async def with_document(project: Project) -> str:
    document = make_document("a.md", "The old text of the dam.", TAGS)
    await project.kb.ingestion.ingest(InMemorySource(documents=(document,)))
    return document.url


async def test_s3_9_hand_made_chunks_become_what_the_document_says(project: Project) -> None:
    url = await with_document(project)
    reader = await project.kb.reader(TAGS)
    given = await project.embedder.embed_query(PUMPS)
    far = tuple(float(each) for each in given[0] * 7)
    chunks = [
        EmbeddedChunk(content=PUMPS, embedding=far, section_path=("Pumps",)),
        EmbeddedChunk(content=DAMS),
    ]
    project.embedder.texts.clear()
    answer = await project.kb.ingestion.enqueue_chunks(reader, url, chunks)
    assert (answer.status, answer.estimated_chunks) == (JobState.QUEUED, 2)
    assert await project.kb.documents.text(reader, url) == "The old text of the dam."
    (done,) = await project.kb.ingestion.finish_jobs()
    assert (done.error, done.chunks) == ("", 2)
    assert await project.kb.documents.text(reader, url) == f"{PUMPS}\n\n{DAMS}"
    assert [DAMS in text for text in project.embedder.texts] == [True]
    found = await project.kb.questions.search("Pump 7", reader)
    assert {one.locator.section for each in found.evidence for one in each.published_chunks} == {
        ("Pumps",),
        (),
    }
    rows = await project.database.rows("SELECT count(*) FROM staged_vectors", {})
    assert rows == [(0,)]
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("a.md", "The old text of the dam.", TAGS),))
    )
    assert await project.kb.documents.text(reader, url) == "The old text of the dam."


async def test_s3_9_a_given_vector_is_given_to_no_other_text(project: Project) -> None:
    """Equal text is embedded once, but only by the embedder."""
    url = await with_document(project)
    reader = await project.kb.reader(TAGS)
    wrong = tuple(1.0 if at == 0 else 0.0 for at in range(64))
    await project.kb.ingestion.enqueue_chunks(
        reader, url, [EmbeddedChunk(content=PUMPS, embedding=wrong)]
    )
    await project.kb.ingestion.finish_jobs()
    project.embedder.texts.clear()
    title = (await project.kb.documents.get(reader, url)).title
    same = make_document("b.md", PUMPS, ["team:b"], title=title)
    await project.kb.ingestion.ingest(InMemorySource(documents=(same,), scope="file:///shelf/b"))
    assert len(project.embedder.texts) == 1


@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (EmbeddedChunk(content=" \n"), "^Chunk content cannot be empty$"),
        (EmbeddedChunk(content="Too short."), "^Chunk must be 100-2000 tokens$"),
        (EmbeddedChunk(content=PUMPS * 20), "^Chunk must be 100-2000 tokens$"),
        (EmbeddedChunk(content=PUMPS, embedding=(1.0,) * 63), "^Embedding must be 64 dimensions$"),
        (EmbeddedChunk(content=PUMPS, embedding=(0.0,) * 64), "not all zero"),
        (EmbeddedChunk(content=PUMPS, embedding=(math.nan,) * 64), "finite"),
        (EmbeddedChunk(content=PUMPS, embedding=(1e39,) * 64), "32-bit"),
        (EmbeddedChunk(content=PUMPS, embedding=(1e-46,) * 64), "not all zero"),
        (EmbeddedChunk(content=PUMPS, embedding=(-1e-320,) * 64), "not all zero"),
    ],
)
async def test_s3_9_chunks_are_checked_in_the_words_of_the_seed(
    project: Project, chunk: EmbeddedChunk, said: str
) -> None:
    url = await with_document(project)
    reader = await project.kb.reader(TAGS)
    with pytest.raises(Invalid, match=said):
        await project.kb.ingestion.enqueue_chunks(
            reader, url, [EmbeddedChunk(content=PUMPS), chunk]
        )
    assert await project.kb.ingestion.finish_jobs() == ()
    assert await project.kb.documents.text(reader, url) == "The old text of the dam."


async def test_s3_9_the_document_must_exist_for_who_asks(project: Project) -> None:
    url = await with_document(project)
    chunk = EmbeddedChunk(content=PUMPS)
    for tags, name in (({"team:b"}, url), (TAGS, "file:///shelf/none.md")):
        with pytest.raises(NotFound, match=r"^Document not found$"):
            await project.kb.ingestion.enqueue_chunks(await project.kb.reader(tags), name, [chunk])


async def test_s3_4_a_document_shows_its_metadata_and_author(
    project: Project, tmp_path: Path
) -> None:
    """An author whom the folder's settings name goes before the document's own, which does without."""
    (tmp_path / "a.md").write_text("---\nstatus: draft\nauthor: Ana Brook\n---\nThe dam.")
    (tmp_path / "b.txt").write_text("The valley.")
    source = Files(root=tmp_path, default_tags=TAGS)
    await project.kb.ingestion.ingest(source)
    reader = await project.kb.reader(TAGS)
    one, two = [each async for each in project.kb.documents.iterate(reader)]
    assert one.metadata == {"status": "draft", "author": "Ana Brook"}
    assert (one.author, one.author_ref) == ("Ana Brook", text_ref("Ana Brook"))
    assert (one.raw_payload["path"], one.raw_payload["bytes"]) == ("a.md", 48)
    assert (two.metadata, two.author, two.author_ref) == ({}, "", "")
    (tmp_path / ".lightwell.yaml").write_text("author: Jane Smith\nmetadata: {customer: Nordwind}")
    again = await project.kb.ingestion.ingest(source)
    assert (again.found.changed, again.found.unchanged) == (0, 2)
    one, two = [each async for each in project.kb.documents.iterate(reader)]
    assert one.author == "Ana Brook"
    assert one.metadata["customer"] == "Nordwind"
    assert (two.author, two.author_ref) == ("Jane Smith", text_ref("Jane Smith"))


async def test_s2_2_a_tombstone_keeps_no_author_metadata_or_payload(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("---\nauthor: Ana Brook\nstatus: draft\n---\nThe dam.")
    await project.kb.ingestion.ingest(Files(root=tmp_path, default_tags=TAGS))
    (tmp_path / "a.md").unlink()
    await project.kb.ingestion.ingest(Files(root=tmp_path, default_tags=TAGS))
    rows = await project.database.rows(
        "SELECT author, author_ref, metadata, raw_payload, is_deleted FROM source_documents", {}
    )
    assert rows == [("", None, {}, None, True)]


async def test_s2_2_an_entity_has_a_primary_url_of_the_readers_own(database: Database) -> None:
    """The URL that texts give it, else the first document that speaks of it; never one that the reader does not see."""
    store = await noted(database)
    await store.put("a", ["team:a"], "Acme Corp (organization): sells pumps")
    await store.put(
        "b", ["team:b"], "Acme Corp (organization, url=https://acme.example): sells dams"
    )
    urls = {
        tags: (
            await store.kb.graph.entity(await store.kb.reader(tags), "Acme Corp")
        ).entity.primary_url
        for tags in (("team:a",), ("team:b",), ("team:a", "team:b"))
    }
    assert urls == {
        ("team:a",): "file:///shelf/a.txt",
        ("team:b",): "https://acme.example",
        ("team:a", "team:b"): "https://acme.example",
    }


async def test_who_lacks_a_tag_of_a_document_neither_replaces_nor_deletes_it(
    project: Project,
) -> None:
    shared = make_document("a.md", "Everyone has 30 days of leave.", ["team:a", "team:b"])
    await project.kb.ingestion.ingest(InMemorySource(documents=(shared,)))
    reader = await project.kb.reader(["team:a"])
    less = TagAuthority(tags=frozenset({"team:a"}))
    with pytest.raises(Invalid, match="you lack team:b"):
        await project.kb.documents.require_authority(reader, less, [shared.url])
    for full in (
        TagAuthority(tags=frozenset({"team:a", "team:b", "team:c"})),
        TagAuthority(tags=frozenset(), is_unlimited=True),
    ):
        await project.kb.documents.require_authority(reader, full, [shared.url])
    with pytest.raises(NotFound):
        await project.kb.documents.require_authority(reader, less, ["file:///shelf/none.md"])


async def test_citations_say_that_passages_were_supplied_until_the_source_is_read_again(
    project: Project,
) -> None:
    document = make_document("a.md", "Pump 7 moves 40 litres of water.", TAGS)
    await project.kb.ingestion.ingest(InMemorySource(documents=(document,)))
    reader = await project.kb.reader(TAGS)
    question = "How many litres does pump 7 move?"

    async def marks() -> set[bool]:
        found = await project.kb.questions.search(question, reader)
        return {make_nearest_citation(1, each).is_supplied for each in found.evidence}

    assert await marks() == {False}
    await project.kb.ingestion.enqueue_chunks(reader, document.url, [EmbeddedChunk(content=PUMPS)])
    await project.kb.ingestion.finish_jobs()
    assert await marks() == {True}
    await project.kb.ingestion.ingest(InMemorySource(documents=(document,)))
    assert await marks() == {False}
