"""The law in a chat: what a bot writes to a person is what it would write on a server without the documents that the person does not see."""

import re
from collections.abc import Sequence

import pytest

from lightwell.domain.channels import File, Unreadable
from lightwell.domain.documents import NewDocument
from lightwell.domain.scopes import Scope
from lightwell.testing.sources import InMemorySource, make_document
from tests.channels.memory import GROUP, MemoryChannel, Office, Post, opened, private
from tests.conftest import Databases
from tests.flow.conftest import project_on

SALES, BOARD = "team:sales", "team:board"
VISIBLE = (
    make_document(
        "a.md",
        "Nordwind Energie GmbH is a utility. Nordwind Energie GmbH gets a discount of 18 percent.",
        [SALES],
    ),
    make_document("b.md", "Nordwind Logistik AG drives lorries for Tarn Valley.", [SALES]),
)
HIDDEN = (
    make_document("x.md", "Nordwind Energie GmbH gets a discount of 40 percent.", [BOARD]),
    make_document("y.md", "Nordwind Solar AG buys Tarn Valley. Castell Water is its bank.", [BOARD]),
    make_document("z.md", "We promised Castell Water a refund until March.", [BOARD]),
)
TEXTS = (
    "What discount does Nordwind get?",
    "What does Castell Water do?",
    "Who buys Tarn Valley?",
    "And who else?",
    "/brief Nordwind",
    "/brief Castell Water",
    "/promises refund",
    "/search Castell Water",
    "/links",
    "/status",
    "/help",
    "/unknown",
    "/new",
    "Which discount?",
)


def seen(post: Post) -> object:
    """Return what a message shows: without the ids of documents, which differ in any two stores."""
    addresses = [
        re.sub(r"[0-9a-f-]{36}", "ID", span.url) for block in post.message.blocks for span in block.spans
    ]
    return post.id, post.chat, post.alone, post.text, post.labels, addresses, post.message.picture


async def transcript(databases: Databases, documents: Sequence[NewDocument]) -> list[object]:
    """Return all that is written to somebody who asks and presses everything, in a chat alone and in a group."""
    async with databases.make() as database:
        project = await project_on(database)
        source = InMemorySource(documents=tuple(documents), scope="file:///shelf/")
        await project.kb.ingestion.ingest(source)
        async with opened(project, MemoryChannel()) as office:
            scopes = [Scope.READ, Scope.CURATE, Scope.INGEST]
            ada = await office.join("ada", SALES, scopes=scopes)
            for chat in (None, GROUP):
                for text in TEXTS:
                    post = await office.say(ada, text, chat)
                    await press_all(office, post)
            await office.send(ada, File(name="a.txt", size=3, handle="f"))
            await office.send(ada, Unreadable(kind="sticker"))
            return [*map(seen, office.channel.written), office.channel.notices]


async def press_all(office: Office, post: Post) -> None:
    account = office.accounts[0]
    chat = GROUP if post.chat == GROUP.id else private(account)
    for row in post.labelled.data:
        for data in filter(None, row):
            await office.press_data(account, data, post.id, chat)


@pytest.mark.parametrize("hidden", [HIDDEN, HIDDEN[:1]])
async def test_a_chat_says_nothing_of_what_its_person_does_not_see(
    databases: Databases, hidden: Sequence[NewDocument]
) -> None:
    alone = await transcript(databases, VISIBLE)
    among_others = await transcript(databases, (*hidden, *VISIBLE))
    assert among_others == alone
    assert len(alone) > 40
    words = str(alone)
    assert "18 percent" in words
    assert "40 percent" not in words
    assert "Solar" not in words
