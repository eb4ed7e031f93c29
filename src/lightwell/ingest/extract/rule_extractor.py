"""The extractor without a model: names in a chunk, and relations between names of one sentence."""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from lightwell.domain.graph import Extraction, Mention, MentionType, RelationMention, normalize_name
from lightwell.ingest.extract.identifying import FIELDS, identify, identify_by_labels
from lightwell.ingest.extract.names import common_words, find_names
from lightwell.ingest.extract.patterns import (
    PatternMatch,
    find_defined_terms,
    find_patterns,
    find_speaker,
)
from lightwell.ports import ExtractionInput
from lightwell.text.sentences import split_sentences

MAX_MENTIONS = 40
MAX_RELATION_MENTIONS = 12
CO_OCCURRENCE_CONFIDENCE = 0.5
"""The confidence of a relation whose only evidence is a shared sentence."""

_KIND_RANK = {
    kind: rank
    for rank, kind in enumerate(
        ("name", "work", "term", "document", "domain", "organization", "person", "identifier")
    )
}
_MAX_NAME_CHARACTERS = 120
_MAX_HEADING_WORDS = 8
_MAX_RELATED_PER_SENTENCE = 12
"""A sentence with more names is a list, so only the first of them are related."""

_MASK = ")"
"""Replaces matched patterns: it ends a span of names and does not begin a sentence."""

