"""Finds names in a sentence: capitalised spans, split where they contain several names, with the evidence that they are names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.graph import UNKNOWN_KIND
from lightwell.ingest.extract.commonness import Commonness, commonness
from lightwell.ingest.extract.name_words import (
    COMPANY_SUFFIXES,
    COURTESY,
    DETERMINERS,
    INSTITUTION_WORDS,
    NAMING_VERBS,
    NEVER_NAMES,
    OFFICES,
    PREPOSITIONS,
    SHORT_COMPANY_SUFFIXES,
    TITLES,
)
from lightwell.ingest.extract.spans import (
    ABBREVIATION,
    UPPERCASE,
    Setting,
    Span,
    compare_key,
    find_spans,
    is_leading_word,
    is_ordinary,
)
from lightwell.text.regex import regex

_CODE_LIKE = regex(rf"[{UPPERCASE}]\d{{1,3}}")
"""Levels, rooms and rows, such as `P1`: names only where they are repeated."""
_CAMEL = regex(rf"(?<=[^\W\d{UPPERCASE}_])(?=[{UPPERCASE}])")
_IS_DEFINED = regex(r" (?:is|was|ist|war|est) (?:an?|the|our|ein|eine|der|die|das|un|une) ")
_AFTER_NUMBER = regex(r"\d ?$")
_LONGEST_UNIT = 3
_ABBREVIATED = regex(rf"\b{ABBREVIATION}$|\b[{UPPERCASE}]\.[{UPPERCASE}]\.$")
_MAX_ACRONYM = 6
_MAX_WORDS = 7
_GERMAN = "de"

_UPPER = regex(rf"[{UPPERCASE}]{{2,}}[0-9]*s?$|[{UPPERCASE}]&[{UPPERCASE}]$")
_ROMAN = regex(r"[IVXLC]+$")


CERTAIN = 2
"""Points of evidence from which a passage names something: two weak signs are as much as a good one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name in a sentence; `start` is its character offset.

    `is_main` is true for the whole span and false for a name within it. `evidence` counts the points that this
    occurrence gives; occurrences of a passage add up, and `CERTAIN` points make a name. `within` is the longer reading
    that takes the place of this one where it is certain.
    """

    text: str
    kind: str
    start: int
    is_main: bool = True
    evidence: int = CERTAIN
    within: str = ""


def find_names(sentence: str, setting: Setting) -> list[Name]:
    """Return the names of one sentence in order, each followed by names within it."""
    return [name for span in find_spans(sentence, setting) for name in _read(span)]


def _read(span: Span) -> Iterator[Name]:
    """Yield the names of a span: of its parts where it begins a sentence with an ordinary word, or holds a possessive."""
    if len(span.words) > _MAX_WORDS or all(compare_key(word) in NEVER_NAMES for word in span.words):
        return
    if person := _titled_person_range(span.words):
        yield from _titled_person_names(span, *person)
        return
    start = _words_to_skip(span)
    if not start:
        yield from _one_word_names(span) if len(span.words) == 1 else _many_word_names(span)
        return
    whole = _trim(span.words)
    yield Name(text=whole, kind=UNKNOWN_KIND, start=span.start, evidence=0)
    yield from (replace(name, within=whole) for name in _read(span.part(start, len(span.words))))


def _words_to_skip(span: Span) -> int:
    """Return how many ordinary words begin the span, where their capitals mean nothing: "Restore Elasticsearch"."""
    if span.setting.is_prose and not span.is_initial:
        return 0
    skipped = 0
    while skipped < len(span.words) - 1 and (
        span.words[skipped].islower()
        or span.words[skipped] == "&"
        or _may_be_verb(span.words[skipped], span.setting)
    ):
        skipped += 1
    return 0 if _is_body(span.words) else skipped


def _may_be_verb(word: str, setting: Setting) -> bool:
    ordinariness = commonness(compare_key(word), setting.language)
    return ordinariness >= Commonness.INFLECTED or word.endswith("ing")


def _one_word_names(span: Span) -> Iterator[Name]:
    word = span.words[0]
    text, key = _trim([word]), compare_key(word)
    if len(text) < 2 or key.removesuffix("s") in NEVER_NAMES or _is_unit(text, span):
        return
    if _UPPER.match(text):
        yield from _acronym(text, span)
        return
    evidence = _evidence_of_word(text, span)
    ordinariness = commonness(key, span.setting.language)
    has_number = (
        bool(span.number) and ordinariness < Commonness.ORDINARY and not _CAMEL.search(text)
    )
    yield Name(
        text=text, kind=UNKNOWN_KIND, start=span.start, is_main=not has_number, evidence=evidence
    )
    if has_number:
        number = _trim([text, span.number.strip()])
        evidence = 1 if ordinariness is Commonness.INFLECTED and span.is_initial else CERTAIN
        yield Name(text=number, kind=UNKNOWN_KIND, start=span.start, evidence=evidence)


def _is_unit(text: str, span: Span) -> bool:
    before = span.sentence[max(0, span.start - 2) : span.start]
    return len(text) <= _LONGEST_UNIT and _AFTER_NUMBER.search(before) is not None


def _acronym(text: str, span: Span) -> Iterator[Name]:
    """Yield an acronym in the singular; one that is an ordinary word is rather shouted."""
    singular = text.removesuffix("s")
    if _ROMAN.match(singular) or len(singular) > _MAX_ACRONYM:
        return
    if len(set(singular)) == 1:
        return
    ordinariness = commonness(singular.casefold(), span.setting.language)
    evidence = max(0, (CERTAIN if span.setting.is_prose else 1) - ordinariness)
    yield Name(text=singular, kind="term", start=span.start, evidence=evidence)


def _evidence_of_word(text: str, span: Span) -> int:
    """Return the points of one word that is no acronym."""
    is_noted = span.setting.is_prose and not span.is_initial
    if _CODE_LIKE.fullmatch(text):
        return int(is_noted)
    if "-" not in text and len(parts := _CAMEL.split(text)) > 1:
        return _evidence_of_parts(parts, span)
    if any(sign.isdigit() for sign in text):
        return CERTAIN
    key, language = compare_key(text), span.setting.language
    ordinariness = max(commonness(part, language) for part in key.split("-"))
    if language == _GERMAN:
        return int(ordinariness is Commonness.UNKNOWN and is_noted)
    if ordinariness is Commonness.UNKNOWN:
        return CERTAIN if span.setting.is_prose else 1
    if ordinariness is Commonness.NAME_LIKE and span.setting.is_prose:
        if _IS_DEFINED.match(span.sentence, span.end):
            return CERTAIN
        return 1 if span.is_initial or span.before in DETERMINERS else CERTAIN
    if not is_noted or ordinariness is Commonness.NAME_LIKE or text.endswith("s"):
        return 0
    # A noun with a capital amid a sentence: names follow a preposition or some verbs without an article.
    is_inflected = ordinariness is Commonness.INFLECTED
    return int(is_inflected) + int(span.before in PREPOSITIONS | NAMING_VERBS)


def _evidence_of_parts(parts: Sequence[str], span: Span) -> int:
    """Return the points of words written as one: less for those of which a program's identifiers are made."""
    ordinariness = [commonness(part.casefold(), span.setting.language) for part in parts]
    if len(parts) > 2 and all(ordinariness):
        return 0
    return CERTAIN if min(ordinariness) < Commonness.ORDINARY and span.setting.is_prose else 1


