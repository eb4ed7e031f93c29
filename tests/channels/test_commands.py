"""`/brief`, `/promises`, `/search` and the sources of an answer: each person gets what that person may see now."""

import io
from dataclasses import replace
from uuid import uuid4

import pytest
from reportlab.pdfgen.canvas import Canvas

from lightwell.domain.access import TagAuthority
from lightwell.domain.directory import PersonChange
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid, NotFound
from lightwell.entrypoints.channels.actions import Pick, ShowPlace, ShowSource
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.lookups import brief, promises, search
from lightwell.entrypoints.channels.messages import Message, Style
from lightwell.entrypoints.channels.source_pictures import show_place, show_source
from lightwell.ingest.submission import Submission
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document
from tests.channels.company import (
    actions,
    ask,
    asking,
    buttons,
    change,
    join,
    labels,
    words,
)
from tests.channels.conftest import filled
from tests.flow.conftest import Project
from tests.flow.test_owed import SEEN, UNSEEN

SALES, BOARD = ["team:sales"], ["team:board"]
PNG = b"\x89PNG\r\n\x1a\n"
DOCUMENTS = (
    make_document(
        "a.md",
        "# Customers\n\nThe office has a garden.\n\nNordwind Energie is a utility. Nordwind Energie pays **late**.\n\n"
        "Nordwind Energie gets a discount of 18 percent.",
        SALES,
        title="Customers",
    ),
    make_document("b.md", "Nordwind Logistik drives lorries. It has a depot.", SALES),
    make_document("c.md", "Nordwind Logistik sells its depot to Castell Water.", BOARD),
)


def bold(message: Message) -> list[str]:
    spans = (span for block in message.blocks for span in block.spans)
    return [span.text for span in spans if span.style is Style.BOLD]


@pytest.fixture
async def project(database: Database) -> Project:
    return await filled(database, *DOCUMENTS)


async def test_a_brief_has_a_button_for_each_source_which_shows_where_it_stands(
    project: Project,
) -> None:
    nora = await join(project, "nora", SALES)
    message = await brief(nora, " Nordwind Energie ")
    assert "18 percent" in words(message)
    places = actions(message, ShowPlace)
    assert labels(message) == [str(n + 1) for n in range(len(places))]
    shown = [await show_place(nora, place) for place in places]
    assert "Nordwind Energie pays late." in [bold(message)[1] for message in shown]


async def test_an_ambiguous_name_becomes_a_pick_list_of_what_the_asker_sees(
    project: Project,
) -> None:
    nora = await join(project, "nora", SALES)
    message = await brief(nora, "Nordwind")
    picks = actions(message, Pick)
    assert {pick.name for pick in picks} == {"Nordwind"}
    assert len(picks) == len(buttons(message)) == 2
    briefs = [words(await brief(nora, pick.entity)) for pick in picks]
    assert ["18 percent" in said for said in briefs].count(True) == 1
    zoe = await join(project, "zoe", BOARD)
    (pick,) = actions(await brief(zoe, "Nordwind"), Pick)
    assert "Castell Water" in words(await brief(zoe, pick.entity))


async def test_what_a_name_means_that_one_may_not_see_is_what_no_name_means(
    project: Project,
) -> None:
    nora, zoe = await join(project, "nora", SALES), await join(project, "zoe", BOARD)
    (place, *_) = actions(await brief(nora, "Nordwind Energie"), ShowPlace)
    assert await brief(zoe, "Nordwind Energie") == await brief(zoe, "Nordwind Energia")
    for gone in (place, replace(place, document=uuid4()), replace(place, chunk=uuid4())):
        with pytest.raises(NotFound):
            await show_place(zoe, gone)
    assert "/brief" in words(await brief(zoe, "  "))
    with pytest.raises(Invalid, match="400 characters"):
        await brief(zoe, "x" * 500)


async def test_a_place_is_shown_for_as_long_as_the_document_says_so(project: Project) -> None:
    nora = await join(project, "nora", SALES)
    places = actions(await brief(nora, "Nordwind Energie"), ShowPlace)
    text = DOCUMENTS[0].content.decode()
    changed = make_document("a.md", text.replace("18", "81"), SALES, title="Customers")
    source = InMemorySource(documents=(changed, *DOCUMENTS[1:]), scope="file:///shelf/")
    await project.kb.ingestion.ingest(source)
    with pytest.raises(NotFound):
        await show_place(nora, places[0])


async def test_a_long_quotation_is_shown_whole_or_cut_at_a_word_within_one_message(
    database: Database,
) -> None:
    rows = [f"Row {number}: the pump number {number} is blue." for number in range(200)]
    text = "\n\n".join(rows)
    project = await filled(database, make_document("a.md", text, SALES))
    nora = await join(project, "nora", SALES)
    (place, *_) = actions(await search(nora, "Which pump is blue?"), ShowPlace)
    start, end = text.index(rows[7]), text.index(rows[19]) - 2
    whole = await show_place(nora, replace(place, start=start, end=end))
    assert bold(whole)[1:] == rows[7:19]
    assert words(whole).count("Row") == 14
    cut = words(await show_place(nora, replace(place, start=start, end=text.index(rows[150]))))
    assert rows[7] in cut
    assert cut.endswith(" …")
    assert len(cut) < 1_700


