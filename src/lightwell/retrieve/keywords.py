"""What a question is about: themes that lead to relations, names and terms that lead to entities."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from itertools import groupby
from operator import itemgetter
from typing import cast

from lightwell.domain.errors import ModelFailed
from lightwell.domain.fences import fence
from lightwell.domain.graph import normalize_name
from lightwell.domain.questions import Keywords
from lightwell.logs import logger
from lightwell.ports import Message
from lightwell.records.llm_cache.cache import CacheType
from lightwell.records.llm_cache.cached_model import CachedModel, ModelRequest
from lightwell.text.terms import STOP_WORDS, words

MAX_KEYWORDS = 16
"""Of each level, the first."""

LONGEST_KEYWORD = 100
REPLY_TOKENS = 400
KEPT_SECONDS = 3600.0

UNANSWERED = "The model did not answer: the keywords are the question's own words."
UNUSABLE = "The model named no keywords: they are the question's own words."

_STRINGS = {"type": "array", "items": {"type": "string"}}
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"high_level_keywords": _STRINGS, "low_level_keywords": _STRINGS},
    "required": ["high_level_keywords", "low_level_keywords"],
    "additionalProperties": False,
}

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_STRING = re.compile(r'(?<!\\)("(?:[^"\\]|\\.)*+")(\s*:)?', re.DOTALL)
_LIST = re.compile(
    r'"\s*(high|low)[^"\[\]]{0,30}"\s*:\s*(\[(?:[^"\]]|"(?:[^"\\]|\\.)*+"?)*+|"(?:[^"\\]|\\.)*+")',
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE, _BREAK = re.compile(r"(?<=[.?!])\s+"), re.compile(r"[,;:()\[\]{}\"“”„«»\n]+")
_WORD = re.compile(r"\w(?:[\w@.\-/&'’+#]*[\w+#])?")
_LIST_END = re.compile(r"[,;\n]")
_POSSESSIVE = re.compile(r"['’]s\b")
_QUOTED = re.compile(r'"([^"]+)"|“([^”“]+)”|„([^“”„]+)[“”]|«([^»«]+)»|`([^`]+)`')
_PARTICLES = frozenset("of de del della der den van von da di du la le & y e".split())
_BIDDING = frozenset(
    "list name show tell give find describe explain summarize summarise compare count check please hi hello".split()
)
_WRAPPING = " \t\"'“”‘’`*<>[]{},;:.?!"

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedKeywords:
    """A question's keywords; `note` says what did not go as it should, "" when all did."""

    keywords: Keywords
    note: str = ""


async def extract_keywords(
    question: str, asking: CachedModel | None, *, max_age_seconds: float = KEPT_SECONDS
) -> ExtractedKeywords:
    """Return what the model names, or without one, or where it fails, what stands in the question itself.

    A reply is kept under the hash of the question for `max_age_seconds`: another model or prompt is heard after that.
    """
    own = rule_keywords(question)
    if asking is None:
        return ExtractedKeywords(keywords=own)
    asked = ModelRequest(
        kind=CacheType.KEYWORD_EXTRACTION,
        messages=build_messages(question),
        max_tokens=REPLY_TOKENS,
        schema=SCHEMA,
        max_age=max_age_seconds,
        content_hash=own.question_hash,
    )
    try:
        reply = await asking.reply(asked)
    except ModelFailed as error:
        _log.warning("keywords are taken from the question: a model failed", error=str(error))
        return ExtractedKeywords(keywords=own, note=UNANSWERED)
    high, low = parse_keywords(reply.text, question)
    if not high and not low:
        return ExtractedKeywords(keywords=own, note=UNUSABLE)
    return ExtractedKeywords(
        keywords=replace(_merge_keywords(own, high, low), cached_at=reply.stored_at)
    )


def build_messages(question: str) -> list[Message]:
    """Return what the model is sent."""
    page = resources.files("lightwell.retrieve").joinpath("prompts", "keywords.md")
    return [
        Message(role="system", content=page.read_text("utf-8").strip()),
        Message(role="user", content=fence(question)),
    ]


