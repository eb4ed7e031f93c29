"""The extractor without a model: names in a chunk, and relations between names of one sentence."""

import asyncio
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from lightwell.domain.graph import UNKNOWN_KIND, Extraction, Mention, MentionType, normalize_name
from lightwell.ingest.extract.commonness import Commonness, commonness
from lightwell.ingest.extract.descriptions import readable
from lightwell.ingest.extract.identifying import FIELDS, identify, identify_by_labels
from lightwell.ingest.extract.kinds import (
    PERSON,
    find_addresses,
    first_names,
    full_names,
    kind_by_addresses,
    kind_by_name,
    tell_kinds,
)
from lightwell.ingest.extract.names import CERTAIN, find_names
from lightwell.ingest.extract.patterns import PatternMatch, find_defined_terms, find_patterns
from lightwell.ingest.extract.relating import (
    QuotedSentence,
    read_surroundings,
    relate_co_occurring,
    with_quotes,
)
from lightwell.ingest.extract.sentences import Sentence, read_sentences, without_code, without_style
from lightwell.ingest.extract.spans import Setting
from lightwell.ports import ExtractionInput
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS

MAX_MENTIONS = 40

_KIND_RANK = {
    kind: rank
    for rank, kind in enumerate(
        (
            "term",
            "work",
            "domain",
            "document",
            "address",
            "product",
            "place",
            "organization",
            "person",
            "identifier",
        )
    )
}
_MAX_NAME_CHARACTERS = 80
_MAX_TERM_WORDS = 4
_TERM_USES = 3
"""How often a passage uses a term that a heading names, besides there, so that the passage is about it."""
_MASK = ")"
"""Replaces matched patterns: it ends a span of names and does not begin a sentence."""

