"""A document's text is read from its chunks: every part of it, the white space between them, and nothing for who does not see them."""

from lightwell.domain.documents import text_between_chunks
from lightwell.records.documents import documents, originals
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

PARAGRAPHS = [
    f"# Part {number}\n\n" + f"The pump {number} of the Tarn series lifts water. " * 60
    for number in range(4)
]
TEXT = "\n\n\n".join(PARAGRAPHS)


async def test_any_part_of_a_text_is_read_from_the_chunks_that_hold_it(project: Project) -> None:
    new = make_document("pumps.md", TEXT, ["team:a"])
    await project.kb.ingestion.ingest(InMemorySource(documents=(new,)))
    reader = await project.kb.reader(["team:a"])
    document = await project.kb.documents.get(reader, new.url)
    chunks = sorted(await project.kb.documents.chunks(reader, new.url), key=lambda each: each.index)
    assert len(chunks) > 3
    text, end = "", 0
    for chunk in chunks:
        text += text_between_chunks(chunk.locator.start - end) + chunk.text
        end = chunk.locator.end
    assert await documents.get_text(project.database, reader, document.id) == text
    edges = {each for chunk in chunks for each in (chunk.locator.start, chunk.locator.end)}
    places = sorted({edge + move for edge in edges for move in (-1, 0, 1)} & set(range(end + 2)))
    for first in places:
        for past in (first, first + 1, first + 40, *(place for place in places if place > first)):
            found = await originals.read_text(project.database, reader, document.id, first, past)
            assert found == text[first:past], (first, past)
    other = await project.kb.reader(["team:b"])
    assert await originals.read_text(project.database, other, document.id, 0, end) == ""


async def test_while_a_text_is_replaced_the_published_one_is_read(project: Project) -> None:
    new = make_document("pumps.md", TEXT, ["team:a"])
    await project.kb.ingestion.ingest(InMemorySource(documents=(new,)))
    reader = await project.kb.reader(["team:a"])
    document = await project.kb.documents.get(reader, new.url)
    before = await documents.get_text(project.database, reader, document.id)
    await project.database.execute(
        """
        INSERT INTO document_chunks (chunk_id, chunk_ref, document_id, chunk_index, chunk_text, chunk_hash, token_count,
                                     start_offset, end_offset)
        SELECT gen_random_uuid(), chunk_ref, document_id, chunk_index, 'Staged.', chunk_hash, 1, start_offset, end_offset
        FROM document_chunks
        """,
        {},
    )
    assert await documents.get_text(project.database, reader, document.id) == before
