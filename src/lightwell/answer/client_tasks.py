"""What chat clients ask of a model beside questions: a title, tags, follow-up questions or searches for a conversation, or how a message goes on, as JSON.

Open WebUI sends such a prompt in place of a message: headings, the conversation between `<chat_history>` tags, and an example of the JSON that is
wanted. It is recognised by that structure, in whichever language an administrator has rewritten it, and never searched.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from lightwell.domain.errors import ModelFailed
from lightwell.domain.texts import only_text
from lightwell.logs import logger
from lightwell.ports import ChatModel, Message
from lightwell.text.markup import strip_active_markup
from lightwell.text.proper_names import find_names
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, terms

MAX_TASK_TOKENS = 400
LONGEST_TASK = 60_000
"""Characters: a conversation of six long messages."""

_LONGEST_TITLE = 50
_LONGEST_VALUE = 300
_MOST_VALUES = 5
_TAGS = 3
_GENERAL = "General"

_HISTORY_BEGIN, _HISTORY_END = "<chat_history>", "</chat_history>"
_BEGINS = regex(r"\s*#{1,4}\s[^\n]{1,40}:?\s*\n")
_KEY = regex(r"\{\s{0,20}[\"“](title|tags|follow_ups|queries|text)[\"”]\s{0,5}:")
_TURN = regex(r"^(USER|ASSISTANT|SYSTEM|TOOL):[ \t]?", re.MULTILINE)
_JSON = regex(r"\{[^{}]{0,4000}\}")
_WORD = regex(r"[^\W\d_][\w'’-]{2,}")

_log = logger(__name__)


class Wanted(StrEnum):
    """What is asked for, by the key of the JSON object."""

    TITLE = "title"
    TAGS = "tags"
    FOLLOW_UPS = "follow_ups"
    QUERIES = "queries"
    CONTINUATION = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTask:
    """A prompt of a client: its whole `text`, what it wants, and the messages of the user in its conversation, oldest first."""

    text: str
    wanted: Wanted
    asked: tuple[str, ...]


def find_task(messages: Sequence[str]) -> ClientTask | None:
    """Return the task that the user's messages are; None for a question. A task is one message: heading, conversation, wanted JSON."""
    if len(messages) != 1 or len(messages[0]) > LONGEST_TASK:
        return None
    text = only_text(messages[0])
    before, _, rest = text.partition(_HISTORY_BEGIN)
    history, end, after = rest.rpartition(_HISTORY_END)
    if not end or not _BEGINS.match(text):
        return None
    key = _KEY.search(before + after)
    if key is None:
        return None
    return ClientTask(text=text, wanted=Wanted(key[1]), asked=tuple(_user_messages(history)))


async def perform(task: ClientTask, model: ChatModel | None) -> str:
    """Return the JSON that a task asks for, by the model without any documents, or by rules where there is none or it fails."""
    value = by_rules(task)
    if model is not None:
        try:
            messages = [Message(role="user", content=task.text)]
            reply = await model.reply(messages, max_tokens=MAX_TASK_TOKENS)
            value = _read(reply.text, task.wanted) or value
        except ModelFailed as error:
            _log.info("a client's task is done by rules: a model failed", error=str(error))
    return json.dumps({task.wanted.value: value}, ensure_ascii=False)


def by_rules(task: ClientTask) -> str | list[str]:
    """Return the first question shortened as title, frequent words as tags, the last question as search, and nothing for what takes a model."""
    match task.wanted:
        case Wanted.TITLE:
            return _shorten(task.asked[0]) if task.asked else _GENERAL
        case Wanted.TAGS:
            return _tags(task.asked)
        case Wanted.QUERIES:
            return [_plain(task.asked[-1])] if task.asked else []
        case Wanted.FOLLOW_UPS:
            return []
        case Wanted.CONTINUATION:
            return ""


def _user_messages(history: str) -> list[str]:
    """Return what the user wrote; all of it where no line says who speaks."""
    before, *turns = _TURN.split(history)
    if not turns:
        return [before.strip()] if before.strip() else []
    pairs = zip(turns[::2], turns[1::2], strict=True)
    return [text.strip() for role, text in pairs if role == "USER" and text.strip()]


def _read(reply: str, wanted: Wanted) -> str | list[str] | None:
    """Return what a model's reply has under the key; None where it is not what was asked for."""
    for match in _JSON.finditer(reply):
        try:
            value = json.loads(match[0]).get(wanted.value)
        except (ValueError, RecursionError):
            continue
        is_text = wanted in (Wanted.TITLE, Wanted.CONTINUATION)
        if is_text and isinstance(value, str) and _plain(value):
            return _plain(value)
        if not is_text and isinstance(value, list):
            texts = [_plain(text) for text in cast("list[object]", value) if isinstance(text, str)]
            return list(filter(None, texts))[:_MOST_VALUES]
    return None


def _plain(text: str) -> str:
    return " ".join(strip_active_markup(text).split())[:_LONGEST_VALUE].strip()


def _shorten(question: str) -> str:
    """Return the beginning of a question, whole words only."""
    plain = _plain(question).rstrip("?!. ")
    if len(plain) <= _LONGEST_TITLE:
        return plain or _GENERAL
    return plain[: _LONGEST_TITLE + 1].rpartition(" ")[0].rstrip(",;:- ") or plain[:_LONGEST_TITLE]


def _tags(messages: Sequence[str]) -> list[str]:
    """Return the words that the user writes most, names first; a greeting has none."""
    text = "\n".join(messages)
    named = frozenset[str]().union(*find_names(text))
    words = [word for word in _WORD.findall(text) if word.casefold() not in STOP_WORDS]
    first: Mapping[str, str] = {term: word for word in reversed(words) for term in terms(word)}
    counts = Counter(term for word in words for term in terms(word))
    ranked = sorted(counts, key=lambda term: (term not in named, -counts[term]))
    return [first[term] for term in ranked[:_TAGS]] or [_GENERAL]
