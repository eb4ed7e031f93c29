"""Follow-up questions are rewritten to stand alone: "and who owns it?" gets the name that it refers to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from lightwell.domain.errors import ModelFailed
from lightwell.domain.keywords import rule_keywords
from lightwell.domain.prompt_fencing import fence
from lightwell.domain.question_names import keyword_names, proper_name_terms
from lightwell.domain.questions import MAX_QUESTION_LENGTH
from lightwell.logs import logger
from lightwell.ports import ChatModel, Message
from lightwell.text.regex import regex
from lightwell.text.terms import terms, words

MAX_TURNS = 8
LONGEST_TURN = 1000
REPLY_TOKENS = 600

UNANSWERED = "The model did not answer: the question was read without its rewriting."
UNUSABLE = "The model's rewriting was not used: it was no longer the same question."

_TASK = "Rewrite the message; reply with it alone."
_LOOKED_BACK, _MAX_ADDED = 3, 6
_KEPT_SHARE = 0.5
_POINTING = frozenset(
    """he him his she her hers it its they them their theirs this that these those there then one ones both either
    neither same such former latter first second third last next previous other another er ihn ihm sie ihr ihnen es
    dessen deren dort damals il elle ils elles lui leur""".split()
)
_GOES_ON = regex(r"(?:and|or|but|also|what about|how about|und|oder|et|ou)\b", re.IGNORECASE)
_THOUGHT = regex(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LABEL = regex(r"^(?:[*_#\s]*)(?:question|message|rewritten(?: \w+)?)\s*:[*_\s]*", re.IGNORECASE)

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenQuestion:
    """A question that stands alone; `note` says what failed, "" for nothing."""

    text: str
    note: str = ""

    def remarks(self, remarks: tuple[str, ...]) -> tuple[str, ...]:
        """Return the remarks on its answer, after the note."""
        return (self.note, *remarks) if self.note else remarks


async def rewrite_followup(
    message: str, conversation: Sequence[Message], model: ChatModel | None
) -> RewrittenQuestion:
    """Return the message so that it can be understood without the conversation before it, oldest turn first.

    Without a model, or where it fails or changes the question, the names last mentioned are appended to a message that
    refers to them.
    """
    if not any(turn.role == "user" for turn in conversation):
        return RewrittenQuestion(text=message)
    by_rules = _complete_by_rules(message, conversation)
    if model is None:
        return RewrittenQuestion(text=by_rules)
    shown = _format_history(conversation)
    try:
        reply = await model.reply(_messages(message, shown), max_tokens=REPLY_TOKENS)
    except ModelFailed as error:
        _log.warning("a follow-up is not rewritten: a model failed", error=str(error))
        return RewrittenQuestion(text=by_rules, note=UNANSWERED)
    rewritten = _parse_reply(reply.text)
    if not reply.complete or not _is_faithful(rewritten, message, shown):
        return RewrittenQuestion(text=by_rules, note=UNUSABLE)
    return RewrittenQuestion(text=rewritten)


def _messages(message: str, shown: str) -> list[Message]:
    page = resources.files("lightwell.retrieve").joinpath("prompts", "followup.md")
    return [
        Message(role="system", content=page.read_text("utf-8").strip()),
        Message(role="user", content=f"{fence(shown)}\n\n{fence(message)}\n{_TASK}"),
    ]


def _format_history(conversation: Sequence[Message]) -> str:
    """Return the last turns, each on one line, so that no turn can imitate another speaker's."""
    lines = [f"{turn.role}: {' '.join(turn.content.split())}" for turn in conversation[-MAX_TURNS:]]
    return "\n".join(line[:LONGEST_TURN] for line in lines)


def _parse_reply(reply: str) -> str:
    bare = _THOUGHT.sub("", reply).strip().strip("~`").strip()
    return _LABEL.sub("", bare).strip('"“”„«» \t\n')


def _is_faithful(rewritten: str, message: str, shown: str) -> bool:
    """Return whether this is one message that asks the same and adds no name that the conversation lacks."""
    if not rewritten or len(rewritten) > MAX_QUESTION_LENGTH or "\n" in rewritten:
        return False
    if rewritten.count("?") > max(1, message.count("?")) or (
        "?" in message and "?" not in rewritten
    ):
        return False
    question_terms, kept = _content(message), frozenset(terms(rewritten))
    if len(question_terms & kept) < _KEPT_SHARE * len(question_terms):
        return False
    return proper_name_terms(message) & question_terms <= kept and proper_name_terms(
        rewritten
    ) <= question_terms.union(terms(shown))


def _complete_by_rules(message: str, conversation: Sequence[Message]) -> str:
    """Return the message with the names or the words that it leaves out, appended in brackets.

    They come from the user's turns; the answers may name much else.
    """
    back = [turn.content for turn in reversed(conversation) if turn.role == "user"][:_LOOKED_BACK]
    bare = _GOES_ON.sub("", message.strip())
    goes_on, points = bare != message.strip(), not _POINTING.isdisjoint(words(bare))
    content = _content(bare)
    elliptic = len(content) <= 1
    added: list[str] = []
    if not _names_in(bare) and (elliptic or goes_on or points):
        added.extend(next((named for text in back if (named := _names_in(text))), ()))
    if elliptic and (goes_on or not points):
        full = next((text for text in back if len(_content(text)) > 1), "")
        added.extend(rule_keywords(full).high)
    new = [name for name in dict.fromkeys(added) if not content.issuperset(terms(name))]
    completed = f"{message.strip()} ({', '.join(new[:_MAX_ADDED])})" if new else message
    return completed if len(completed) <= MAX_QUESTION_LENGTH else message


def _content(text: str) -> frozenset[str]:
    """Return the terms of all words but pronouns and the like."""
    return frozenset(terms(" ".join(word for word in words(text) if word not in _POINTING)))


def _names_in(text: str) -> tuple[str, ...]:
    """Return the names in a text; a number alone is none."""
    return tuple(name for name in keyword_names(text) if any(sign.isalpha() for sign in name))
