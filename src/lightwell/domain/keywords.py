"""What a question is about: themes that lead to relations, names and terms that lead to entities."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.graph import normalize_name
from lightwell.domain.question_names import COMMANDS, keyword_names, keyword_words
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, words

MAX_KEYWORDS = 16
"""Of each level, the first."""

LONGEST_KEYWORD = 100
"""Characters."""

_QUOTED = regex(r'"([^"]+)"|“([^”“]+)”|„([^“”„]+)[“”]|«([^»«]+)»|`([^`]+)`')
_WRAPPING = " \t\"'“”‘’`*<>[]{},;:.?!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """What a question is about: `high` leads to relations, `low` to entities.

    `high` are themes and relationships, `low` names and terms, each in order and once; `question_hash` is the
    SHA-256 of the question. `by_model` is false for those taken from the question's own words. `cached_at` is when the
    model's reply was stored, None for a new reply.
    """

    high: tuple[str, ...]
    low: tuple[str, ...]
    question_hash: str
    by_model: bool
    cached_at: datetime | None = None


def rule_keywords(question: str) -> Keywords:
    """Return the keywords in the question's own words: low are quotations, names and numbers, high the other words."""
    quotations = ("".join(groups) for groups in _QUOTED.findall(question))
    low = clean_keywords([*quotations, *keyword_names(question)])
    taken = STOP_WORDS.union(*map(words, low))
    question_words = keyword_words(question)
    if question_words and question_words[0].casefold() in COMMANDS:
        del question_words[0]
    return Keywords(
        high=clean_keywords(word for word in question_words if not taken.issuperset(words(word))),
        low=low,
        question_hash=hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest(),
        by_model=False,
    )


def clean_keywords(keywords: Iterable[str]) -> tuple[str, ...]:
    """Return the first 16 that contain a word, each once and on one line; what is longer than a keyword is left out."""
    kept: dict[str, str] = {}
    for keyword in keywords:
        signs = (sign if sign.isprintable() else " " for sign in keyword)
        line = " ".join("".join(signs).split()).strip(_WRAPPING)
        key = normalize_name(line)
        if key and len(line) <= LONGEST_KEYWORD:
            kept.setdefault(key, line)
    return tuple(kept.values())[:MAX_KEYWORDS]
