"""Askers for tests of commands: people of a project's directory, each in a chat alone with the bot, or in a group."""

from collections.abc import Collection
from typing import TypeVar

from lightwell.domain.channels import Chat, Platform
from lightwell.domain.chat import Thread
from lightwell.domain.directory import PersonChange
from lightwell.domain.ids import ConversationId
from lightwell.domain.questions import Question
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.actions import Action
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Button, Message
from lightwell.entrypoints.channels.paging import plain_text
from lightwell.knowledge_base.directory import Directory
from tests.flow.conftest import Project

A = TypeVar("A", bound=Action)

ALONE = Chat(platform=Platform.TELEGRAM, id="7", is_private=True)
GROUP = Chat(platform=Platform.TELEGRAM, id="-100", is_private=False)
READ, CURATE, INGEST = {Scope.READ}, {Scope.READ, Scope.CURATE}, {Scope.READ, Scope.INGEST}


async def join(
    project: Project, name: str, tags: Collection[str] = (), scopes: Collection[Scope] = READ
) -> Asker:
    """Add a person with these tags to the directory, and return who asks then."""
    change = PersonChange(
        email=f"{name}@halden.example",
        display_name=name.title(),
        acl_tags=frozenset(tags),
        scopes=frozenset(scopes),
    )
    await _directory(project).create_person(change)
    return await asking(project, name)


async def asking(project: Project, name: str, chat: Chat = ALONE) -> Asker:
    """Return who asks, with the access of now."""
    person = await _directory(project).get_person(f"{name}@halden.example")
    return Asker(
        knowledge_base=project.kb,
        person=person,
        reader=await project.kb.reader(person.tags, user=person.user),
        chat=chat,
        server="https://lightwell.example",
    )


async def change(project: Project, name: str, change: PersonChange) -> Asker:
    """Change a person, and return who asks then."""
    await _directory(project).change_person(f"{name}@halden.example", change)
    return await asking(project, name)


async def ask(asker: Asker, question: str) -> tuple[ConversationId, int]:
    """Ask, and return where the exchange is stored."""
    events = asker.knowledge_base.questions.show(
        Question(text=question), asker.reader, thread=Thread()
    )
    stored = [event.stored async for event in events if event.stored]
    assert stored[-1].place is not None
    return stored[-1].conversation, stored[-1].place


def words(message: Message) -> str:
    """Return what a message says."""
    return plain_text(message.blocks)


def buttons(message: Message) -> list[Button]:
    return [button for row in message.buttons for button in row]


def labels(message: Message) -> list[str]:
    return [button.label for button in buttons(message)]


def actions(message: Message, kind: type[A]) -> list[A]:
    return [button.action for button in buttons(message) if isinstance(button.action, kind)]


def pressed(message: Message, label: str, kind: type[A]) -> A:
    """Return what the button with this label does."""
    (button,) = (button for button in buttons(message) if button.label == label)
    assert isinstance(button.action, kind)
    return button.action


def _directory(project: Project) -> Directory:
    return Directory(database=project.database, project_id=project.kb.project_id)
