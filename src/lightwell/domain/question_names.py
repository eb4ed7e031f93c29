"""The names in a question, each for its purpose: to look up, to rank by, to use as keywords, to ask back about.

The purposes need different rules. A lookup may try `gross margin`, since the store says which candidate exists; a
keyword has to be right by itself. So each function says what it counts as a name.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from lightwell.domain.graph import normalize_name
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, terms, words

COMMANDS = frozenset(
    "list name show tell give find describe explain summarize summarise compare count check please hi hello".split()
)
"""Words that begin a request. Their capital makes no name."""

_LONGEST_CANDIDATE = 8
_LONGEST_CAPITALIZED = 6
_PUNCTUATION = r"?!,;:()\[\]{}\"“”"
_WORD = regex(rf"[^\s{_PUNCTUATION}]+")
_WORD_OR_PUNCTUATION = regex(rf"[^\s{_PUNCTUATION}]+|[{_PUNCTUATION}]")
_CAMEL = regex(r"(?<=[a-z])(?<!\bMc)(?<!Mac)(?=[A-Z])")
_SENTENCE_BREAK = regex(r"(?<=[.?!])\s+")
_PHRASE_BREAK = regex(r"[,;:()\[\]{}\"“”„«»\n]+")
_KEYWORD = regex(r"\w(?:[\w@.\-/&'’+#]*[\w+#])?")
_POSSESSIVE = regex(r"['’]s\b")
_POSSESSIVE_END = regex(r"['’]s$")
_NEAR = 8
_NO_NAME = regex(r"(?:I['’](?:m|ve|d|ll)|OK|Ok|Okay)\b")
_FULL_STOP = regex(r"(?<!\b[A-Z])(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})\.$")
"""The end of a sentence, not that of an initial or a title: "J. Smith", "Dr. Smith"."""
_PARTICLES = frozenset("of de del della der den van von da di du la le & y e".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRun:
    """Neighbouring words of a question that may be a name: words `start` to `end`, and their normalised form."""

    start: int
    end: int
    name: str


def find_name_runs(question: str) -> tuple[NameRun, ...]:
    """Return every run of up to eight words that may be a name, the longest first, then in order.

    A single word may be one when it has a capital, a digit or an @; several words may be one in lower case too.
    """
    question_words = _WORD.findall(_CAMEL.sub(" ", question))
    runs: list[NameRun] = []
    for length in range(min(_LONGEST_CANDIDATE, len(question_words)), 0, -1):
        for start in range(len(question_words) - length + 1):
            run = question_words[start : start + length]
            name = normalize_name(" ".join(run))
            if name and _may_be_name(run):
                runs.append(NameRun(start=start, end=start + length, name=name))
    return tuple(runs)


def match_names(runs: Iterable[NameRun], names: Collection[str]) -> tuple[str, ...]:
    """Return those known normalised names that a question contains, the longest first; no two share a word."""
    taken: set[int] = set()
    matched: list[str] = []
    for run in runs:
        places = range(run.start, run.end)
        if run.name in names and taken.isdisjoint(places):
            taken.update(places)
            matched.append(run.name)
    return tuple(dict.fromkeys(matched))


def proper_name_terms(question: str) -> frozenset[str]:
    """Return the terms of words with a digit, and of words with a capital that do not begin a sentence, without `I'm` and `OK`."""
    named = [
        word[0]
        for word in _WORD.finditer(question)
        if any(sign.isdigit() for sign in word[0])
        or (word[0][0].isupper() and not _begins_sentence(question, word.start()))
    ]
    return frozenset(terms(" ".join(word for word in named if not _NO_NAME.match(word))))


def _begins_sentence(text: str, place: int) -> bool:
    before = text[max(0, place - _NEAR) : place].rstrip()
    return not before or before[-1] in "?!" or bool(_FULL_STOP.search(before))


def capitalized_names(question: str) -> tuple[str, ...]:
    """Return the runs of capitalised words of a question, at most six words each, in order and once.

    A run ends at punctuation. Question words do not count. The first word of the question is also left out once, since
    every first word has a capital.
    """
    runs: list[list[str]] = [[]]
    for word in _WORD_OR_PUNCTUATION.findall(question):
        is_part = word[0].isupper() and word.casefold() not in STOP_WORDS
        if is_part:
            runs[-1].append(word)
        elif runs[-1]:
            runs.append([])
    named = [run[:_LONGEST_CAPITALIZED] for run in runs if run]
    if runs[0] and question.lstrip().startswith(runs[0][0]) and len(runs[0]) > 1:
        named.insert(1, runs[0][1:_LONGEST_CAPITALIZED])
    return tuple(dict.fromkeys(_POSSESSIVE_END.sub("", " ".join(run)) for run in named))


def keyword_names(text: str) -> tuple[str, ...]:
    """Return names and words with a digit in order, neighbouring words as one: `Bank of England`.

    The capital that begins a sentence makes a name only before another name, or when nothing else stands there.
    """
    names: list[str] = []
    for sentence in _SENTENCE_BREAK.split(text):
        is_start = True
        for phrase in _PHRASE_BREAK.split(sentence):
            row = keyword_words(phrase)
            names.extend(_marked_runs(row, [_is_name(word) for word in row], is_start=is_start))
            is_start = is_start and not row
    return tuple(dict.fromkeys(names))


def keyword_words(text: str) -> list[str]:
    """Return the words of a text as written; marks such as those of `C++` and `ENG-42` stay."""
    return _KEYWORD.findall(text)


def _may_be_name(run: list[str]) -> bool:
    if run[0].casefold() in STOP_WORDS and len(run) > 1 and not run[0][0].isupper():
        return False
    if all(word.casefold() in STOP_WORDS for word in run):
        return False
    return len(run) > 1 or any(sign.isupper() or sign.isdigit() or sign == "@" for sign in run[0])


def _marked_runs(row: Sequence[str], marks: list[bool], *, is_start: bool) -> Iterator[str]:
    """Yield the names in a row of words. `marks` says which words look like one, `is_start` whether a sentence begins."""
    if is_start and row:
        marks[0] = _begins_name(row)
    for place in range(1, len(row)):
        marks[place] = marks[place] or (row[place] in _PARTICLES and marks[place - 1])
    for is_marked, run in groupby(zip(marks, row, strict=True), key=itemgetter(0)):
        name = [word for _, word in run]
        while name[-1] in _PARTICLES and len(name) > 1:
            name.pop()
        if is_marked:
            yield _POSSESSIVE.sub("", " ".join(name))


def _begins_name(row: Sequence[str]) -> bool:
    first = row[0]
    if first.casefold() in COMMANDS:
        return False
    has_inner_mark = any(sign.isdigit() or sign.isupper() for sign in first[1:])
    return has_inner_mark or _POSSESSIVE.search(first) is not None or all(map(_is_name, row[:2]))


def _is_name(word: str) -> bool:
    if STOP_WORDS.issuperset(words(word)):
        return False
    return word[0].isupper() or "@" in word or any(sign.isdigit() for sign in word)
