"""A folder with mails: threads and attachments are documents of their own, with the access and the life of their file."""

from email.message import EmailMessage
from pathlib import Path

from lightwell.connectors.files import Files
from lightwell.domain.access import TagAuthority
from lightwell.domain.originals import Place
from lightwell.ingest.submission import Submission
from lightwell.ingest.sync import SyncResult
from lightwell.ports import ChangedDocument
from tests.mails import make_mail, make_mailbox

from .conftest import Project

PRINTER = [
    make_mail(
        "Ana Silva <ana@x.example>",
        "Printer",
        "Which port does the new printer on floor three use?\n",
        number=1,
    ),
    make_mail(
        "Ben Ode <ben@x.example>",
        "Re: Printer",
        "> Which port does the new printer on floor three use?\n\nThe new printer on floor three uses port 9100.\n",
        number=2,
        answers=1,
    ),
]
LUNCH = make_mail("Eve <eve@x.example>", "Lunch", "There is pea soup on Friday.\n", number=3)


def with_menu() -> EmailMessage:
    mail = make_mail("Eve <eve@x.example>", "Menu", "The menu is attached.\n", number=4)
    mail.add_attachment("The canteen serves herring on Tuesday.", filename="week 2.txt")
    mail.add_attachment(b"GIF89a", maintype="image", subtype="gif", filename="logo.gif")
    return mail


async def sync(project: Project, folder: Path, tag: str = "team:a") -> SyncResult:
    source = Files(root=folder, default_tags=frozenset({tag}))
    return (await project.kb.ingestion.ingest(source)).found


async def test_threads_and_attachments_live_as_their_file_does(
    project: Project, tmp_path: Path
) -> None:
    mail, box = tmp_path / "menu.eml", tmp_path / "box.mbox"
    mail.write_bytes(with_menu().as_bytes())
    box.write_bytes(make_mailbox([*PRINTER, LUNCH]))
    first = await sync(project, tmp_path)
    assert (first.new, first.problems) == (5, [])

    reader = await project.kb.reader(["team:a"])
    titles = {document.title: document.url for document in await project.kb.documents.list(reader)}
    assert titles.keys() == {"Menu", "week 2", "box", "Printer", "Lunch"}
    assert titles["week 2"] == f"{mail.as_uri()}#week%202.txt"
    assert titles["Lunch"].startswith(f"{box.as_uri()}#")

    answer = await project.kb.questions.ask("Which port does the new printer use?", reader)
    cited = {(citation.document_title, *citation.locator.section) for citation in answer.citations}
    assert ("Printer", "Ben Ode, 2026-01-05 10:02") in cited
    assert "9100" in answer.text
    menu = await project.kb.questions.ask("When does the canteen serve herring?", reader)
    assert menu.citations[0].source_url == titles["week 2"]

    original = await project.kb.originals.get(reader, titles["week 2"])
    assert (original.name, original.place, original.size) == ("week 2.txt", Place.STORE, 39)

    await project.kb.documents.change_access(
        reader,
        TagAuthority(tags=frozenset(), is_unlimited=True),
        titles["Menu"],
        frozenset({"team:c"}),
    )
    assert len(await project.kb.documents.list(reader)) == 3
    others = await project.kb.reader(["team:c"])
    moved_urls = [document.url for document in await project.kb.documents.list(others)]
    assert moved_urls == [mail.as_uri(), titles["week 2"]]
    preview = await project.kb.documents.preview_deletion(others, [mail.as_uri()])
    assert len(preview.documents) == 2

    again = await sync(project, tmp_path, "team:b")
    assert (again.unchanged, again.retagged, again.changed, again.removed) == (5, 5, 0, 0)
    assert await project.kb.documents.list(reader) == []

    box.write_bytes(make_mailbox([*PRINTER, with_menu()]))
    grown = await sync(project, tmp_path, "team:b")
    assert (grown.new, grown.changed, grown.unchanged, grown.removed) == (2, 1, 3, 1)

    box.rename(tmp_path / "moved.mbox")
    moved = await sync(project, tmp_path, "team:b")
    assert (moved.renamed, moved.new, moved.removed) == (4, 0, 0)

    mail.unlink()
    assert (await sync(project, tmp_path, "team:b")).removed == 2


async def test_parts_follow_a_file_that_is_handed_in_with_other_tags(
    project: Project, tmp_path: Path
) -> None:
    mail = tmp_path / "menu.eml"
    mail.write_bytes(with_menu().as_bytes())
    await sync(project, tmp_path)
    reader = await project.kb.reader(["team:a", "team:b"])
    listed = await project.kb.documents.list(reader)
    assert {document.title for document in listed} == {"Menu", "week 2"}
    (handed,) = [
        change.document
        async for change in Files(root=mail, default_tags=frozenset({"team:b"})).changes({})
        if isinstance(change, ChangedDocument)
    ]
    authority = TagAuthority(tags=reader.tags)
    await project.kb.documents.submit(
        Submission(documents=[handed], reader=reader, authority=authority)
    )
    assert await project.kb.documents.list(await project.kb.reader(["team:a"])) == []
    others = await project.kb.documents.list(await project.kb.reader(["team:b"]))
    assert len(others) == 2


async def test_a_mail_that_cannot_be_read_fails_alone(project: Project, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"Only words.")
    (tmp_path / "b.eml").write_bytes(LUNCH.as_bytes())
    result = await sync(project, tmp_path)
    assert result.new == 1
    (problem,) = result.problems
    assert "headers of a mail" in problem.message
