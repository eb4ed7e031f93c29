"""Mentions, from which the graph is derived, and the entities and relations that readers see."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain

from lightwell.domain.concepts import NO_CONCEPT, Concept
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import EntityId, GlobalRef, RelationId
from lightwell.domain.usage import NO_USAGE, TokenSummary
from lightwell.text.regex import regex

DESCRIPTION_SEPARATOR = " | "
MAX_SOURCES = 50
"""How many sources an entity or relation lists: the latest ones. Mentions are not limited."""

MIN_CONFIDENCE = 0.5
MAX_WEIGHT = 1_000_000
"""The weight at most of a relation that people state: sums of weights stay numbers that stores hold."""

RAREST = 10
"""An entity in more of the reader's chunks than this is too common to link two of them, and to tell that a question needs links."""

UNKNOWN_KIND = "term"
"""The kind of a name of which no text tells what it names: it may be any other."""

KIND = regex(r"[a-z][a-z0-9_-]{0,63}")
"""A kind that people may state."""


def kind_from_words(words: str) -> str:
    """Return words as a kind is written, such as `legal-body` for `Legal Body`."""
    return "-".join(words.lower().split())


class Predicate(StrEnum):
    """The closed list of predicates; a relation that fits none of the others is RELATED_TO."""

    PREREQUISITE = "PREREQUISITE"
    RELATED_TO = "RELATED_TO"
    COMPARED_TO = "COMPARED_TO"
    PART_OF = "PART_OF"
    USES = "USES"
    IMPLEMENTS = "IMPLEMENTS"
    EXAMPLE_OF = "EXAMPLE_OF"

    @property
    def words(self) -> str:
        """The predicate as people read it between subject and object: `Dijkstra needs Heap`."""
        return _PREDICATE_WORDS[self]


def parse_predicate(word: str) -> Predicate:
    """Return the predicate with this name, in any case; raise `Invalid` if there is none."""
    try:
        return Predicate(word.upper())
    except ValueError:
        raise Invalid(
            f"Invalid predicate type: {word!r} is none of {', '.join(Predicate)}"
        ) from None


_PREDICATE_WORDS = {
    Predicate.PREREQUISITE: "needs",
    Predicate.RELATED_TO: "related to",
    Predicate.COMPARED_TO: "compared with",
    Predicate.PART_OF: "part of",
    Predicate.USES: "uses",
    Predicate.IMPLEMENTS: "implements",
    Predicate.EXAMPLE_OF: "example of",
}


class ProfileSubject(StrEnum):
    """What a profile describes."""

    ENTITY = "entity"
    RELATION = "relation"


class MergeStrategy(StrEnum):
    """How a merge combines the descriptions of the merged entities."""

    CONCATENATE = "CONCATENATE"
    KEEP_FIRST = "KEEP_FIRST"
    KEEP_LONGEST = "KEEP_LONGEST"
    LLM_SUMMARIZE = "LLM_SUMMARIZE"


