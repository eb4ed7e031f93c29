"""What a conversation needs beside answers: the messages that are carried along, and replies to greetings and thanks."""

import unicodedata
from collections.abc import Sequence

from lightwell.domain.answers import Answer, Courtesy
from lightwell.domain.chat import ChatMessage, Role
from lightwell.domain.evidence import NO_METRICS
from lightwell.domain.ids import new_query_id
from lightwell.text.tokens import token_count
from lightwell.text.word_lists import load_word_lists

MAX_REMEMBERED = 2000
"""Tokens of a conversation that are carried along."""

_PHRASES = load_word_lists("lightwell.answer")["courtesies"]
"""The known courtesies, by the reply to them."""
_REPLIES = {phrase.casefold(): reply for reply, phrases in _PHRASES.items() for phrase in phrases}


def recent_messages(history: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return the last messages that fit the budget, from a question on."""
    left = MAX_REMEMBERED
    kept: list[ChatMessage] = []
    for message in reversed(history):
        left -= token_count(message.content)
        if left < 0:
            break
        kept.append(message)
    while kept and kept[-1].role is not Role.USER:
        kept.pop()
    return tuple(reversed(kept))


def courteous_answer(message: str) -> Answer | None:
    """Return the reply to a greeting or to thanks as an answer; None for a question."""
    reply = courteous_reply(message)
    if reply is None:
        return None
    return Answer(
        query_id=new_query_id(),
        question=message.strip(),
        outcome=Courtesy(text=reply),
        relevance=0.0,
        author=None,
        metrics=NO_METRICS,
    )


def is_courtesy(message: str) -> bool:
    """Return whether a message of either side is a courtesy, which a later question does not refer to."""
    return message in _PHRASES or courteous_reply(message) is not None


def courteous_reply(message: str) -> str | None:
    """Return a reply in the message's language when it is one of the known courtesies, else None.

    Case, punctuation and signs such as emoji do not count.
    """
    folded = unicodedata.normalize("NFC", message).casefold()
    words = "".join(sign if sign.isalnum() else " " for sign in folded).split()
    return _REPLIES.get(" ".join(words))
