"""Follow-up questions are made to stand alone: "and who owns it?" gets the name that it refers to, in a model's words or beside its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources

from lightwell.domain.errors import ModelFailed
from lightwell.domain.keywords import rule_keywords
from lightwell.domain.prompt_fencing import fence
from lightwell.domain.question_names import keyword_names, proper_name_terms
from lightwell.domain.questions import MAX_QUESTION_LENGTH, with_left_out
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
_MAX_CARRIED, _LONGEST_CARRIED = 8, 300
_KEPT_SHARE = 0.5
_POINTING = frozenset(
    """he him his she her hers it its they them their theirs this that these those there then one ones both either
    neither same such former latter first second third last next previous other another er ihn ihm sie ihr ihnen es
    dessen deren dort damals il elle ils elles lui leur""".split()
)
_ASKING = frozenset(
    """who whom whose what when where why how which can could do does did is isn't are was were will would may must should has have wer
    wen wem was wann wo wie warum wieso welche welcher welches kann darf muss ist sind hat haben qui que quoi quand où comment pourquoi
    combien est sont peut""".split()
)
_GOES_ON = regex(
    r"(?:and|or|but|also|so|what about|how about|what if|und|oder|was ist mit|was wenn|et si|et|ou)\b",
    re.IGNORECASE,
)
_EXISTS = regex(r"\b(?:is|are|was|were) there\b|\bthere (?:is|are|was|were)\b", re.IGNORECASE)
_BRACKETS, _DIGIT = regex(r"[()]"), regex(r"\d")
_THOUGHT = regex(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LABEL = regex(r"^(?:[*_#\s]*)(?:question|message|rewritten(?: \w+)?)\s*:[*_\s]*", re.IGNORECASE)

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenQuestion:
    """A question that stands alone, with the `subject` that its `text` leaves out, if any; `note` says what failed, "" for nothing."""

    text: str
    subject: str = ""
    note: str = ""

    def remarks(self, remarks: tuple[str, ...]) -> tuple[str, ...]:
        """Return the remarks on its answer, after the note."""
        return (self.note, *remarks) if self.note else remarks


async def rewrite_followup(
    message: str, conversation: Sequence[Message], model: ChatModel | None
) -> RewrittenQuestion:
    """Return the message so that it can be understood without the conversation before it, oldest turn first.

    Without a model, or where it fails or changes the question, the message stays, with the subject that it leaves out beside it.
    """
    if not any(turn.role == "user" for turn in conversation):
        return RewrittenQuestion(text=message)
    by_rules = RewrittenQuestion(text=message, subject=_find_subject(message, conversation))
    if model is None:
        return by_rules
    shown = _format_history(conversation)
    try:
        reply = await model.reply(_messages(message, shown), max_tokens=REPLY_TOKENS)
    except ModelFailed as error:
        _log.warning("a follow-up is not rewritten: a model failed", error=str(error))
        return replace(by_rules, note=UNANSWERED)
    rewritten = _parse_reply(reply.text)
    if not reply.complete or not _is_faithful(rewritten, message, shown):
        return replace(by_rules, note=UNUSABLE)
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


def _find_subject(message: str, conversation: Sequence[Message]) -> str:
    """Return what the message leaves out, each turn read by what those before it say; "" where it stands alone.

    It comes from the user's turns; the answers may name much else.
    """
    question, subject = "", ""
    for turn in [*(turn.content for turn in conversation if turn.role == "user"), message]:
        subject = _left_out(turn, question)
        question = with_left_out(turn, subject)
    return subject if len(question) <= MAX_QUESTION_LENGTH else ""


def _left_out(message: str, before: str) -> str:
    """Return what a message leaves out, in words of the question before it.

    That is the whole question where the message only puts another thing into it ("and in Germany?"); else its names and its words.
    """
    bare = _GOES_ON.sub("", message.strip()).strip()
    content, spoken = _content(bare), frozenset(words(bare))
    goes_on, points = bare != message.strip(), _points(bare)
    names, asks = _names_in(bare), not _ASKING.isdisjoint(spoken)
    is_short = len(content) <= 1
    if not (points or goes_on or is_short) or (names and asks and not points and not is_short):
        return ""
    if not (asks or points or names or _DIGIT.search(bare)) and len(before) <= _LONGEST_CARRIED:
        return before
    keywords = rule_keywords(_BRACKETS.sub(" ", before))
    carried = keywords.high if names and not points else (*_names_in(before), *keywords.high)
    new = [name for name in dict.fromkeys(carried) if not content.issuperset(terms(name))]
    return ", ".join(new[:_MAX_CARRIED])


def _points(text: str) -> bool:
    """Return whether a word points back; "there" in "are there" does not."""
    return not _POINTING.isdisjoint(words(_EXISTS.sub(" ", text)))


def _content(text: str) -> frozenset[str]:
    """Return the terms of all words but pronouns and the like."""
    return frozenset(terms(" ".join(word for word in words(text) if word not in _POINTING)))


def _names_in(text: str) -> tuple[str, ...]:
    """Return the names in a text; a number alone is none."""
    return tuple(name for name in keyword_names(text) if any(sign.isalpha() for sign in name))