def _many_word_names(span: Span) -> Iterator[Name]:
    if parts := _possessive_parts(span):
        for part in parts:
            yield from _read(part)
        return
    words = span.words
    kind = "organization" if _is_body(words) else UNKNOWN_KIND
    if "of" in words and not any(
        is_ordinary(word, span.setting) for word in words if word[0].isupper()
    ):
        yield from _names_around_of(span)
        return
    evidence = _evidence_of_words(span)
    yield Name(text=_trim(words), kind=kind, start=span.start, evidence=evidence)
    if span.number:
        number = _trim([*words, span.number.strip()])
        yield Name(
            text=number, kind=UNKNOWN_KIND, start=span.start, is_main=False, evidence=evidence
        )
    if _has_legal_form(words):
        yield Name(text=_trim(words[:-1]), kind=kind, start=span.start, is_main=False)
    yield from _names_around_of(span)


def _possessive_parts(span: Span) -> tuple[Span, ...]:
    """Return what stands before and after a possessive, if both are names: "Alfred Hitchcock's Psycho"."""
    for index, word in enumerate(span.words[:-1], start=1):
        if word.endswith(("'s", "’s")) and not is_ordinary(span.words[index], span.setting):
            return span.part(0, index), span.part(index, len(span.words))
    return ()


def _evidence_of_words(span: Span) -> int:
    """Return the points of several words: less where capitals mean nothing, and where all of them are ordinary."""
    if _is_body(span.words):
        return CERTAIN
    named = [word for word in span.words if not word.islower()]
    ordinary = sum(is_ordinary(word, span.setting) for word in named)
    if all(word.isupper() for word in named):
        return int(ordinary < len(named))
    if sum(any(sign.isdigit() for sign in word) for word in named) > 1:
        return 0
    if span.setting.language == _GERMAN and span.setting.is_prose:
        return 1 if span.is_initial and ordinary == len(named) else CERTAIN
    if ordinary == len(named):
        is_noted = span.setting.is_prose and not span.is_initial
        return int(is_noted) + int(is_noted and span.before in DETERMINERS)
    if span.setting.is_prose:
        return CERTAIN
    return 1 if ordinary else CERTAIN