_LINK_TARGET = regex(r"(?<=\]\()(?!mailto:)[^\s()]++(?=\))")
"""Where a link leads: it may tell whose site it is (`identify`), but the address of another site is no subject of the document."""
_CODE = regex(r"`[^`\n]+`")
_HEADING = regex(r"^#{1,6} ++(.+)$", re.MULTILINE)
_CLOSING = regex(r"(?<=[^ ]) +#+$")
_NUMBERING = regex(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\.) +")
_BARE_TITLE = regex(r"(.{2,}?) \([^()]+\)$")
_FILE_NAME = regex(r"_?[\w-]+(?:\.[a-z]{2,5})+|_\w+")
_SITE = regex(r" ?[—–|·-] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedMention:
    """A mention with its normalised name as `key`; `is_main` and `evidence` are those of `Name`.

    A title or term has count 0, because the sentences that contain it count it.
    """

    key: str
    mention: Mention
    is_main: bool = True
    evidence: int = CERTAIN
    within: str = ""


class RuleExtractor:
    """Extracts by rules in a thread, because the event loop must renew leases meanwhile."""

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        """Return the chunks' extractions in order. Equal chunks are read once: hostile files repeat one a thousand times."""
        return await asyncio.to_thread(_extract_distinct, chunks)


def _extract_distinct(chunks: Sequence[ExtractionInput]) -> list[Extraction]:
    extractions: dict[Hashable, Extraction] = {}
    keys: list[Hashable] = []  # all that the rules read of a chunk
    for chunk in chunks:
        draft = chunk.draft
        headings = tuple(section.path[-1:] for section in draft.sections)
        key = chunk.document_title, chunk.is_first, draft.section_path, headings, draft.text
        keys.append(key)
        if key not in extractions:
            extractions[key] = extract_by_rules(chunk)
    return [extractions[key] for key in keys]


def extract_by_rules(chunk: ExtractionInput) -> Extraction:
    """Return at most 40 mentions, the title first, then by frequency, and at most 12 relation mentions.

    The result depends only on the chunk and its title. Each relation is a RELATED_TO of two names; its weight is the
    number of sentences that contain both.
    """
    prose = without_code(chunk.draft.text)
    headings = _headings(chunk, prose)
    lines = [*read_sentences(prose, headings)]
    read = [_mentions_of_sentence(line, chunk.draft.language) for line in lines]
    kinds = tell_kinds(prose)
    sentences = _drop_doubtful(read, [normalize_name(chunk.document_title), *full_names(kinds)])
    mentions_found = [
        *_title_mentions(chunk, prose),
        *_term_mentions(headings, prose),
        *chain.from_iterable(sentences),
    ]
    merged = _with_kinds(_merge_mentions(mentions_found), kinds, find_addresses(prose))
    quoted = [
        QuotedSentence(text=readable(line.text), keys=keys)
        for line, names in zip(lines, sentences, strict=True)
        if line.is_prose
        and (keys := tuple(dict.fromkeys(name.key for name in names if name.is_main)))
    ]
    mentions = with_quotes(merged, quoted, read_surroundings(lines))
    return Extraction(
        mentions=tuple(mentions.values()), relation_mentions=relate_co_occurring(quoted, mentions)
    )


def _title_mentions(chunk: ExtractionInput, prose: str) -> Iterator[_NamedMention]:
    title = _without_site(" ".join(chunk.document_title.split()), chunk.draft.section_path)
    if chunk.is_first and title and not _FILE_NAME.fullmatch(title):
        yield _title_mention(title, identify_by_labels(prose))
        if bare := _BARE_TITLE.fullmatch(title):
            yield _title_mention(bare[1])


def _without_site(title: str, section_path: Sequence[str]) -> str:
    """Return the title of a page without the name of its site, where the page's first heading tells them apart."""
    for heading in section_path[:1]:
        if title.startswith(heading) and _SITE.match(title, len(heading)):
            return heading
    return title


def _title_mention(title: str, attributes: Mapping[str, str] | None = None) -> _NamedMention:
    mention = Mention(
        name=title, kind="document", type=MentionType.METADATA, count=0, attributes=attributes or {}
    )
    return _NamedMention(key=normalize_name(title), mention=mention)


def _headings(chunk: ExtractionInput, prose: str) -> tuple[str, ...]:
    marked = [_CLOSING.sub("", match[1]) for match in _HEADING.finditer(prose)]
    paths = [chunk.draft.section_path, *(section.path for section in chunk.draft.sections)]
    return tuple(dict.fromkeys([*marked, *(path[-1] for path in paths if path)]))


def _term_mentions(headings: Sequence[str], prose: str) -> Iterator[_NamedMention]:
    """Yield terms that a heading names and the text uses, and terms that the text defines."""
    folded = prose.casefold()
    for heading in headings:
        term = _NUMBERING.sub("", without_style(heading)).strip()
        if _is_term(term) and folded.count(term.casefold()) > _TERM_USES:
            yield _term_mention(term)
    for term in find_defined_terms(prose):
        if _is_term(term):
            yield _term_mention(term)


def _is_term(term: str) -> bool:
    """Return whether a phrase may be a term: a few words, none of them a function word, and no ordinary word alone."""
    words = term.casefold().split()
    if not 0 < len(words) <= _MAX_TERM_WORDS or not STOP_WORDS.isdisjoint(words):
        return False
    if not all(word.replace("-", "").replace("'", "").isalpha() for word in words):
        return False
    return len(words) > 1 or commonness(words[0]) is not Commonness.ORDINARY


def _term_mention(term: str) -> _NamedMention:
    return _NamedMention(key=normalize_name(term), mention=Mention(name=term, kind="term", count=0))


def _mentions_of_sentence(sentence: Sentence, language: str) -> list[_NamedMention]:
    masked = _LINK_TARGET.sub(_mask, _CODE.sub(_mask, sentence.text))
    mentions = [_mention_of_pattern(sentence.speaker)] if sentence.speaker else []
    for match in find_patterns(masked):
        mentions.append(_mention_of_pattern(match))
        masked = masked[: match.start] + _MASK * (match.end - match.start) + masked[match.end :]
    setting = Setting(language=language, is_prose=sentence.is_prose)
    for name in find_names(masked, setting):
        mention = Mention(name=name.text, kind=name.kind, attributes=identify(sentence.text, name))
        mentions.append(
            _NamedMention(
                key=normalize_name(name.text),
                mention=mention,
                is_main=name.is_main,
                evidence=name.evidence,
                within=normalize_name(name.within),
            )
        )
    return mentions


def _mask(match: re.Match[str]) -> str:
    return _MASK * len(match[0])


def _mention_of_pattern(match: PatternMatch) -> _NamedMention:
    mention = Mention(name=match.text, kind=match.kind, attributes=match.attributes)
    return _NamedMention(key=normalize_name(match.text), mention=mention)


def _drop_doubtful(
    sentences: list[list[_NamedMention]], defined: Iterable[str]
) -> list[list[_NamedMention]]:
    """Remove names with too little evidence in the passage, and readings within a longer one that has enough."""
    evidence: Counter[str] = Counter(dict.fromkeys(defined, CERTAIN))
    for mentions in sentences:
        for mention in mentions:
            evidence[mention.key] += mention.evidence
    certain = {key for key, points in evidence.items() if key and points >= CERTAIN}
    return [
        [
            mention
            for mention in mentions
            if mention.key in certain and mention.within not in certain
        ]
        for mentions in sentences
    ]


def _merge_mentions(mentions: Iterable[_NamedMention]) -> dict[str, Mention]:
    """Return one mention per normalised name, with its most specific kind."""
    merged: dict[str, Mention] = {}
    main: set[str] = set()
    stated: dict[str, dict[str, set[str]]] = {}
    for name in mentions:
        key = name.key
        if not (1 < len(key) <= _MAX_NAME_CHARACTERS and any(sign.isalpha() for sign in key)):
            continue
        if name.is_main:
            main.add(key)
        for field, value in name.mention.attributes.items():
            stated.setdefault(key, {}).setdefault(field, set()).add(value)
        first = merged.get(key)
        if first is None:
            merged[key] = name.mention
            continue
        merged[key] = replace(
            max(first, name.mention, key=lambda mention: _KIND_RANK[mention.kind]),
            count=first.count + name.mention.count,
            type=first.type,
            attributes={**name.mention.attributes, **first.attributes},
        )

    def sort_key(key: str) -> tuple[bool, int, bool]:
        mention = merged[key]
        return mention.type is not MentionType.METADATA, -mention.count, key not in main

    return {
        key: replace(
            merged[key],
            count=max(1, merged[key].count),
            attributes={  # those that tell bearers apart only with one value: several may be several bearers
                field: value
                for field, value in merged[key].attributes.items()
                if field not in FIELDS or len(stated[key][field]) == 1
            },
        )
        for key in sorted(merged, key=sort_key)[:MAX_MENTIONS]
    }


def _with_kinds(
    mentions: Mapping[str, Mention], told_kinds: Mapping[str, str], addresses: Mapping[str, str]
) -> dict[str, Mention]:
    """Return the mentions with the kinds that the passage tells, where their form does not."""
    kinds = {
        key: told_kinds.get(key)
        or kind_by_addresses(mention.name, addresses)
        or kind_by_name(mention.name)
        for key, mention in mentions.items()
        if mention.kind == UNKNOWN_KIND and mention.count
    }
    persons = first_names(key for key, kind in kinds.items() if kind == PERSON)
    return {
        key: replace(mention, kind=kinds.get(key) or (PERSON if key in persons else mention.kind))
        for key, mention in mentions.items()
    }