async def test_promises_are_statements_with_citations_alone(database: Database) -> None:
    project = await filled(database, *SEEN, *UNSEEN)
    nora, zoe = await join(project, "nora", SALES), await join(project, "zoe", BOARD)
    owed = await promises(nora, "")
    assert "Send the offer" in words(owed)
    assert "9 March 2031" in words(owed)
    assert not {"pier", "2 March"} & set(words(owed).split())
    assert len(actions(owed, ShowPlace)) == 2
    assert "Sell the pier" in words(await promises(zoe, ""))
    about = await promises(nora, "Acme Nets?")
    assert "9 March 2031" in words(about)
    assert "Send the offer" not in words(about)
    nothing = await promises(nora, "the moon landing")
    assert words(nothing).startswith("Insufficient evidence")
    assert not nothing.buttons


async def test_a_search_has_a_button_for_each_passage(project: Project) -> None:
    nora, zoe = await join(project, "nora", SALES), await join(project, "zoe", BOARD)
    found = await search(nora, "Which depot is there?")
    places = actions(found, ShowPlace)
    assert labels(found) == [str(n + 1) for n in range(len(places))]
    assert "depot" in words(await show_place(nora, places[0]))
    assert "Castell" not in words(found)
    assert "Castell" in words(await search(zoe, "Which depot is there?"))
    with pytest.raises(NotFound):
        await show_place(zoe, places[0])
    assert "/search" in words(await search(nora, ""))
    assert "No passage" in words(await search(await join(project, "kim"), "depot"))


async def test_a_source_is_read_again_as_the_asker_of_now(project: Project) -> None:
    nora = await join(project, "nora", SALES)
    conversation, place = await ask(nora, "What discount does Nordwind Energie get?")
    source = ShowSource(conversation=conversation, place=place, source="[1]")
    shown = await show_source(nora, source)
    assert bold(shown) == ["Customers", "Nordwind Energie gets a discount of 18 percent."]
    assert "pays late." in words(shown)
    assert not shown.picture
    (link,) = buttons(shown)
    assert link.url.startswith("https://lightwell.example/d/")
    zoe = await join(project, "zoe", [*SALES, *BOARD])
    elsewhere = (
        (zoe, source),
        (nora, replace(source, source="[9]")),
        (nora, replace(source, place=place + 2)),
        (nora, replace(source, conversation=uuid4())),
    )
    for asker, other in elsewhere:
        with pytest.raises(NotFound):
            await show_source(asker, other)
    await change(project, "nora", PersonChange(acl_tags=frozenset(BOARD)))
    with pytest.raises(NotFound):
        await show_source(await asking(project, "nora"), source)


async def test_a_source_with_pages_is_a_picture_with_the_quotation_marked(
    project: Project,
) -> None:
    nora = await join(project, "nora", SALES)
    authority = TagAuthority(tags=nora.reader.tags)
    document = replace(
        make_document("handbook.pdf", "", SALES, title="Handbook"),
        system="upload",
        url="upload:///1/handbook.pdf",
        format=Format.PDF,
        content=pdf("The office opens.", "Whoever travels gets 28 euros a day."),
    )
    submission = Submission(documents=[document], reader=nora.reader, authority=authority)
    await project.kb.documents.submit(submission)
    await project.kb.ingestion.finish_jobs()
    nora = await asking(project, "nora")
    conversation, place = await ask(nora, "What does whoever travels get?")
    shown = await show_source(
        nora, ShowSource(conversation=conversation, place=place, source="[1]")
    )
    assert shown.picture.startswith(PNG)
    assert shown.picture != await plain_page(nora, "upload:///1/handbook.pdf")
    assert "page 2" in words(shown)
    assert "28 euros" in words(shown)
    (passage, *_) = actions(await search(nora, "28 euros"), ShowPlace)
    assert (await show_place(nora, passage)).picture.startswith(PNG)


async def plain_page(asker: Asker, name: str) -> bytes:
    """Return the second page as it is without a mark."""
    pictures = asker.knowledge_base.pictures
    view = await pictures.view(asker.reader, name, 2)
    return (await pictures.draw(asker.reader, view)).png


def pdf(*pages: str) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(595, 842))
    for text in pages:
        canvas.drawString(72, 780, text)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize("address", ["javascript:1", "https://ada@evil.example/"])
async def test_titles_and_names_are_text_on_one_line_and_no_link_leads_away(
    database: Database, address: str
) -> None:
    title = "<b>Ev\u202eil</b>\n[x](javascript:alert(1)) @channel"
    hostile = make_document(
        "a.md", "Nordwind Energie pays late.\n\n<!here> <@U1>", SALES, title=title
    )
    project = await filled(database, replace(hostile, metadata={"source_address": address}))
    nora = replace(await join(project, "nora", SALES), server="")
    for message in (
        await brief(nora, "Nordwind Energie"),
        await search(nora, "Who pays late?"),
        await promises(nora, "Nordwind Energie"),
    ):
        urls = {span.url for block in message.blocks for span in block.spans}
        assert urls | {button.url for button in buttons(message)} == {""}
        for place in actions(message, ShowPlace):
            assert not buttons(await show_place(nora, place))