_FENCE = re.compile(
    r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_SOFT_WRAP = re.compile(r"\n(?<=[^\n|]{50}[\w,;)]\n)(?=[^\W_][^\n|:]{2})")
_STYLE = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|(?<!`)`(?!`)")
_STYLED = re.compile(r"[*_`]")
_LINK_TARGET = re.compile(r"(?<=\]\()(?!mailto:)[^\s()]++(?=\))")
"""Where a link leads: it may tell whose site it is (`identify`), but the address of another site is no subject of the document."""
_HEADING = re.compile(r"^#{1,6} ++(.+)$", re.MULTILINE)
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\.) +")
_LINE_MARKS = re.compile(r"^(?:[#>*•+\-] *)+|^\d+[.)] +")
_BARE_TITLE = re.compile(r"(.{2,}?) \([^()]+\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedMention:
    """A mention with its normalised name as `key`; `main` and `sure` are `Name.is_main` and `Name.is_certain`.

    A title or term has count 0, because the sentences that contain it count it.
    """

    key: str
    mention: Mention
    main: bool = True
    sure: bool = True


class RuleExtractor:
    """Extracts by rules in a thread, because the event loop must renew leases meanwhile."""

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        """Return the chunks' extractions in order. Equal chunks are read once: hostile files repeat one a thousand times."""
        return await asyncio.to_thread(_extract_distinct, chunks)


def _extract_distinct(chunks: Sequence[ExtractionInput]) -> list[Extraction]:
    keys = [_extraction_key(chunk) for chunk in chunks]
    distinct = dict(zip(keys, chunks, strict=True))
    extractions = {key: extract_by_rules(chunk) for key, chunk in distinct.items()}
    return [extractions[key] for key in keys]


def _extraction_key(chunk: ExtractionInput) -> Hashable:
    """Return all that the rules read of a chunk."""
    draft = chunk.draft
    headings = tuple(section.path[-1:] for section in draft.sections)
    return chunk.document_title, chunk.is_first, draft.section_path, headings, draft.text


def extract_by_rules(chunk: ExtractionInput) -> Extraction:
    """Return at most 40 mentions, the title first, then by frequency, and at most 12 relation mentions.

    The result depends only on the chunk and its title. Each relation is a RELATED_TO of two names; its weight is the
    number of sentences that contain both.
    """
    prose = _FENCE.sub("\n", chunk.draft.text)
    sentences = _drop_doubtful([*_mentions_by_sentence(prose)], chunk.document_title)
    mentions_found = [
        *_title_mentions(chunk, prose),
        *_term_mentions(chunk, prose),
        *chain.from_iterable(sentences),
    ]
    mentions = _merge_mentions(mentions_found)
    return Extraction(
        mentions=tuple(mentions.values()),
        relation_mentions=_relate_co_occurring(sentences, mentions),
    )


def _title_mentions(chunk: ExtractionInput, prose: str) -> Iterator[_NamedMention]:
    title = " ".join(chunk.document_title.split())
    if chunk.is_first and title:
        yield _title_mention(title, identify_by_labels(prose))
        if bare := _BARE_TITLE.fullmatch(title):
            yield _title_mention(bare[1])


def _title_mention(title: str, attributes: Mapping[str, str] | None = None) -> _NamedMention:
    mention = Mention(
        name=title,
        kind="document",
        type=MentionType.METADATA,
        count=0,
        attributes=attributes or {},
    )
    return _NamedMention(key=normalize_name(title), mention=mention)


def _term_mentions(chunk: ExtractionInput, prose: str) -> Iterator[_NamedMention]:
    headings = [_without_closing(match[1]) for match in _HEADING.finditer(prose)]
    paths = [chunk.draft.section_path, *(section.path for section in chunk.draft.sections)]
    for heading in dict.fromkeys([*headings, *(path[-1] for path in paths if path)]):
        term = _NUMBERING.sub("", _STYLE.sub("", heading)).strip()
        if len(term.split()) <= _MAX_HEADING_WORDS and not term.endswith(("?", ".")):
            yield from _term_mention(term)
    for term in find_defined_terms(prose):
        yield from _term_mention(term)


def _without_closing(heading: str) -> str:
    """Return the heading without closing `##` signs."""
    bare = heading.rstrip("#")
    return bare.rstrip(" ") or heading if bare != heading and bare.endswith(" ") else heading


def _term_mention(term: str) -> Iterator[_NamedMention]:
    if term.casefold() not in common_words():
        yield _NamedMention(
            key=normalize_name(term), mention=Mention(name=term, kind="term", count=0)
        )


def _mentions_by_sentence(prose: str) -> Iterator[list[_NamedMention]]:
    for line in _SOFT_WRAP.sub(" ", prose).split("\n"):
        bare = _LINE_MARKS.sub("", _without_markup(line))
        who = find_speaker(bare)
        first = [_mention_of_pattern(who)] if who else []
        for sentence in split_sentences(bare[who.end :] if who else bare):
            yield [*first, *_mentions_in_sentence(sentence)]
            first = []


def _without_markup(line: str) -> str:
    bare = " ".join(line.split())
    return _STYLE.sub("", bare) if _STYLED.search(bare) else bare


def _mentions_in_sentence(sentence: str) -> Iterator[_NamedMention]:
    masked = _LINK_TARGET.sub(lambda target: _MASK * len(target[0]), sentence)
    for match in find_patterns(masked):
        yield _mention_of_pattern(match)
        masked = masked[: match.start] + _MASK * (match.end - match.start) + masked[match.end :]
    for name in find_names(masked):
        mention = Mention(name=name.text, kind=name.kind, attributes=identify(sentence, name))
        yield _NamedMention(
            key=normalize_name(name.text), mention=mention, main=name.is_main, sure=name.is_certain
        )


def _mention_of_pattern(match: PatternMatch) -> _NamedMention:
    mention = Mention(name=match.text, kind=match.kind, attributes=match.attributes)
    return _NamedMention(key=normalize_name(match.text), mention=mention)


def _drop_doubtful(sentences: list[list[_NamedMention]], title: str) -> list[list[_NamedMention]]:
    """Remove names whose only evidence is a capital letter at the start of a sentence."""
    known = {name.key for line in sentences for name in line if name.sure}
    known.add(normalize_name(title))
    return [[name for name in line if name.sure or name.key in known] for line in sentences]


def _merge_mentions(mentions: Iterable[_NamedMention]) -> dict[str, Mention]:
    """Return one mention per normalised name, with its most specific kind."""
    found: dict[str, Mention] = {}
    main: set[str] = set()
    stated: dict[str, dict[str, set[str]]] = {}
    for name in mentions:
        key = name.key
        if not _is_usable_name(key):
            continue
        if name.main:
            main.add(key)
        for field, value in name.mention.attributes.items():
            stated.setdefault(key, {}).setdefault(field, set()).add(value)
        found[key] = _merge_two(found[key], name.mention) if key in found else name.mention
    ranked = sorted(
        found, key=lambda key: (_is_from_text(found[key]), -found[key].count, key not in main)
    )
    return {
        key: replace(
            found[key],
            count=max(1, found[key].count),
            attributes=_unambiguous_attributes(found[key], stated.get(key, {})),
        )
        for key in ranked[:MAX_MENTIONS]
    }


def _unambiguous_attributes(
    mention: Mention, stated: Mapping[str, Collection[str]]
) -> Mapping[str, str]:
    """Return the attributes without those that tell bearers apart and have several values: these may be several."""
    return {
        field: value
        for field, value in mention.attributes.items()
        if field not in FIELDS or len(stated[field]) == 1
    }


def _is_from_text(mention: Mention) -> bool:
    return mention.type is not MentionType.METADATA


def _is_usable_name(key: str) -> bool:
    return 1 < len(key) <= _MAX_NAME_CHARACTERS and any(sign.isalpha() for sign in key)


def _merge_two(one: Mention, other: Mention) -> Mention:
    best = max(one, other, key=lambda mention: _KIND_RANK[mention.kind])
    return replace(
        best,
        count=one.count + other.count,
        type=one.type,
        attributes={**other.attributes, **one.attributes},
    )


def _relate_co_occurring(
    sentences: Iterable[Iterable[_NamedMention]], mentions: Mapping[str, Mention]
) -> tuple[RelationMention, ...]:
    """Return the pairs with the most shared sentences; ties go to rarer names, then to nearer ones."""
    shared: Counter[tuple[str, str]] = Counter()
    distances: dict[tuple[str, str], int] = {}
    for line in sentences:
        keys = dict.fromkeys(name.key for name in line if name.main and name.key in mentions)
        for (at, one), (to, other) in combinations(
            [*enumerate(keys)][:_MAX_RELATED_PER_SENTENCE], 2
        ):
            pair = (other, one) if (other, one) in shared else (one, other)
            shared[pair] += 1
            distances[pair] = min(to - at, distances.get(pair, to))

    def sort_key(pair: tuple[str, str]) -> tuple[int, int, int]:
        return -shared[pair], sum(mentions[key].count for key in pair), distances[pair]

    return tuple(
        _co_occurrence(mentions[one], mentions[other], shared[one, other])
        for one, other in sorted(shared, key=sort_key)[:MAX_RELATION_MENTIONS]
    )


def _co_occurrence(one: Mention, other: Mention, sentences: int) -> RelationMention:
    return RelationMention(
        subject=one.name,
        object=other.name,
        weight=float(sentences),
        confidence=CO_OCCURRENCE_CONFIDENCE,
    )
