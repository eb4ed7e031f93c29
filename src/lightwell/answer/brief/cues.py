"""Scores for what a sentence, list item or table row says about an entity: what it is, or what happened."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from lightwell.answer.open_points import looks_like_heading
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, words

_BYLINE = regex(
    r"\W*(?:(?:written|report|reported|prepared|drafted|edited|approved|kept|valid|last changed) (?:by|from|on)"
    r"|document [\w-]+, revision|version \d|edition\b|revision \d|(?:page|seite) \d)",
    re.IGNORECASE,
)
_RUN, _LETTERS, _DIGIT = regex(r"\S+"), regex(r"[^\W\d_]+"), regex(r"\d")
_QUESTION = regex(r"\?[\s\"'”’)*_]*$")
_OPENS = regex(r"\W*\w+ (?=[^\W\d_])")
_SMALL = frozenset(
    """die der das den dem des zum zur von vom für mit und bei aus les des une aux pour par sur dans avec est ist""".split()
)
_PRONOUNS = frozenset(
    """nobody somebody anybody everybody none someone anyone everyone nothing something anything everything whoever
    whatever whichever whenever wherever others another each either neither both many few several yes
    niemand jemand jeder jede jedes alle man nichts etwas wer personne quelqu'un chacun rien tout tous quiconque""".split()
)

_IS = (
    r"(?:is|are|means|denotes|describes|stands for|refers to|ist|sind|bezeichnet|est|sont|designe)"
)
_WAS = r"(?:is|are|was|were|became|ist|sind|war|waren|est|sont|etait)"
_A = r"(?:a|an|the|one of|our|their|his|her|its|ein|eine|der|die|das|unser|unsere|un|une|le|la|les|notre)"
_LABEL = regex(r"\W*+[^\n:–—]{2,80}?\*{0,3}(?:\s{0,3}[:–—]|\s{1,4}-\s)\*{0,3}\s+(?=\S+\s+\S+\s+\S)")
_CELLS = regex(r"\|([^|\n]+)\|([^|\n]*)\|")
_WORD = regex(r"[^\W\d_]{3}")
_SHORT, _LONG = 30, 400
_FOLDED_TEXTS = 4096
"""Several names that a question may mean are looked for in the same sentences, below the same headings."""
_SHORTEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityNames:
    """What an entity is called, each name as folded words, and the `longer` names that are not its own."""

    folded: tuple[str, ...]
    longer: tuple[str, ...] = ()

    def occur_in(self, *texts: str) -> bool:
        """Return whether one of the names stands in one of the texts as whole words, and not as part of a longer one."""
        folded = self._mask("".join(map(fold_words, texts)))
        return any(f" {name} " in folded for name in self.folded)

    def count_in(self, text: str) -> int:
        """Return how often the name that stands in the text most often does."""
        folded = self.mask_longer(text).replace(" ", "  ")
        return max(
            (folded.count(f" {name.replace(' ', '  ')} ") for name in self.folded), default=0
        )

    def are_whole_of(self, text: str) -> bool:
        """Return whether the text is one of the names and nothing else."""
        return fold_words(text).strip() in self.folded

    def mask_longer(self, text: str) -> str:
        """Return the text's folded words with a dash for each longer name."""
        return self._mask(fold_words(text))

    def _mask(self, folded: str) -> str:
        for name in self.longer:
            folded = folded.replace(f" {name} ", " - ")
        return folded


def entity_names(names: Iterable[str], longer: Iterable[str] = ()) -> EntityNames:
    """Return the names, folded for comparison; those without a letter or digit are left out."""
    return EntityNames(folded=_folded_names(names), longer=_folded_names(longer))


def _folded_names(names: Iterable[str]) -> tuple[str, ...]:
    folded = (" ".join(words(name)) for name in names)
    return tuple(dict.fromkeys(name for name in folded if name))


@lru_cache(maxsize=_FOLDED_TEXTS)
def fold_words(text: str) -> str:
    """Return the words of the text as retrieval indexes them, with a blank before and after each."""
    return f" {' '.join(words(text))} "


def definition_score(text: str, entity_names: EntityNames) -> float:
    """Return how well the text says what it is, from 0; 4 is "NAME is a ..."."""
    folded = entity_names.mask_longer(_without_addresses(text))
    best = max((_definition_score_for(folded, name) for name in entity_names.folded), default=0.0)
    label, cells = _LABEL.match(text), _CELLS.match(text)
    if label and entity_names.are_whole_of(label[0]):
        return max(best, 3.5)
    if cells and _WORD.search(cells[2]) and entity_names.are_whole_of(cells[1]):
        return max(best, 3.6)
    return max(0.0, best - _readability_penalty(text))


def news_score(text: str, entity_names: EntityNames) -> float:
    """Return how well the text reports news, from 0: it names the entity, a date or a figure."""
    worth = (
        2.0
        + 2.0 * entity_names.occur_in(text)
        + bool(_DIGIT.search(text))
        + 0.5 * (text[-1:] in ".!")
    )
    return max(0.0, worth - _readability_penalty(text))


def has_content(text: str) -> bool:
    """Return whether the text says more than names, dates and figures: no byline, no list of names, nor a question."""
    if _BYLINE.match(text) or _QUESTION.search(text):
        return False
    bare = _without_addresses(text)
    if (opening := _OPENS.match(bare)) and bare[opening.end()].islower():
        bare = opening[0].casefold() + bare[opening.end() :]
    return any(
        word.islower() and len(word) > _SHORTEST and word not in STOP_WORDS | _SMALL | _PRONOUNS
        for word in _LETTERS.findall(bare)
    )


def _without_addresses(text: str) -> str:
    """Return the text with a blank for each tag, e-mail address, URL and name with a dot inside."""
    return _RUN.sub(_unless_address, text)


def _unless_address(run: re.Match[str]) -> str:
    text = run[0]
    letters = [place for place, sign in enumerate(text) if sign.isalnum() or sign == "_"]
    has_dot_inside = bool(letters) and "." in text[letters[0] : letters[-1]]
    if "@" in text[1:-1] or "://" in text[1:-1] or has_dot_inside:
        return " "
    before, tag, after = text.partition("#")
    return f"{before} " if tag and after else text


def _definition_score_for(folded: str, name: str) -> float:
    if f" {name} " not in folded:
        return 0.0
    begins = 1.5 * folded.startswith(f" {name} ")
    near = rf" {re.escape(name)} (?:\S+ ){{0,3}}?"
    if re.search(rf"{near}{_WAS} (?:\S+ )?{_A} ", folded):
        return 4.0 + begins
    if re.search(rf"{near}{_IS} ", folded):
        return 2.0 + begins
    if re.search(rf" {re.escape(name)} {_A} ", folded):
        return 2.5 + begins
    return 1.0 + begins


def _readability_penalty(text: str) -> float:
    """Return the penalty for text that is hard to read by itself: a heading, a table row, a question, very short or long text."""
    return (
        4.0 * looks_like_heading(text)
        + 1.0 * text.startswith("|")
        + 1.0 * bool(_QUESTION.search(text))
        + 1.0 * (len(text) < _SHORT)
        + 1.0 * (len(text) > _LONG)
    )
