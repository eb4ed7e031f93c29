"""Answers one update, as the person whose account sent it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from lightwell.domain.channels import Account, Chat, File, Press, Text, Unreadable, Update
from lightwell.domain.errors import (
    ChannelFailed,
    Forbidden,
    Invalid,
    LeaseLost,
    LightwellError,
    NotFound,
    Refused,
    StoreFailed,
)
from lightwell.domain.errors import (
    Unreadable as UnreadableDocument,
)
from lightwell.domain.graph import normalize_name
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels import dispatch, files, picks
from lightwell.entrypoints.channels.actions import (
    Action,
    AddFile,
    Pick,
    Share,
    ShowAnswer,
    ShowJob,
    ShowList,
)
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.buttons import Buttons
from lightwell.entrypoints.channels.dispatch import COMMANDS, Shown, Typed
from lightwell.entrypoints.channels.messages import Message, plain
from lightwell.entrypoints.channels.pages import page_of, pages_of
from lightwell.entrypoints.channels.people import People
from lightwell.entrypoints.channels.platform import Channel, Labelled
from lightwell.entrypoints.channels.questions import Questions
from lightwell.entrypoints.channels.reply import Reply
from lightwell.logs import logger, raise_location
from lightwell.records import channel_chats, channel_updates
from lightwell.records.channel_updates import TakenUpdate
from lightwell.records.database import Database

GONE = "This button no longer works."
"""What every press says that does nothing: of another account, in another chat, forged, expired, used, or about what is out of sight by now."""

_STRANGER = (
    "I do not know who you are yet. Sign in to the web page of Lightwell, open “Chats” there, and link this account:"
    " it gives you a code to send me here. Then ask me again."
)
_STRANGER_IN_GROUP = "I do not know who you are yet. Write to me in a private chat first."
_LINKED = (
    "This account is linked now. I answer you as {}, from the documents that you may see."
    " If that is not you, send {}. Send help for more."
)
_WRONG_CODE = "This code is not valid, or not any more. Make a new one on the web page, and send it here within ten minutes."
_CODES_PRIVATELY = (
    "Send me the code in a private chat, where nobody else can use it. Make a new one for that."
)
_UNLINKED = (
    "This account is not linked to you any more, and I answer nothing here until you link it again."
)
_NEW = "This is a new conversation: what was said before counts no more."
_UNKNOWN_COMMAND = "I do not know this command. Send help for those that I know."
_APOLOGY = (
    "Something went wrong here, and I could not answer. Whoever runs Lightwell finds it in the log."
)
_UNAVAILABLE = "Something that I need to answer is not available right now. Try again in a minute."
_NO_SCOPE = "You may not read here: ask whoever runs Lightwell"
_UNREADABLE = "I cannot read a {} yet. Write your question, please."
_TOO_MANY = "Too many questions; try again in {} seconds."
_SAYABLE = (Invalid, NotFound, Forbidden, Refused, UnreadableDocument)
_ABOUT_NAMES = frozenset({"brief", "promises", "search"})
_LONGEST_WAIT_FOR_FILE = 10.0

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """What a bot says in its chats. `max_bytes` is the largest file that it takes; `on_work` is called when a file waits to be read."""

    channel: Channel
    database: Database
    people: People
    buttons: Buttons
    max_bytes: int
    on_work: Callable[[], None]

    async def respond(self, taken: TakenUpdate) -> None:
        """Answer an update; raise `ChannelFailed`, `StoreFailed` and `LeaseLost` where it has to be taken again."""
        update = taken.update
        asker = await self.people.find(update.account, update.chat)
        if isinstance(update.content, Press):
            await self._respond_to_press(taken, update.content, asker)
        elif isinstance(update.content, Text) and (code := dispatch.read_code(update.content.text)):
            await self._link(taken, code)
        elif asker is None and (asker := await self._introduced(update)) is None:
            await self._tell_stranger(taken)
        elif wait := await self.people.count(asker):
            await self._tell_once(taken, _TOO_MANY.format(wait))
        else:
            await self._answer(taken, asker)

    # ── messages ──────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, taken: TakenUpdate, asker: Asker) -> None:
        reply = self._reply(taken, asker)
        if await reply.begin():
            await reply.finish(await _or_sentence(self._message(taken.update, asker, reply)))

    async def _message(self, update: Update, asker: Asker, reply: Reply) -> Message:
        if not asker.allows(Scope.READ):
            raise Forbidden(_NO_SCOPE)
        match update.content:
            case Text(text=text):
                typed = dispatch.read_command(text)
                if typed is None:
                    return await self._questions(asker, update.account).ask(text, reply)
                return await self._obey(typed, asker, update.account)
            case File() as file:
                return await files.offer(asker, file, self.max_bytes)
            case Unreadable(kind=kind):
                return plain(_UNREADABLE.format(kind))
            case _:
                raise Invalid("A press is no message")

    async def _obey(self, typed: Typed, asker: Asker, account: Account) -> Message:
        project_id = asker.reader.project_id
        match typed.name:
            case "new":
                await channel_chats.begin_anew(self.database, project_id, account, asker.chat)
                return plain(_NEW)
            case "unlink":
                await self.people.unlink(account)
                return plain(_UNLINKED)
            case "start":
                return await COMMANDS["help"](asker, "")
            case name if name in COMMANDS:
                words = await self._meant(typed, asker, account)
                return await self._list(asker, name, words, 0)
            case _:
                return plain(_UNKNOWN_COMMAND)

    async def _meant(self, typed: Typed, asker: Asker, account: Account) -> str:
        """Return the words of a command, with what was picked in the chat in place of names."""
        if typed.name not in _ABOUT_NAMES:
            return typed.words
        project_id, words = asker.reader.project_id, typed.words
        state = await channel_chats.find(self.database, project_id, account, asker.chat)
        if typed.name == "brief":
            return state.picks.get(normalize_name(words), words)
        return (await picks.with_picks(asker, words, state.picks)).question

    async def _list(self, asker: Asker, command: str, words: str, page: int) -> Message:
        """Return a page of what a command lists now."""
        whole = await COMMANDS[command](asker, words)
        return page_of(
            whole,
            page,
            self.channel.limits,
            lambda other: ShowList(command=command, words=words, page=other),
        )

    # ── presses ───────────────────────────────────────────────────────────────────────────────────────

    async def _respond_to_press(
        self, taken: TakenUpdate, press: Press, asker: Asker | None
    ) -> None:
        update = taken.update
        action = await self.buttons.read(press.data, update.account, update.chat)
        if asker is None or action is None or not asker.allows(Scope.READ):
            await self._acknowledge(press, GONE)
            return
        if wait := await self.people.count(asker):
            await self.channel.acknowledge(press, _TOO_MANY.format(wait))
            return
        try:
            notice = await self._do(taken, asker, action)
            change, ids = dispatch.change_of(action)
            if change:
                self.people.note(change, update.account, asker.person.id, ids)
        except NotFound:
            notice = GONE
        except Exception as error:  # noqa: BLE001 - one press that fails must not end the others
            notice = _sentence_instead(error)
        await self._acknowledge(press, notice)

    async def _acknowledge(self, press: Press, notice: str) -> None:
        """Say that the press was understood; what it did is done, also where the platform does not take that any more."""
        with suppress(ChannelFailed):
            await self.channel.acknowledge(press, notice)

    async def _do(self, taken: TakenUpdate, asker: Asker, action: Action) -> str:
        """Do what a button says, and show it; return what whoever pressed is told beside it."""
        update = taken.update
        reply = self._reply(taken, asker)
        match dispatch.place_of(action):
            case Shown.BELOW:
                await reply.say(await dispatch.perform(asker, action))
                return ""
            case Shown.IN_GROUP:
                return await self._share(taken, asker, action)
            case Shown.INSTEAD:
                await reply.begin()
                message = await self._instead(update, asker, action, reply)
                await reply.finish(message)
                await self.buttons.use_up(action, update.account, update.chat)
                await self._follow_up(asker, message, reply)
                return ""

    async def _instead(self, update: Update, asker: Asker, action: Action, reply: Reply) -> Message:
        """Return what takes the place of the message with the button."""
        match action:
            case ShowAnswer():
                return await self._questions(asker, update.account).show_page(action)
            case ShowList(command=command, words=words, page=page) if command in COMMANDS:
                return await self._list(asker, command, words, page)
            case Pick():
                return await self._pick(update, asker, action, reply)
            case AddFile():
                file = File(name=action.name, size=action.size, handle=action.handle)
                content = self.channel.download(file)
                message = await files.add(asker, action, content, self.max_bytes)
                self.on_work()
                return message
            case _:
                return await dispatch.perform(asker, action)

    async def _pick(self, update: Update, asker: Asker, pick: Pick, reply: Reply) -> Message:
        """Remember what a name means here, confirm the link that this decides, and ask again."""
        named = {normalize_name(pick.name): pick.entity}
        await channel_chats.pick(self.database, asker.reader, update.account, asker.chat, named)
        if pick.command == picks.ASK:
            decided = await picks.confirm_by_pick(asker, pick)
            if decided is not None:
                ids = {"link": str(decided.id)}
                self.people.note("confirm", update.account, asker.person.id, ids)
            questions = self._questions(asker, update.account)
            return await questions.ask(pick.words, reply, decided=decided)
        words = pick.entity
        if pick.command != "brief":
            words = (await picks.with_picks(asker, pick.words, named)).question
        return await self._list(asker, pick.command, words, 0)

    async def _share(self, taken: TakenUpdate, asker: Asker, action: Action) -> str:
        """Post an answer to the group in which it was asked for; return what whoever shares it is told."""
        if not isinstance(action, Share) or taken.is_said:
            return ""
        message = await dispatch.perform(asker, action)
        group = Chat(
            platform=asker.chat.platform, id=action.chat, is_private=False, thread=action.thread
        )
        await channel_updates.note_said(self.database, taken)
        for page in pages_of(message, self.channel.limits):
            await self.channel.send(group, Labelled(message=page))
        await self.buttons.use_up(action, taken.update.account, taken.update.chat)
        return "Shared."

    async def _follow_up(self, asker: Asker, message: Message, reply: Reply) -> None:
        """Show how far a file is read that was just added, once it is or after some seconds."""
        actions = [button.action for row in message.buttons for button in row]
        job = next((action for action in actions if isinstance(action, ShowJob)), None)
        if job is not None:
            await reply.finish(await files.progress(asker, job, seconds=_LONGEST_WAIT_FOR_FILE))

    # ── who one is ────────────────────────────────────────────────────────────────────────────────────

    async def _introduced(self, update: Update) -> Asker | None:
        """Return whose account it is by what its workspace says, where that is trusted."""
        account = update.account
        if not self.people.trusts(account):
            return None
        email = await self.channel.verified_email(account)
        if not email or await self.people.link_by_email(account, email) is None:
            return None
        return await self.people.find(account, update.chat)

    async def _link(self, taken: TakenUpdate, code: str) -> None:
        """Link the account by a code, which is of use where nobody else reads it."""
        update = taken.update
        if not update.chat.is_private:
            await self._tell_once(taken, _CODES_PRIVATELY)
            return
        try:
            person = await self.people.link(update.account, code)
        except Invalid as error:
            await self._tell_once(taken, str(error))
            return
        if person is None and taken.attempts > 1:
            asker = await self.people.find(update.account, update.chat)
            person = asker and asker.person  # the attempt before this one has used the code
        if person is None:
            await self._tell_once(taken, _WRONG_CODE)
            return
        name = " ".join(person.display_name.split()) or person.email or "yourself"
        await self._tell(taken, _LINKED.format(name, update.chat.typed("/unlink")))

    async def _tell_stranger(self, taken: TakenUpdate) -> None:
        is_private = taken.update.chat.is_private
        await self._tell_once(taken, _STRANGER if is_private else _STRANGER_IN_GROUP)

    async def _tell_once(self, taken: TakenUpdate, words: str) -> None:
        """Say what the account cannot do, once a minute."""
        if taken.attempts > 1 or await self.people.may_notify(taken.update.account):
            await self._tell(taken, words)

    async def _tell(self, taken: TakenUpdate, words: str) -> None:
        """Say something that hangs on no document; once, also after an interruption."""
        if taken.is_said:
            return
        update, labelled = taken.update, Labelled(message=plain(words))
        await channel_updates.note_said(self.database, taken)
        if update.chat.is_private:
            await self.channel.send(update.chat, labelled)
        elif not await self.channel.send_alone(
            update.chat, update.account, labelled, reply_to=update.message
        ):
            await self.channel.send(update.chat, labelled, reply_to=update.message)

    def _reply(self, taken: TakenUpdate, asker: Asker) -> Reply:
        account = taken.update.account

        async def label(message: Message, chat: Chat) -> Labelled:
            return await self.buttons.label(message, asker.reader, account, chat)

        return Reply(channel=self.channel, database=self.database, taken=taken, label=label)

    def _questions(self, asker: Asker, account: Account) -> Questions:
        return Questions(
            database=self.database, asker=asker, account=account, limits=self.channel.limits
        )


async def _or_sentence(answering: Awaitable[Message]) -> Message:
    """Return the answer, or one sentence about why there is none; raise what has to be tried again."""
    try:
        return await answering
    except Exception as error:  # noqa: BLE001 - one question that fails must not end the others, and nobody is shown why
        return plain(_sentence_instead(error))


def _sentence_instead(error: Exception) -> str:
    """Return what a person is told of an error; raise it where the update has to be taken again."""
    if isinstance(error, ChannelFailed | StoreFailed | LeaseLost):
        raise error
    if not isinstance(error, LightwellError):
        _log.warning(
            "a chat could not be answered", error=type(error).__name__, at=raise_location(error)
        )
        return _APOLOGY
    if not isinstance(error, _SAYABLE):
        _log.warning("a chat could not be answered", error=type(error).__name__)
        return _UNAVAILABLE
    message = str(error)
    stop = "" if message.endswith((".", "?", "!")) else "."
    return f"{message[:1].upper()}{message[1:]}{stop}"
