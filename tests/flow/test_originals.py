"""Originals: kept with the document as handed in, read by its job, replaced with it and gone with it."""

from dataclasses import replace
from pathlib import Path

import pytest

from lightwell.connectors.files import Files
from lightwell.domain.access import Reader, TagAuthority
from lightwell.domain.documents import UPLOAD, Format, NewDocument
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import DocumentId, JobId, new_id
from lightwell.domain.originals import Original, Place, safe_file_name
from lightwell.ingest.submission import Submission
from lightwell.records.documents import originals
from lightwell.testing.sources import make_document

from .conftest import Project
from .test_ingestion import residue

SALES, SUPPORT = ["team:sales"], ["team:support"]


def uploaded(name: str, text: str, tags: list[str]) -> NewDocument:
    document = make_document(name, text, tags)
    url = f"upload:///{name}/{name}"
    return replace(document, system=UPLOAD, source_id=name, url=url)


async def hand_in(project: Project, document: NewDocument, *, finishes: bool = True) -> Reader:
    reader = await project.kb.reader(document.acl_tags)
    authority = TagAuthority(tags=reader.tags)
    await project.kb.documents.submit(
        Submission(documents=[document], reader=reader, authority=authority)
    )
    if finishes:
        await project.kb.ingestion.finish_jobs()
    return await project.kb.reader(document.acl_tags)


async def original_of(project: Project, reader: Reader, name: str) -> bytes:
    original = await project.kb.originals.get(reader, name)
    parts = [part async for part in project.kb.originals.parts(reader, original)]
    assert all(0 < len(part) <= originals.PART_BYTES for part in parts)
    return b"".join(parts)


async def test_what_is_handed_in_is_kept_once_and_byte_for_byte(project: Project) -> None:
    text = "The pump is blue.\r\n" * 150_000
    document = uploaded("a.txt", text, SALES)
    reader = await hand_in(project, document)
    assert await original_of(project, reader, document.url) == document.content
    ((count, size),) = await project.database.rows(
        "SELECT count(*), sum(octet_length(content)) FROM original_parts", {}
    )
    assert (count, size) == (3, len(document.content))
    assert (await project.kb.documents.get(reader, document.url)).has_original


async def test_nobody_else_has_it_and_is_told_the_same_as_of_what_never_was(
    project: Project,
) -> None:
    document = uploaded("a.txt", "The pump is blue.", SALES)
    reader = await hand_in(project, document)
    original = await project.kb.originals.get(reader, document.url)
    stranger = await project.kb.reader(SUPPORT)
    said: list[str] = []
    for name in (document.url, str(original.document), str(new_id())):
        with pytest.raises(NotFound) as refused:
            await project.kb.originals.get(stranger, name)
        said.append(str(refused.value))
    assert set(said) == {originals.NO_ORIGINAL}
    with pytest.raises(NotFound):
        _ = [part async for part in project.kb.originals.parts(stranger, original)]


async def test_the_published_version_stays_until_the_new_one_is_read(project: Project) -> None:
    document = uploaded("a.txt", "The pump is blue.", SALES)
    reader = await hand_in(project, document)
    newer = replace(
        uploaded("a.txt", "The pump is red.", SALES), content_hash="another", content=b"It is red."
    )
    await hand_in(project, newer, finishes=False)
    assert await original_of(project, reader, document.url) == document.content
    await project.kb.ingestion.finish_jobs()
    assert await original_of(project, reader, document.url) == newer.content
    assert await project.database.rows("SELECT count(*) FROM document_originals", {}) == [(1,)]


@pytest.mark.parametrize("how", ["delete", "erase"])
async def test_it_goes_with_its_document_at_once(project: Project, how: str) -> None:
    document = uploaded("a.txt", "Zyxwvut signed.", SALES)
    reader = await hand_in(project, document)
    original = await project.kb.originals.get(reader, document.url)
    assert {"original_parts"} <= set(await residue(project, "zyxwvut"))
    await getattr(project.kb.documents, how)(reader, [document.url])
    assert await residue(project, "zyxwvut") == []
    assert await project.database.rows("SELECT FROM original_parts", {}) == []
    with pytest.raises(NotFound):
        _ = [part async for part in project.kb.originals.parts(reader, original)]


async def test_a_change_of_access_ends_a_download_at_its_next_part(project: Project) -> None:
    document = uploaded("a.txt", "The pump is blue.\n" * 150_000, SALES)
    reader = await hand_in(project, document)
    original = await project.kb.originals.get(reader, document.url)
    parts = project.kb.originals.parts(reader, original)
    await anext(parts)
    authority = TagAuthority(tags=frozenset(), is_unlimited=True)
    await project.kb.documents.change_access(reader, authority, document.url, frozenset(SUPPORT))
    with pytest.raises(NotFound):
        await anext(parts)
    assert await original_of(project, await project.kb.reader(SUPPORT), document.url)


async def test_what_could_not_be_read_can_still_be_had_back(project: Project) -> None:
    document = replace(uploaded("a.pdf", "no PDF", SALES), format=Format.PDF)
    reader = await hand_in(project, document)
    assert (await project.kb.documents.get(reader, document.url)).error
    assert await original_of(project, reader, document.url) == document.content


async def test_a_file_of_a_folder_stays_there_and_is_sent_only_unchanged(
    project: Project, tmp_path: Path
) -> None:
    file = tmp_path / "a note.txt"
    file.write_text("The pump is blue.")
    await project.kb.ingestion.ingest(Files(root=tmp_path, default_tags=frozenset(SALES)))
    reader = await project.kb.reader(SALES)
    assert await project.database.rows("SELECT FROM original_parts", {}) == []
    assert await original_of(project, reader, file.as_uri()) == b"The pump is blue."
    assert (await project.kb.originals.get(reader, file.as_uri())).name == "a note.txt"
    for content in ("The pump is gold.", "The pump is blue. No.", "The pump"):
        file.write_text(content)
        with pytest.raises(NotFound):
            await original_of(project, reader, file.as_uri())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("The pump is blue.")
    file.unlink()
    file.symlink_to(elsewhere)
    with pytest.raises(NotFound):
        await original_of(project, reader, file.as_uri())


@pytest.mark.parametrize(
    ("url", "title", "name"),
    [
        ("upload:///1/offer.pdf", "", "offer.pdf"),
        ("upload:///1/..%2F..%2Fetc%2Fpasswd", "", "passwd.txt"),
        ("upload:///1/C%3A%5Cx%5Cy.txt", "", "Cxy.txt"),
        ("upload:///1/%E2%80%AEfdp.exe", "", "fdp.exe"),
        ("upload:///1/a%0D%0ASet-Cookie%3A%20b.txt", "", "aSet-Cookie b.txt"),
        ("upload:///1/%22%3Cb%3E%22.html", "", "b.html"),
        ("upload:///1/....", "", "document.txt"),
        ("https://example.org/", "The handbook", "The handbook.txt"),
        ("upload:///1/" + "x" * 300 + ".txt", "", "x" * 146 + ".txt"),
        ("upload:///1/Vertr%C3%A4ge.docx", "", "Verträge.docx"),
    ],
)
def test_a_file_name_is_safe(url: str, title: str, name: str) -> None:
    original = Original(
        job=JobId(new_id()),
        document=DocumentId(new_id()),
        url=url,
        title=title,
        format=Format.TEXT,
        place=Place.STORE,
        size=0,
        sha256=b"",
        pages=0,
    )
    assert original.name == name
    assert safe_file_name(name, original) == name
