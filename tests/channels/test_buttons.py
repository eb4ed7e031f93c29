"""A press of a button reads anew, as the person who presses; what is not one's own button says the same as what never was one."""

import base64
from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest

from lightwell.domain.directory import PersonChange
from lightwell.entrypoints.channels.actions import ShowAnswer
from lightwell.entrypoints.channels.buttons import Buttons, signing_key
from lightwell.entrypoints.channels.conversation import GONE
from lightwell.entrypoints.channels.messages import Button, Limits, Message
from lightwell.records.database import Database
from lightwell.testing.sources import make_document
from tests.channels.conftest import filled
from tests.channels.memory import GROUP, TOKEN, MemoryChannel, Office, Post, opened, private
from tests.flow.conftest import Project

SALES, BOARD = "team:sales", "team:board"
LIST = "\n\n".join(
    f"Customer {number} pays {number} euros for pumps every year." for number in range(40)
)
DOCUMENTS = (
    make_document("a.md", "Nordwind Energie gets a discount of 18 percent.", [SALES]),
    make_document("c.md", LIST, [SALES]),
)
DISCOUNT = "What discount does Nordwind Energie get?"


@pytest.fixture
async def project(database: Database) -> Project:
    return await filled(database, *DOCUMENTS)


@pytest.fixture
async def small(project: Project) -> AsyncGenerator[Office]:
    """A platform whose messages are short, so that answers have pages."""
    limits = Limits(characters=660, counts_utf16=True, buttons=8, label=64)
    async with opened(project, MemoryChannel(limits=limits)) as office:
        yield office


async def test_pages_are_turned_in_the_same_message(small: Office) -> None:
    ada = await small.join("ada", SALES)
    first = await small.say(ada, DISCOUNT)
    assert first.labels[-1] == "More ›"
    assert await small.press(ada, first, "More ›") == ""
    second = small.latest(private(ada))
    assert second.id == first.id
    assert second.text != first.text
    assert "‹ Back" in second.labels
    await small.press(ada, second, "‹ Back")
    assert small.latest(private(ada)).text == first.text


async def test_a_page_is_read_as_of_now(small: Office) -> None:
    ada = await small.join("ada", SALES)
    first = await small.say(ada, DISCOUNT)
    await small.change("ada", PersonChange(acl_tags=frozenset({BOARD})))
    assert await small.press(ada, first, "More ›") == GONE
    assert small.latest(private(ada)).text == first.text


async def changed(office: Office, post: Post, label: str) -> list[str]:
    """Return what somebody may make of the data of a button."""
    data = post.data(label)
    version, number, signature = data.split(".")
    other = base64.urlsafe_b64encode(uuid4().bytes).rstrip(b"=").decode()
    foreign = Buttons(
        database=office.project.database,
        project_id=office.project.kb.project_id,
        key=signing_key("another token", office.project.kb.project_id),
    )
    eve = await office.join("eve", SALES)
    reader = (await office.asker(eve)).reader
    action = ShowAnswer(conversation=uuid4(), place=0)
    message = Message(blocks=(), buttons=((Button(label="x", action=action),),))
    labelled = await foreign.label(message, reader, eve, private(eve))
    return [
        "",
        ".",
        "..",
        "v1..",
        "v2." + data[3:],
        f"{version}.{other}.{signature}",
        f"{version}.{number}.{signature[::-1]}",
        f"{version}.{number}",
        f"{data}=",
        f"{data[:-1]}é",
        f"v1.é.{signature}",
        labelled.data[0][0],
    ]


async def test_forged_presses_all_say_the_same_and_do_nothing(office: Office) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, DISCOUNT)
    written = len(office.channel.written)
    for data in await changed(office, post, "[1]"):
        assert await office.press_data(ada, data, post.id) == GONE
    assert len(office.channel.written) == written


async def test_a_button_is_of_one_account_in_one_chat(office: Office) -> None:
    ada, bob = await office.join("ada", SALES), await office.join("bob", SALES)
    post = await office.say(ada, DISCOUNT)
    written = len(office.channel.written)
    assert await office.press(bob, post, "[1]", private(bob)) == GONE
    assert await office.press(bob, post, "[1]", private(ada)) == GONE
    assert await office.press(ada, post, "[1]", GROUP) == GONE
    assert len(office.channel.written) == written
    brief = await office.say(ada, "/brief Nordwind Energie", GROUP)
    assert await office.press(bob, brief, brief.labels[0], GROUP) == GONE
    assert await office.press(ada, brief, brief.labels[0], GROUP) == ""


async def test_a_button_expires(office: Office) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, DISCOUNT)
    await office.project.database.execute("UPDATE channel_buttons SET expires_at = now()", {})
    assert await office.press(ada, post, "[1]") == GONE


async def test_data_fits_every_platform_and_says_nothing(office: Office) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, DISCOUNT)
    for row in post.labelled.data:
        for data in row:
            assert len(data.encode()) <= 64
            assert data.startswith("v1.")


async def test_the_buttons_of_one_bot_are_not_those_of_another_token(office: Office) -> None:
    project_id = office.project.kb.project_id
    assert signing_key(TOKEN, project_id) != signing_key(f"{TOKEN}2", project_id)
