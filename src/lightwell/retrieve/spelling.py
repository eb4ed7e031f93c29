"""Misspelt words of a question: which words may be meant, and which of them the reader's documents contain."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase

from lightwell.domain.access import Reader
from lightwell.domain.questions import MAX_QUESTION_LENGTH, Question
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, terms, words

IsWord = Callable[[str], bool]
"""Whether a word in lower case is an ordinary word of the language."""

_SHORTEST = 5
_STRANGE_SHARE = 3
"""Where more than one word of so many is no ordinary word, the question is in another language, or its words are those of a trade:
then all of them must be near to ordinary words."""
_MOST_STRANGE = 12
"""More are not looked up: a text with so many is a log or code, and each word has a thousand neighbours."""
# In lower case, and no part of an address, a path, an option or a compound.
_WORD = regex(rf"(?<![\w@./\\:'’_-])[a-z]{{{_SHORTEST},30}}(?![\w@/\\:'’_-]|\.\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Respelled:
    """A question with its misspelt words corrected; `note` says which, "" for none."""

    question: Question
    note: str = ""


async def correct_spelling(
    database: Database, reader: Reader, question: Question, is_word: IsWord
) -> Respelled:
    """Return the question with misspelt words replaced by words that the reader's documents contain.

    Only words in lower case are corrected, since any other may be a name, and only into ordinary words, so that no name
    becomes another name. A word that the reader's documents contain stays as it is.
    """
    meant = find_misspelt(question.text, is_word)
    if not meant:
        return Respelled(question=question)
    wanted = sorted({_term(word) for word, others in meant.items() for word in (word, *others)})
    statistics = await search.get_term_statistics(database, reader, wanted)
    chosen = choose_corrections(meant, statistics.chunks_with)
    if not chosen:
        return Respelled(question=question)
    text = _WORD.sub(lambda match: chosen.get(match[0], match[0]), question.text)
    if len(text) > MAX_QUESTION_LENGTH:  # the longest questions stay as they are
        return Respelled(question=question)
    pairs = ", ".join(f"“{word}” as “{other}”" for word, other in chosen.items())
    return Respelled(question=replace(question, text=text), note=f"Read {pairs}.")


def find_misspelt(text: str, is_word: IsWord) -> dict[str, tuple[str, ...]]:
    """Return the words in lower case that are no ordinary words, with the ordinary words that are one edit away, sorted.

    Nothing is returned where more than twelve are no ordinary words, or more than a third of the question's words and more than one, and
    some of them are near to none.
    """
    strange = [
        word
        for word in dict.fromkeys(_WORD.findall(text))
        if word not in STOP_WORDS and not is_word(word)
    ]
    if len(strange) > _MOST_STRANGE:
        return {}
    meant = {
        word: tuple(other for other in _one_edit_away(word) if is_word(other)) for word in strange
    }
    is_strange = len(strange) > max(1, len(words(text)) // _STRANGE_SHARE)
    if is_strange and not all(meant.values()):
        return {}
    return {word: others for word, others in meant.items() if others}


def choose_corrections(
    meant: Mapping[str, Sequence[str]], chunks_with: Mapping[str, int]
) -> dict[str, str]:
    """Return for each word that no chunk contains the most frequent of the words that may be meant, if a chunk contains one."""
    chosen: dict[str, str] = {}
    for word, others in meant.items():
        contained = [other for other in others if chunks_with.get(_term(other), 0)]
        if contained and not chunks_with.get(_term(word), 0):
            chosen[word] = max(contained, key=lambda other: (chunks_with[_term(other)], other))
    return chosen


def _one_edit_away(word: str) -> Collection[str]:
    """Return the words with the same first letter that one letter added, left out, replaced or swapped with the next one makes."""
    spellings: set[str] = set()
    for place in range(1, len(word) + 1):
        before, after = word[:place], word[place:]
        spellings.update(before + letter + after for letter in ascii_lowercase)
        spellings.update(before + letter + after[1:] for letter in ascii_lowercase if after)
        spellings.add(before + after[1:])
        spellings.add(before + after[1:2] + after[:1] + after[2:])
    return sorted(other for other in spellings - {word} - STOP_WORDS if len(other) >= _SHORTEST)


def _term(word: str) -> str:
    return terms(word)[0]
