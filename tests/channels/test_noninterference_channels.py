"""The law in a chat: what a bot writes to a person is what it would write on a server without the documents that the person does not see."""

import re
from collections.abc import Sequence

import pytest

from lightwell.domain.channels import File, Unreadable
from lightwell.domain.documents import NewDocument
from lightwell.domain.scopes import Scope
from lightwell.records.database import Database, connect
from lightwell.testing.sources import make_document
from tests.channels.conftest import filled
from tests.channels.memory import GROUP, MemoryChannel, Post, opened, private
from tests.conftest import Databases

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
    make_document(
        "y.md", "Nordwind Solar AG buys Tarn Valley. Castell Water is its bank.", [BOARD]
    ),
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
        re.sub(r"[0-9a-f-]{36}", "ID", span.url)
        for block in post.message.blocks
        for span in block.spans
    ]
    return post.id, post.chat, post.alone, post.text, post.labels, addresses, post.message.picture


async def transcript(database: Database, documents: Sequence[NewDocument]) -> list[object]:
    """Return all that is written to somebody who asks and presses everything, in a chat alone and in a group."""
    project = await filled(database, *documents)
    async with opened(project, MemoryChannel()) as office:
        ada = await office.join("ada", SALES, scopes=[Scope.READ, Scope.CURATE, Scope.INGEST])
        for chat in (private(ada), GROUP):
            for text in TEXTS:
                post = await office.say(ada, text, chat)
                for data in (number for row in post.labelled.data for number in row if number):
                    await office.press_data(ada, data, post.id, chat)
        await office.send(ada, File(name="a.txt", size=3, handle="f"))
        await office.send(ada, Unreadable(kind="sticker"))
        return [*map(seen, office.channel.written), *office.channel.notices]


async def on_a_store_of_its_own(
    databases: Databases, documents: Sequence[NewDocument]
) -> list[object]:
    with databases.lent() as url:
        async with connect(url) as database:
            return await transcript(database, documents)


@pytest.mark.parametrize("hidden", [HIDDEN, HIDDEN[:1]])
async def test_a_chat_says_nothing_of_what_its_person_does_not_see(
    databases: Databases, hidden: Sequence[NewDocument]
) -> None:
    alone = await on_a_store_of_its_own(databases, VISIBLE)
    among_others = await on_a_store_of_its_own(databases, (*hidden, *VISIBLE))
    assert among_others == alone
    assert len(alone) > 40
    words = str(alone)
    assert "18 percent" in words
    assert "40 percent" not in words
    assert "Solar" not in words
