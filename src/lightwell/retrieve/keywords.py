"""A question's keywords as a chat model names them."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from typing import cast

from lightwell.domain.access import Reader
from lightwell.domain.errors import ModelFailed
from lightwell.domain.graph import normalize_name
from lightwell.domain.keywords import Keywords, clean_keywords
from lightwell.domain.prompt_fencing import fence
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.logs import logger
from lightwell.ports import Message
from lightwell.records.llm_cache.cache import CacheType
from lightwell.records.llm_cache.cached_model import CachedModel, ModelRequest
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, words

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

_THOUGHT = regex(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_STRING = regex(r'(?<!\\)("(?:[^"\\]|\\.)*+")(\s*:)?', re.DOTALL)
_LIST = regex(
    r'"\s*(high|low)[^"\[\]]{0,30}"\s*:\s*(\[(?:[^"\]]|"(?:[^"\\]|\\.)*+"?)*+|"(?:[^"\\]|\\.)*+")',
    re.IGNORECASE | re.DOTALL,
)
_LIST_END = regex(r"[,;\n]")
_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedKeywords:
    """A question's keywords; `note` says what failed, "" for nothing."""

    keywords: Keywords
    note: str = ""


async def extract_keywords(
    analysis: QuestionAnalysis,
    model: CachedModel | None,
    reader: Reader,
    *,
    max_age_seconds: float = KEPT_SECONDS,
) -> ExtractedKeywords:
    """Return the keywords that the model names. Without a model, or where it fails, return the question's own.

    A reply is stored under the hash of the question and the reader, and used for `max_age_seconds`, whichever model and prompt it
    is from.
    """
    by_rules = analysis.keywords
    if model is None:
        return ExtractedKeywords(keywords=by_rules)
    request = ModelRequest(
        kind=CacheType.KEYWORD_EXTRACTION,
        messages=keyword_messages(analysis.text),
        max_tokens=REPLY_TOKENS,
        schema=SCHEMA,
        max_age=max_age_seconds,
        content_hash=f"{by_rules.question_hash} {reader.cache_name}",
    )
    try:
        reply = await model.reply(request)
    except ModelFailed as error:
        _log.warning("keywords are taken from the question: a model failed", error=str(error))
        return ExtractedKeywords(keywords=by_rules, note=UNANSWERED)
    high, low = parse_keywords(reply.text, analysis.text)
    if not high and not low:
        return ExtractedKeywords(keywords=by_rules, note=UNUSABLE)
    return ExtractedKeywords(
        keywords=replace(_merge_keywords(by_rules, high, low), cached_at=reply.stored_at)
    )


def keyword_messages(question: str) -> list[Message]:
    """Return the messages that ask for the keywords of a question."""
    page = resources.files("lightwell.retrieve").joinpath("prompts", "keywords.md")
    return [
        Message(role="system", content=page.read_text("utf-8").strip()),
        Message(role="user", content=fence(question)),
    ]


def parse_keywords(reply: str, question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the high and the low keywords of a reply, as far as they can be parsed; never raises.

    A low keyword that shares no word with the question is left out: the model has guessed it.
    """
    lists: dict[str, list[str]] = {"high": [], "low": []}
    for level, listed in _LIST.findall(_THOUGHT.sub("", reply)):
        lists[level.casefold()].extend(_strings(listed))
    beginnings = _beginnings(question)
    low = [keyword for keyword in lists["low"] if not beginnings.isdisjoint(_beginnings(keyword))]
    return clean_keywords(lists["high"]), clean_keywords(low)


def _merge_keywords(by_rules: Keywords, high: Sequence[str], low: Sequence[str]) -> Keywords:
    """Return the model's keywords with the question's own names, each on one level.

    Small models repeat keywords on both levels. One that only repeats the names stays low; any other stays high.
    """
    named = {word for name in by_rules.low for word in words(name)}
    themes = tuple(theme for theme in high if not named.issuperset(words(theme))) or by_rules.high
    taken = set(map(normalize_name, themes))
    rest = [keyword for keyword in low if normalize_name(keyword) not in taken]
    return replace(by_rules, high=themes, low=clean_keywords([*by_rules.low, *rest]), by_model=True)


def _strings(listed: str) -> list[str]:
    """Return the strings of a JSON list, also of one that is cut off; for a single string, its parts between commas."""
    strings: list[str] = []
    for literal, names_a_field in _STRING.findall(listed):
        if not names_a_field:
            with suppress(ValueError):
                strings.append(cast("str", json.loads(literal, strict=False)))
    return strings if listed.startswith("[") else _LIST_END.split(" ".join(strings))


def _beginnings(text: str) -> frozenset[str]:
    """Return the first four letters of each word, which inflected and misspelled forms mostly share."""
    return frozenset(word[:4] for word in words(text) if word not in STOP_WORDS)
