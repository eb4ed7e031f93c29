"""A question in a chat: its answer grows as its sentences are verified, and stands in the asker's own conversation."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from lightwell.domain.answers import (
    Answer,
    AnswerState,
    CitedSentence,
    StoredExchange,
    StreamChunk,
    StreamType,
)
from lightwell.domain.channels import Account, Chat
from lightwell.domain.chat import ConversationTurn, ShownAnswer, Thread
from lightwell.domain.errors import ModelFailed, NotFound
from lightwell.domain.graph import normalize_name
from lightwell.domain.graph_views import Candidates
from lightwell.domain.ids import ConversationId
from lightwell.domain.links import EntityLink
from lightwell.domain.questions import Question
from lightwell.entrypoints import wording
from lightwell.entrypoints.channels import picks
from lightwell.entrypoints.channels.actions import Share, ShowAnswer, ShowSource
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Button, Limits, Message, Rows, in_rows
from lightwell.entrypoints.channels.pace import growing
from lightwell.entrypoints.channels.pages import fitting, page_of, pages_of, with_notes
from lightwell.entrypoints.channels.rendering import render_answer, render_progress
from lightwell.entrypoints.channels.reply import Reply
from lightwell.records import channel_chats
from lightwell.records.database import Database

_SOURCES_IN_ROW = 4
_MOST_SOURCES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What became of a question: the answer, and where it is stored, None where one of its sources is gone already."""

    answer: Answer | ShownAnswer
    stored: StoredExchange | None
    ambiguous: tuple[Candidates, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions of one account in one chat; messages have these limits."""

    database: Database
    asker: Asker
    account: Account
    limits: Limits

    @property
    def _chat(self) -> Chat:
        return self.asker.chat

    async def ask(self, words: str, reply: Reply, *, decided: EntityLink | None = None) -> Message:
        """Answer a question, and write what there is so far into the reply meanwhile; return the whole answer.

        `decided` is the link that the pick before it has confirmed. An answer that an interrupted attempt has stored is shown again.
        """
        state = await self._state()
        meant = await picks.with_picks(self.asker, words, state.picks)
        earlier = await self._earlier(meant.question, state.conversation, reply)
        exchange = earlier or await self._ask(meant.question, state.conversation, reply)
        if exchange.stored is not None:
            await channel_chats.go_on(
                self.database,
                self.asker.reader.project_id,
                self.account,
                self._chat,
                exchange.stored.conversation,
            )
        open_names = [
            names for names in exchange.ambiguous if normalize_name(names.name) not in meant.names
        ]
        notes = [
            *meant.notes,
            *(f"“{names.name}” may mean several. Which one?" for names in open_names),
        ]
        if decided is not None:
            notes.append(
                f"Your choice confirms the link between {decided.source.name} and {decided.target.name}."
            )
        page = await self._shown(exchange)
        rows = (*page.buttons, *picks.pick_rows(open_names, picks.ASK, words))
        buttons = tuple(fitting(rows, self.limits.buttons))
        return with_notes(replace(page, buttons=buttons), notes)

    async def show_page(self, action: ShowAnswer) -> Message:
        """Return a page of an answer as the asker may see it now; raise `NotFound`."""
        turn = await self.asker.read_turn(action.conversation, action.place)
        if turn.answer is None:
            raise NotFound("There is no such answer")
        stored = StoredExchange(conversation=ConversationId(action.conversation), place=turn.place)
        return self._page(Exchange(answer=turn.answer, stored=stored), action.page)

    async def _state(self) -> channel_chats.ChatState:
        """Return the conversation and the picks in the chat, none of a person whose account it was before."""
        reader = self.asker.reader
        state = await channel_chats.find(self.database, reader.project_id, self.account, self._chat)
        if state.conversation is None:
            return state
        try:
            await self.asker.knowledge_base.conversations.get(reader, state.conversation)
        except NotFound:
            return replace(state, conversation=None)
        return state

    async def _earlier(
        self, question: str, conversation: ConversationId | None, reply: Reply
    ) -> Exchange | None:
        """Return the answer that an attempt has stored which was interrupted before it was shown."""
        if reply.taken.attempts == 1:
            return None
        reader, conversations = self.asker.reader, self.asker.knowledge_base.conversations
        if conversation is None:
            latest = await conversations.list(reader, limit=1)
            conversation = latest[0].id if latest else None
        if conversation is None:
            return None
        turns = await conversations.turns(reader, conversation)
        if not turns or not _is_of(turns[-1], question, reply.taken.received_at):
            return None
        answer = turns[-1].answer
        stored = StoredExchange(conversation=conversation, place=turns[-1].place)
        return None if answer is None else Exchange(answer=answer, stored=stored)

    async def _ask(
        self, question: str, conversation: ConversationId | None, reply: Reply
    ) -> Exchange:
        questions, limits = self.asker.knowledge_base.questions, self.limits
        events = questions.show(
            Question(text=question), self.asker.reader, thread=Thread(conversation=conversation)
        )
        async with aclosing(events), growing(reply.grow) as message:
            last = await _follow(events, lambda grown: message.show(pages_of(grown, limits)[0]))
        if last.answer is None:
            raise ModelFailed(last.error)
        answer, stored = last.answer, last.stored
        return Exchange(answer=answer, stored=stored, ambiguous=answer.ambiguous_names)

    async def _shown(self, exchange: Exchange) -> Message:
        """Return the first page of an answer as it is stored: the other pages are of the same."""
        answer, stored = exchange.answer, exchange.stored
        if not isinstance(answer, Answer) or not answer.is_answered:
            return self._page(exchange, 0)  # a stored refusal does not say what is nearest
        if stored is None or stored.place is None:
            return self._page(exchange, 0)
        turn = await self.asker.read_turn(stored.conversation, stored.place)
        page = self._page(replace(exchange, answer=turn.answer or answer), 0)
        only = wording.filters_line(answer.filters)
        return with_notes(page, [only] if only else [])

    def _page(self, exchange: Exchange, number: int) -> Message:
        message = render_answer(exchange.answer, self.asker.server)
        stored = exchange.stored
        if stored is None or stored.place is None:
            return pages_of(message, self.limits)[0]
        conversation, place = stored.conversation, stored.place
        rows = _source_rows(exchange.answer, conversation, place)
        if not self._chat.is_private and exchange.answer.citations:
            share = Share(
                conversation=conversation,
                place=place,
                chat=self._chat.id,
                thread=self._chat.thread,
            )
            rows = (*rows, (Button(label="Share here", action=share),))
        return page_of(
            replace(message, buttons=rows),
            number,
            self.limits,
            lambda other: ShowAnswer(conversation=conversation, place=place, page=other),
        )


async def _follow(
    events: AsyncGenerator[StreamChunk, None], show: Callable[[Message], None]
) -> StreamChunk:
    """Show what there is so far; return the last event, with the answer or what failed."""
    sentences: list[CitedSentence] = []
    is_doubtful = False
    last = StreamChunk(type=StreamType.ERROR, error="nothing came")
    async for event in events:
        last = event
        is_doubtful = is_doubtful or event.state is AnswerState.POSSIBLY
        if event.sentence is not None:
            sentences.append(event.sentence)
        if event.sentence is not None or event.step is not None:
            show(render_progress(sentences, event.step, is_doubtful=is_doubtful))
    return last


def _is_of(turn: ConversationTurn, question: str, since: datetime) -> bool:
    return turn.question == question.strip() and turn.asked_at >= since


def _source_rows(answer: Answer | ShownAnswer, conversation: ConversationId, place: int) -> Rows:
    """Return a button for each source, by its number."""
    numbers = list(dict.fromkeys(cited.id for cited in answer.citations))[:_MOST_SOURCES]
    buttons = [
        Button(
            label=number,
            action=ShowSource(conversation=conversation, place=place, source=number),
        )
        for number in numbers
    ]
    return in_rows(buttons, _SOURCES_IN_ROW)