def _titled_person_range(words: list[str]) -> tuple[int, int] | None:
    """Return the range of words that name a person after a title or an office, such as "Dr" or "President"."""
    for index, word in enumerate(words[:-1]):
        key = compare_key(word)
        if key in COURTESY or key in OFFICES:
            end = words.index("of", index) if "of" in words[index:] else len(words)
            if end - index > (1 if key in TITLES else 2):
                return index + 1, end
    return None


def _titled_person_names(span: Span, start: int, end: int) -> Iterator[Name]:
    yield Name(text=_trim(span.words[start:end]), kind="person", start=span.part(start, end).start)
    if start > 1 and compare_key(span.words[start - 2]) not in OFFICES:
        yield from _name_within(span.part(0, start - 1))
    if end < len(span.words):
        yield from _name_within(span.part(end + 1, len(span.words)))


def _is_body(words: Sequence[str]) -> bool:
    """Return whether the words name a company by its legal form, or an institution by its noun."""
    first, last = compare_key(words[0]), compare_key(words[-1])
    return len(words) > 1 and (
        _has_legal_form(words)
        or last in INSTITUTION_WORDS
        or (first in INSTITUTION_WORDS and "of" in words)
    )


def _has_legal_form(words: Sequence[str]) -> bool:
    return compare_key(words[-1]) in COMPANY_SUFFIXES or words[-1] in SHORT_COMPANY_SUFFIXES


def _names_around_of(span: Span) -> Iterator[Name]:
    """Yield the names on either side of `of`, and before a comma ("..., Jr.")."""
    for index, word in enumerate(span.words[:-1]):
        if word == "of":
            if index > 1 or not is_ordinary(span.words[0], span.setting):
                yield from _name_within(span.part(0, index))
            yield from _name_within(span.part(index + 1, len(span.words)))
        elif word.endswith(","):
            yield from _name_within(span.part(0, index + 1))


def _name_within(span: Span) -> Iterator[Name]:
    while span.words and is_leading_word(span.words[0], span.setting.language):
        span = span.part(1, len(span.words))
    if (
        span.words
        and len(span.words[0]) > 1
        and not all(is_ordinary(word, span.setting) for word in span.words)
    ):
        yield Name(text=_trim(span.words), kind=UNKNOWN_KIND, start=span.start, is_main=False)


def _trim(words: Sequence[str]) -> str:
    bare = " ".join(words).rstrip(",&-–").removesuffix("'s").removesuffix("’s")
    return bare if _ABBREVIATED.search(bare) else bare.rstrip(".")