class MentionType(StrEnum):
    EXPLICIT = "explicit"
    INFERRED = "inferred"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A sentence of a chunk that describes an entity or a relation; a lower `rank` describes it better, "" nothing."""

    text: str = ""
    rank: int = 0


NO_QUOTE = Quote()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One chunk's statement about one entity; `count` is how often the chunk names it.

    `name` is the form that the text uses. `kind` is a lower-case word (`person`, `organization`, `term`).
    `confidence` lies in [0, 1]. With `ref`, a business system identifies the entity, which then has the `aliases`, too;
    `is_own` marks the item that the entity is. `quote` describes the entity where nobody states a `description`.
    """

    name: str
    kind: str
    description: str = ""
    type: MentionType = MentionType.EXPLICIT
    confidence: float = 1.0
    count: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    ref: GlobalRef | None = None
    aliases: tuple[str, ...] = ()
    is_own: bool = False
    quote: Quote = NO_QUOTE

    @property
    def searched_names(self) -> list[str]:
        """The normalised names by which an entity with a reference is found."""
        return normalize_names((self.name, *self.aliases))


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationMention:
    """One chunk's statement about a relation; the chunk mentions both names.

    `weight` is positive; `confidence` lies in [0.5, 1]. `comparison` and `use_case` belong to COMPARED_TO and
    are "" for others. `quote` describes the relation where nobody states a `description`.
    """

    subject: str
    object: str
    predicate: Predicate = Predicate.RELATED_TO
    keywords: str = ""
    description: str = ""
    weight: float = 1.0
    confidence: float = 1.0
    comparison: str = ""
    use_case: str = ""
    quote: Quote = NO_QUOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The result of extraction from one chunk; the ends of every relation mention are among the mentions.

    `unknown_predicates` counts relations with a predicate outside the list; `usage` is what models cost for this chunk.
    """

    mentions: tuple[Mention, ...]
    relation_mentions: tuple[RelationMention, ...]
    unknown_predicates: int = 0
    usage: TokenSummary = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One entity as one reader sees it: the profiles of the reader's classes, combined.

    Its methods work on values in memory; in the store, merging and deleting are queries. `ref` is
    `kg:<kind>:<slug>` or the reference of the source system. `chunk_count` counts the reader's visible chunks
    that mention it. `primary_url` is the URL that documents give it, else the first document that mentions it;
    "" where only a manual edit names it. With `described_by_hand` a person wrote the description, and no
    document need support it. `created_at` and `updated_at` are when the reader's documents or people first and
    last stated it.
    """

    id: EntityId
    ref: str
    name: str
    kind: str
    description: str
    chunk_count: int
    sources: tuple[str, ...]
    paths: tuple[str, ...]
    primary_url: str = ""
    described_by_hand: bool = False
    concept: Concept = NO_CONCEPT
    created_at: datetime | None = field(default=None, compare=False, repr=False)
    updated_at: datetime | None = field(default=None, compare=False, repr=False)

    def merge_with(self, other: "Entity", strategy: MergeStrategy) -> "Entity":
        """Return this entity with the other's description, combined by the strategy, and its sources.

        Chunks that mention both are counted twice. Raises `Invalid` for LLM_SUMMARIZE, which needs a model.
        """
        if strategy is MergeStrategy.LLM_SUMMARIZE:
            raise Invalid(
                "LLM_SUMMARIZE needs a chat model; merge with one, or name another strategy"
            )
        combined = combine_descriptions(strategy, [(self.description,), (other.description,)])
        return replace(
            self,
            description=join_descriptions(combined),
            chunk_count=self.chunk_count + other.chunk_count,
            sources=append_sources(self.sources, other.sources),
            paths=append_sources(self.paths, other.paths),
        )

    def has_source_chunk(self, chunk_ref: str) -> bool:
        """Return whether this chunk is among the sources shown."""
        return chunk_ref in self.sources

    def remove_source_chunk(self, chunk_ref: str) -> "Entity":
        """Return the entity without this source; the others keep their places."""
        return replace(
            self, sources=tuple(source for source in self.sources if source != chunk_ref)
        )

    def with_sources(self, chunk_refs: Sequence[str]) -> "Entity":
        """Return the entity with these sources, the last fifty of them."""
        return replace(self, sources=append_sources((), chunk_refs))

    def add_source(self, chunk_ref: str) -> "Entity":
        """Return the entity with one more source; a known one keeps its place."""
        return replace(self, sources=append_sources(self.sources, [chunk_ref]))

    def with_paths(self, paths: Sequence[str]) -> "Entity":
        """Return the entity with these paths, the last fifty of them."""
        return replace(self, paths=append_sources((), paths))

    def add_path(self, path: str) -> "Entity":
        """Return the entity with one more path; a known one keeps its place."""
        return replace(self, paths=append_sources(self.paths, [path]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One relation as one reader sees it; `source` and `target` are the names of its ends, `ends` their ids.

    `comparison` and `use_case` combine what documents state for a COMPARED_TO, and are "" for others.
    """

    id: RelationId
    ends: tuple[EntityId, EntityId]
    source: str
    target: str
    predicate: Predicate
    keywords: str
    description: str
    weight: float
    chunk_count: int
    sources: tuple[str, ...]
    paths: tuple[str, ...]
    comparison: str = ""
    use_case: str = ""

    @property
    def statement(self) -> str:
        """What is said of it: its description, comparison and use case."""
        return state_relation(self.description, self.comparison, self.use_case)

    def redirect(self, old: str, new: str) -> "Relation":
        """Return the relation with the end named `old` replaced by `new`."""
        ends = {"source": self.source, "target": self.target}
        return replace(self, **{end: new for end, name in ends.items() if name == old})

    def merge_with(self, other: "Relation") -> "Relation":
        """Return both as one: weights summed, keywords and descriptions joined, the sources of both."""
        return replace(
            self,
            keywords=", ".join(
                dict.fromkeys(word for word in (self.keywords, other.keywords) if word)
            ),
            description=join_descriptions([self.description, other.description]),
            comparison=join_descriptions([self.comparison, other.comparison]),
            use_case=join_descriptions([self.use_case, other.use_case]),
            weight=self.weight + other.weight,
            chunk_count=self.chunk_count + other.chunk_count,
            sources=append_sources(self.sources, other.sources),
            paths=append_sources(self.paths, other.paths),
        )

    def is_self_loop(self) -> bool:
        """Return whether both ends are the same."""
        return self.source == self.target

    def has_source_chunk(self, chunk_ref: str) -> bool:
        """Return whether this chunk is among the sources shown."""
        return chunk_ref in self.sources

    def remove_source_chunk(self, chunk_ref: str) -> "Relation":
        """Return the relation without this source; the others keep their places."""
        return replace(
            self, sources=tuple(source for source in self.sources if source != chunk_ref)
        )

    def with_sources(self, chunk_refs: Sequence[str]) -> "Relation":
        """Return the relation with these sources, the last fifty of them."""
        return replace(self, sources=append_sources((), chunk_refs))

    def with_paths(self, paths: Sequence[str]) -> "Relation":
        """Return the relation with these paths, the last fifty of them."""
        return replace(self, paths=append_sources((), paths))

    def add_source(self, chunk_ref: str) -> "Relation":
        """Return the relation with one more source; a known one keeps its place."""
        return replace(self, sources=append_sources(self.sources, [chunk_ref]))

    def add_path(self, path: str) -> "Relation":
        """Return the relation with one more path; a known one keeps its place."""
        return replace(self, paths=append_sources(self.paths, [path]))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDetails:
    """One entity as one reader sees it, with its other names and its relations, by descending weight."""

    entity: Entity
    aliases: tuple[str, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualEdit:
    """What a person wrote of an entity, within one access class; "" leaves a field as documents state it.

    `sources` are references or ids of the passages that support the description; () keeps those of the
    documents. Each field of the concept that is given replaces that of the documents.
    """

    name: str = ""
    kind: str = ""
    description: str = ""
    sources: tuple[str, ...] = ()
    concept: Concept = NO_CONCEPT


_GAPS = regex(r"[\s_\-–—]+")
_LEADING_MARKS = regex(r"^[^\w@#+$]+")
_TRAILING_MARKS = regex(r"(?<![^\w+#%])[^\w+#%]+$")
_POSSESSIVE = regex(r"['’]s$", re.IGNORECASE)


def normalize_name(name: str) -> str:
    """Return the form in which names are compared: NFKC, case folded, single spaces, no punctuation around.

    `"  ACME-Corp’s "` becomes `"acme corp"`; e-mail addresses and identifiers keep their inner punctuation.
    """
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    bare = _POSSESSIVE.sub("", _TRAILING_MARKS.sub("", _LEADING_MARKS.sub("", folded)))
    return _GAPS.sub(" ", bare).strip()


def normalize_names(names: Iterable[str]) -> list[str]:
    """Return the normalised forms of these names, each once, without empty ones."""
    return list(filter(None, dict.fromkeys(map(normalize_name, names))))


def slug(name: str) -> str:
    """Return the normalised name as the last part of a reference: `acme-corp`."""
    return normalize_name(name).replace(" ", "-")


def join_descriptions(descriptions: Sequence[str]) -> str:
    """Return the distinct, non-empty descriptions in order, joined by `DESCRIPTION_SEPARATOR`."""
    return DESCRIPTION_SEPARATOR.join(
        dict.fromkeys(text.strip() for text in descriptions if text.strip())
    )


def join_class_descriptions(descriptions: Sequence[str]) -> str:
    """Return the descriptions of several access classes as one, each part once: classes may share parts."""
    return join_descriptions(
        [part for description in descriptions for part in description.split(DESCRIPTION_SEPARATOR)]
    )


def state_relation(description: str, comparison: str, use_case: str) -> str:
    """Return what is said of a relation as one text, without what is empty."""
    labelled = (
        description.strip(),
        f'comparison: "{comparison.strip()}"' if comparison.strip() else "",
        f'use case: "{use_case.strip()}"' if use_case.strip() else "",
    )
    return "; ".join(filter(None, labelled))


def combine_descriptions(
    strategy: MergeStrategy, parts: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the descriptions that the strategy keeps, the target's first; entities without a description do
    not count.

    Without a model, LLM_SUMMARIZE keeps what CONCATENATE keeps.
    """
    described = [part for part in parts if any(part)]
    match strategy:
        case MergeStrategy.KEEP_FIRST:
            return described[0] if described else ()
        case MergeStrategy.KEEP_LONGEST:
            return max(described, key=lambda part: len(join_descriptions(part)), default=())
        case MergeStrategy.CONCATENATE | MergeStrategy.LLM_SUMMARIZE:
            return tuple(dict.fromkeys(chain.from_iterable(described)))


def append_sources(sources: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct sources in order of arrival, without the oldest ones beyond fifty."""
    return tuple(dict.fromkeys([*sources, *added]))[-MAX_SOURCES:]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKey:
    """Identifies a relation: `source` and `target` are names, references or ids of its ends, as the reader
    knows them.

    As text it is `SOURCE PREDICATE TARGET`.
    """

    source: str
    predicate: Predicate
    target: str

    def __str__(self) -> str:
        return f"{self.source} {self.predicate.value} {self.target}"


def parse_relation_key(text: str) -> RelationKey:
    """Return the key in this text; raise `Invalid` if no predicate stands between two ends."""
    words = text.split()
    predicates = frozenset(predicate.value for predicate in Predicate)
    for place, word in enumerate(words[1:-1], start=1):
        if word in predicates:
            return RelationKey(
                source=" ".join(words[:place]),
                predicate=Predicate(word),
                target=" ".join(words[place + 1 :]),
            )
    raise Invalid(
        f"{text!r} is not a relation; write SOURCE PREDICATE TARGET, for example Acme USES Osprey"
    )


class SourceIdStrategy(StrEnum):
    """Which sources to keep beyond the limit: the latest (FIFO), or the first ones (KEEP)."""

    FIFO = "FIFO"
    KEEP = "KEEP"

    @classmethod
    def _missing_(cls, value: object) -> "SourceIdStrategy | None":
        return cls.__members__.get(str(value).upper())


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRetention:
    """At most `limit` sources of an entity or relation, from 1 to 1000, chosen by `strategy`."""

    limit: int = MAX_SOURCES
    strategy: SourceIdStrategy = SourceIdStrategy.FIFO