def parse_keywords(reply: str, question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the high and the low keywords of a reply, as far as they can be read; never raises.

    A low one that has no word in common with the question is left out: names are to be found in it, not guessed.
    """
    found: dict[str, list[str]] = {"high": [], "low": []}
    for level, listed in _LIST.findall(_THOUGHT.sub("", reply)):
        found[level.casefold()].extend(_strings(listed))
    beginnings = _beginnings(question)
    held = [each for each in found["low"] if not beginnings.isdisjoint(_beginnings(each))]
    return _clean_keywords(found["high"]), _clean_keywords(held)


def _merge_keywords(own: Keywords, high: Sequence[str], low: Sequence[str]) -> Keywords:
    """Return the model's keywords with the question's own names, each on one level, as small models do not have it.

    What says no more than the names is no theme, and what else is on both levels is one.
    """
    named = {word for each in own.low for word in words(each)}
    themes = tuple(each for each in high if not named.issuperset(words(each))) or own.high
    taken = set(map(normalize_name, themes))
    rest = [each for each in low if normalize_name(each) not in taken]
    return replace(own, high=themes, low=_clean_keywords([*own.low, *rest]), by_model=True)


def rule_keywords(question: str) -> Keywords:
    """Return the keywords in the question's own words: quotations, names and numbers, and what else it speaks of."""
    low = _clean_keywords([*_quotations(question), *names(question)])
    taken = STOP_WORDS.union(*map(words, low))
    spoken = _WORD.findall(question)
    if spoken and spoken[0].casefold() in _BIDDING:
        del spoken[0]
    return Keywords(
        high=_clean_keywords(word for word in spoken if not taken.issuperset(words(word))),
        low=low,
        question_hash=hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest(),
        by_model=False,
    )


def names(text: str) -> tuple[str, ...]:
    """Return what is written as a name or with a digit, in order, neighbouring words as one: `Bank of England`.

    The capital that begins a sentence makes a name only before another, or when nothing else stands there.
    """
    found: list[str] = []
    for sentence in _SENTENCE.split(text):
        opens = True
        for part in _BREAK.split(sentence):
            row = _WORD.findall(part)
            found.extend(_runs(row, [_is_name(word) for word in row], opens=opens))
            opens = opens and not row
    return tuple(dict.fromkeys(found))


def _runs(row: Sequence[str], marks: list[bool], *, opens: bool) -> Iterator[str]:
    """Yield the names in a row of words, of which `marks` says which look like one; `opens` a sentence or not."""
    if opens and row:
        marks[0] = _begins_name(row)
    for place in range(1, len(row)):
        marks[place] = marks[place] or (row[place] in _PARTICLES and marks[place - 1])
    for marked, run in groupby(zip(marks, row, strict=True), key=itemgetter(0)):
        name = [word for _, word in run]
        while name[-1] in _PARTICLES and len(name) > 1:
            name.pop()
        if marked:
            yield _POSSESSIVE.sub("", " ".join(name))


def _begins_name(row: Sequence[str]) -> bool:
    first = row[0]
    if first.casefold() in _BIDDING:
        return False
    telling = any(sign.isdigit() or sign.isupper() for sign in first[1:])
    return telling or _POSSESSIVE.search(first) is not None or all(map(_is_name, row[:2]))


def _is_name(word: str) -> bool:
    if STOP_WORDS.issuperset(words(word)):
        return False
    return word[0].isupper() or "@" in word or any(sign.isdigit() for sign in word)


def _quotations(question: str) -> list[str]:
    return ["".join(found) for found in _QUOTED.findall(question)]


def _strings(listed: str) -> list[str]:
    """Return the strings of a JSON list, also of one that is cut; of a single string, its parts by commas."""
    found: list[str] = []
    for literal, names_a_field in _STRING.findall(listed):
        if not names_a_field:
            with suppress(ValueError):
                found.append(cast("str", json.loads(literal, strict=False)))
    return found if listed.startswith("[") else _LIST_END.split(" ".join(found))


def _beginnings(text: str) -> frozenset[str]:
    """Return the first four letters of each word, which forms and misspellings mostly have in common."""
    return frozenset(word[:4] for word in words(text) if word not in STOP_WORDS)


def _clean_keywords(found: Iterable[str]) -> tuple[str, ...]:
    """Return the first that say something, each once, in one line; what is too long for a keyword is none."""
    kept: dict[str, str] = {}
    for each in found:
        signs = (sign if sign.isprintable() else " " for sign in each)
        line = " ".join("".join(signs).split()).strip(_WRAPPING)
        key = normalize_name(line)
        if key and len(line) <= LONGEST_KEYWORD:
            kept.setdefault(key, line)
    return tuple(kept.values())[:MAX_KEYWORDS]
