"""What a careful person would note of six short documents, and how much of it an extraction has."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel

from lightwell.domain.graph import normalize_name

GOLD = Path(__file__).with_suffix(".yaml")
_AROUND = re.compile(r"^(?:the|an?) |['’]s$|[.,;:]$")

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text, the names it must yield with their other forms, names that are as good as not there, and related pairs."""

    title: str
    text: str
    tuned_on: bool
    entities: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...]
    relations: tuple[Pair, ...]

    @property
    def names(self) -> list[str]:
        return [forms[0] for forms in self.entities]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a reader made of one document: names, and pairs of names."""

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts: entities demanded, found, written and wrong; relations demanded, found and written."""

    demanded: int = 0
    found: int = 0
    written: int = 0
    wrong: int = 0
    pairs_demanded: int = 0
    pairs_found: int = 0
    pairs_written: int = 0

    def plus(self, other: "Score") -> "Score":
        both = {name: getattr(self, name) + getattr(other, name) for name in self.__slots__}
        return Score(**both)

    @property
    def recall(self) -> float:
        return self.found / self.demanded

    @property
    def precision(self) -> float:
        """The share of the names written, optional ones left out, that were demanded."""
        return self.found / max(1, self.found + self.wrong)

    @property
    def recall_of_pairs(self) -> float:
        return self.pairs_found / self.pairs_demanded


class _Listed(BaseModel):
    title: str
    tuned_on: bool
    text: str
    entities: list[list[str]]
    optional: list[str]
    relations: list[tuple[str, str]]


def documents() -> list[Document]:
    listed = [
        _Listed.model_validate(one) for one in yaml.safe_load(GOLD.read_text(encoding="utf-8"))
    ]
    return [
        Document(
            title=one.title,
            text=one.text.strip(),
            tuned_on=one.tuned_on,
            entities=tuple(map(tuple, one.entities)),
            optional=tuple(one.optional),
            relations=tuple(one.relations),
        )
        for one in listed
    ]


def score(document: Document, said: Said) -> Score:
    """Compare by normalised names; direction and kind of a relation do not count, nor what is said twice."""
    known = _meant(document)
    optional = {_bare(name) for name in document.optional}
    written = {_bare(name) for name in said.names}
    found = {known[name] for name in written if name in known}
    demanded = {frozenset(pair) for pair in document.relations}
    pairs = {frozenset(map(_bare, pair)) for pair in said.pairs}
    meant = {frozenset(known.get(name, name) for name in pair) for pair in pairs}
    return Score(
        demanded=len(document.entities),
        found=len(found),
        written=len(written),
        wrong=len(written - known.keys() - optional),
        pairs_demanded=len(demanded),
        pairs_found=len(demanded & meant),
        pairs_written=len(meant),
    )


def total(scores: Iterable[Score]) -> Score:
    whole = Score()
    for one in scores:
        whole = whole.plus(one)
    return whole


def missed(document: Document, said: Said) -> tuple[list[str], list[str], Sequence[Pair]]:
    """Return the names missed, the names wrong, and the pairs missed, for a person to look at."""
    known, written = _meant(document), {_bare(name): name for name in said.names}
    optional = {_bare(name) for name in document.optional}
    found = {known[name] for name in written if name in known}
    pairs = {frozenset(known.get(_bare(name), name) for name in pair) for pair in said.pairs}
    return (
        [name for name in document.names if name not in found],
        [name for bare, name in written.items() if bare not in known and bare not in optional],
        [pair for pair in document.relations if frozenset(pair) not in pairs],
    )


def _meant(document: Document) -> Mapping[str, str]:
    return {_bare(form): forms[0] for forms in document.entities for form in forms}


def _bare(name: str) -> str:
    return _AROUND.sub("", normalize_name(name)).strip()
