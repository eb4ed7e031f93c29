"""What the text of one chunk says by itself."""

from dataclasses import dataclass

from lightwell.text.answer_types.facts import NO_FACTS, Facts, read_facts
from lightwell.text.blocks import Block, blocks
from lightwell.text.injection import find_injections
from lightwell.text.terms import term_of, words
from lightwell.text.units import Shape, shape_of, unit_spans

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitAnalysis:
    """A unit of a text, `text[start:end]`: its folded words in order, its distinct terms, and what it holds."""

    start: int
    end: int
    shape: Shape
    words: tuple[str, ...]
    terms: frozenset[str]
    facts: Facts


NO_UNIT = UnitAnalysis(start=0, end=0, shape=Shape(0), words=(), terms=frozenset(), facts=NO_FACTS)
"""The unit of what is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkAnalysis:
    """What was read in the text of a chunk, of `length` characters. `injections` are the blocks that order something of a machine."""

    length: int
    units: tuple[UnitAnalysis, ...]
    blocks: tuple[Block, ...]
    injections: tuple[Span, ...]


NOTHING_READ = ChunkAnalysis(length=0, units=(), blocks=(), injections=())
"""The analysis of a text that is empty."""


def analyse(text: str) -> ChunkAnalysis:
    """Return what a text says by itself."""
    return ChunkAnalysis(
        length=len(text),
        units=tuple(_read_unit(text[start:end], start) for start, end in unit_spans(text)),
        blocks=blocks(text),
        injections=find_injections(text),
    )


def _read_unit(part: str, start: int) -> UnitAnalysis:
    unit_words = tuple(words(part))
    return UnitAnalysis(
        start=start,
        end=start + len(part),
        shape=shape_of(part),
        words=unit_words,
        terms=frozenset(map(term_of, unit_words)) - {""},
        facts=read_facts(part),
    )
