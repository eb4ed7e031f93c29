"""Commands in two worlds, which differ by what the asker may not see: every word, button and page is the same."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lightwell.domain.channels import File
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import LightwellError
from lightwell.domain.item_structure import ItemStructure, StatedEntity
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels import files
from lightwell.entrypoints.channels.actions import (
    Action,
    AddFile,
    DecideLink,
    Pick,
    Share,
    ShowSource,
)
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.dispatch import COMMANDS, perform
from lightwell.entrypoints.channels.messages import Message
from lightwell.knowledge_base.directory import Directory
from lightwell.records import channel_groups
from lightwell.records.database import Database
from lightwell.testing.sources import make_document
from tests.channels.company import GROUP, ask, asking, buttons, join
from tests.channels.conftest import filled
from tests.flow.conftest import Project
from tests.flow.linked import entity
from tests.flow.test_owed import SEEN, UNSEEN

SALES, BOARD = ["team:sales"], ["team:board"]
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# Which end of such a link comes first is no matter of chance: a deal is mapped to a project.
DEAL = entity("attio:deal:1", "Nordwind Energie pumps")
WORK = entity("linear:project:7", "Nordwind Energie pumps")
SECRET = entity("github:project:3", "Nordwind Energie pumps")
CABLES = entity("attio:company:4", "Nordwind Seekabel AG", domain="seekabel.example")


def item(stated: StatedEntity, text: str, tags: Sequence[str]) -> NewDocument:
    document = make_document(f"{stated.ref.replace(':', '-')}.txt", text, tags, title=stated.name)
    return replace(document, item_ref=stated.ref, structure=ItemStructure(entities=(stated,)))


VISIBLE = (
    item(DEAL, "Nordwind Energie pumps: Nordwind Energie GmbH gets 18 percent.", SALES),
    item(WORK, "Nordwind Energie pumps: we install twelve pumps.", SALES),
    make_document("n.md", "Nordwind Logistik drives lorries. It promised a depot.", SALES),
    *SEEN,
)
HIDDEN = (
    item(SECRET, "Nordwind Energie pumps: 18 percent is too much.", BOARD),
    item(CABLES, "Nordwind Seekabel AG lays cables. We promised them pumps.", BOARD),
    make_document("h.md", "Nordwind Logistik closes the depot. Castell Water buys it.", BOARD),
    *UNSEEN,
)
WORDS = (
    "",
    "Nordwind",
    "Nordwind Energie pumps",
    "Castell Water",
    "Nordwind Seekabel",
    "depot",
    "Acme",
)
QUESTIONS = ("What does Nordwind Energie GmbH get?", "Who buys the depot?", "Who is Nordwind?")


async def world(database: Database, *hidden: NewDocument) -> Project:
    """Return a project with what Nora sees, and what is hidden from her between it."""
    documents = sorted((*VISIBLE, *hidden), key=lambda document: document.url)
    project = await filled(database, *documents)
    scopes = (Scope.READ, Scope.CURATE, Scope.INGEST)
    await join(project, "nora", ["user:nora", *SALES], scopes)
    if hidden:
        directory = Directory(database=database, project_id=project.kb.project_id)
        await join(project, "zoe", BOARD)
        await directory.save_group("Board", frozenset(BOARD))
    await channel_groups.bind(
        database, project.kb.project_id, GROUP.platform, GROUP.id, frozenset(SALES)
    )
    return project


async def everything(project: Project) -> list[str]:
    """Return all that Nora gets by commands and by pressing what they show, with numbers in place of ids."""
    nora = await asking(project, "nora")
    shown: list[str] = []
    for name, command in COMMANDS.items():
        for words in WORDS:
            shown += await pressing(nora, await command(nora, words), depth=2)
            shown.append(f"{name} {words}")
    shown += await pressing(nora, await files.offer(nora, File(name="a", size=1, handle="h"), 9))
    in_group = await asking(project, "nora", GROUP)
    for question in QUESTIONS:
        conversation, place = await ask(in_group, question)
        for action in (
            ShowSource(conversation=conversation, place=place, source="[1]"),
            Share(conversation=conversation, place=place, chat=GROUP.id),
        ):
            shown += await pressed(in_group, action, depth=1)
    decision = next(
        button.action
        for button in buttons(await COMMANDS["links"](nora, ""))
        if isinstance(button.action, DecideLink)
    )
    shown += await pressed(nora, decision, depth=1)
    shown += await pressed(nora, replace(decision, confirms=False), depth=1)
    return numbered(shown)


async def pressing(asker: Asker, message: Message, *, depth: int = 1) -> list[str]:
    """Return a message, and what its buttons lead to."""
    shown = [repr(message)]
    for button in buttons(message) if depth else ():
        if button.action is not None and not isinstance(button.action, DecideLink | AddFile):
            shown += await pressed(asker, button.action, depth=depth - 1)
    return shown


async def pressed(asker: Asker, action: Action, *, depth: int) -> list[str]:
    try:
        if isinstance(action, Pick):
            message = await COMMANDS["brief"](asker, action.entity)
        else:
            message = await perform(asker, action)
    except LightwellError as error:
        return [f"{type(error).__name__}: {error}"]
    return await pressing(asker, message, depth=depth)


def numbered(texts: Sequence[str]) -> list[str]:
    """Return the texts with each id as the number of its first place."""
    numbers: dict[str, str] = {}
    return [
        _ID.sub(lambda match: numbers.setdefault(match[0], f"#{len(numbers)}"), text)
        for text in texts
    ]


async def test_no_command_and_no_button_feels_what_is_invisible(
    database: Database, other_database: Database
) -> None:
    full, own = await world(database, *HIDDEN), await world(other_database)
    shown = await everything(own)
    assert await everything(full) == shown
    assert all(f"{kind}(" in "".join(shown) for kind in ("Pick", "ReviewLink", "ShowPlace"))


async def test_they_would_feel_what_is_visible(
    database: Database, other_database: Database
) -> None:
    more = make_document("h.md", "Nordwind Logistik closes the depot.", SALES)
    full, own = await world(database, more), await world(other_database)
    assert await everything(full) != await everything(own)
