"""A process that dies anywhere between two steps loses no message that was acknowledged, and answers none twice."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from lightwell.domain.channels import Account, Press, Text, Update
from lightwell.entrypoints.channels.bots import make_bot
from lightwell.entrypoints.channels.reply import PERHAPS_ANSWERED
from lightwell.records import channel_chats, channel_updates
from lightwell.records.database import Database
from lightwell.testing.sources import make_document
from tests.channels.conftest import filled
from tests.channels.memory import (
    GROUP,
    MAX_BYTES,
    TOKEN,
    MemoryChannel,
    Office,
    people_of,
    private,
    update_of,
)
from tests.flow.conftest import Project

SALES = "team:sales"
QUESTION = Text(text="What discount does Nordwind Energie get?")
ANSWER = "18 percent"
_FAR = 200


class Killed(BaseException):
    """The process ended here."""


@dataclass(slots=True)
class Steps:
    """Counts what is done outside of the process, before and after each, and ends the process at step `last`."""

    last: int = _FAR
    count: int = 0
    names: list[str] = field(default_factory=list[str])

    def __call__(self, name: str) -> None:
        self.count += 1
        self.names.append(name)
        if self.count == self.last:
            raise Killed


@pytest.fixture
async def project(database: Database) -> Project:
    document = make_document("a.md", f"Nordwind Energie gets a discount of {ANSWER}.", [SALES])
    return await filled(database, document)


@contextmanager
def noting(steps: Steps) -> Generator[None]:
    """Count what is written of an update and its chat, too."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (channel_updates, "note_sent"),
            (channel_updates, "note_said"),
            (channel_chats, "go_on"),
        ):
            patch.setattr(module, name, _counted(getattr(module, name), name, steps))
        yield


def _counted(
    call: Callable[..., Awaitable[None]], name: str, steps: Steps
) -> Callable[..., Awaitable[None]]:
    async def counted(*args: object) -> None:
        steps(name)
        await call(*args)
        steps(f"{name} done")

    return counted


async def run_once(office: Office) -> None:
    """Take what waits, and answer it, as a process does that has the lock; end where it is killed."""
    bot = make_bot(office.channel, TOKEN, office.people, MAX_BYTES, lambda: None)
    lease = timedelta(seconds=60)
    taken = await channel_updates.take(
        office.project.database, bot.project_id, office.channel.platform, lease
    )
    assert taken is not None
    await bot.inbox.respond(taken)
    await channel_updates.close(office.project.database, taken)


async def answer_with_a_kill(office: Office, update: Update, last: int) -> bool:
    """Receive an update, end the process at this step, and answer again; return whether it was ended."""
    database = office.project.database
    await channel_updates.insert(database, office.project.kb.project_id, update)
    steps = Steps(last=last)
    office.channel.before = steps
    with noting(steps):
        try:
            await run_once(office)
        except Killed:
            pass
        else:
            return False
    office.channel.before = lambda _: None
    await database.execute("UPDATE channel_updates SET leased_until = now()", {})
    await run_once(office)
    return True


def office_on(project: Project, channel: MemoryChannel) -> Office:
    return Office(project=project, channel=channel, people=people_of(project))


@pytest.mark.parametrize(
    ("chat", "edits_alone", "shows_alone"),
    [("private", True, True), ("group", True, True), ("group", True, False)],
)
async def test_an_answer_is_given_once_wherever_the_process_ends(
    project: Project, chat: str, *, edits_alone: bool, shows_alone: bool
) -> None:
    steps = 0
    for last in range(1, _FAR):
        channel = MemoryChannel(edits_alone=edits_alone, shows_alone=shows_alone)
        office = office_on(project, channel)
        ada = await office.join(f"ada{last}", SALES)
        place = private(ada) if chat == "private" else GROUP
        was_ended = await answer_with_a_kill(office, update_of(ada, QUESTION, place), last)
        answers = [post for post in channel.posts.values() if ANSWER in post.text]
        assert len(answers) == 1, f"after step {last}"
        (conversation,) = await project.kb.conversations.list((await office.asker(ada)).reader)
        assert conversation.messages == 2, f"after step {last}"
        assert len([post for post in channel.posts.values() if post.text == "…"]) <= 1
        if not was_ended:
            break
        steps = last
    assert steps > 5


async def test_what_cannot_be_edited_is_perhaps_said_and_never_twice(project: Project) -> None:
    """Where a platform shows something to one account alone and lets nobody edit it."""
    outcomes: set[tuple[int, int]] = set()
    for last in range(1, _FAR):
        channel = MemoryChannel(edits_alone=False)
        office = office_on(project, channel)
        ada = await office.join(f"ada{last}", SALES)
        was_ended = await answer_with_a_kill(office, update_of(ada, QUESTION, GROUP), last)
        answers = [post for post in channel.posts.values() if ANSWER in post.text]
        perhaps = [post for post in channel.posts.values() if post.message == PERHAPS_ANSWERED]
        assert len(answers) + len(perhaps) >= 1
        outcomes.add((len(answers), len(perhaps)))
        if not was_ended:
            break
    assert outcomes <= {(1, 0), (0, 1), (1, 1)}
    assert (1, 0) in outcomes


@pytest.mark.parametrize("text", ["/status", "/help", "/new"])
async def test_a_command_is_answered_once_wherever_the_process_ends(
    project: Project, text: str
) -> None:
    for last in range(1, _FAR):
        office = office_on(project, MemoryChannel())
        ada = await office.join(f"ada{last}", SALES)
        was_ended = await answer_with_a_kill(office, update_of(ada, Text(text=text)), last)
        assert len([post for post in office.channel.posts.values() if post.text != "…"]) == 1
        if not was_ended:
            return


async def test_a_stranger_is_told_at_most_once_wherever_the_process_ends(project: Project) -> None:
    for last in range(1, _FAR):
        office = office_on(project, MemoryChannel())
        stranger = Account(platform=office.channel.platform, id=f"9{last}")
        was_ended = await answer_with_a_kill(office, update_of(stranger, QUESTION), last)
        assert len(office.channel.posts) <= 1
        if not was_ended:
            assert len(office.channel.posts) == 1
            return


async def test_an_update_that_another_process_took_meanwhile_is_written_by_nobody_else(
    project: Project,
) -> None:
    database = project.database
    office = office_on(project, MemoryChannel())
    ada = await office.join("ada", SALES)
    await channel_updates.insert(database, project.kb.project_id, update_of(ada, QUESTION))
    lease = timedelta(seconds=60)
    platform = office.channel.platform
    late = await channel_updates.take(database, project.kb.project_id, platform, lease)
    assert late is not None
    assert await channel_updates.take(database, project.kb.project_id, platform, lease) is None
    await database.execute("UPDATE channel_updates SET leased_until = now()", {})
    await run_once(office)
    for write in (channel_updates.close, channel_updates.note_said):
        with pytest.raises(channel_updates.LeaseLost):
            await write(database, late)


async def test_a_source_is_shown_once_or_said_to_be_perhaps(project: Project) -> None:
    for last in range(1, _FAR):
        office = office_on(project, MemoryChannel())
        ada = await office.join(f"ada{last}", SALES)
        await answer_with_a_kill(office, update_of(ada, QUESTION), _FAR)
        (answer,) = office.channel.posts.values()
        press = Press(data=answer.data("[1]"), message=answer.id, handle="h")
        was_ended = await answer_with_a_kill(office, update_of(ada, press), last)
        assert len([post for post in office.channel.posts.values() if ANSWER in post.text]) <= 2
        if not was_ended:
            return
