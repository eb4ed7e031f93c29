"""Mentions, the truth of the graph, and what is derived from them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import EntityId, MergeId, RelationId
from lightwell.domain.usage import NO_USAGE, TokenSummary

DESCRIPTION_SEPARATOR = " | "
MAX_SOURCES = 50
"""What an entity or relation shows of its sources, first in first out; the mentions keep all."""

MIN_CONFIDENCE = 0.5


class Predicate(StrEnum):
    """S3's closed list; what fits none of the others is RELATED_TO."""

    PREREQUISITE = "PREREQUISITE"
    RELATED_TO = "RELATED_TO"
    COMPARED_TO = "COMPARED_TO"
    PART_OF = "PART_OF"
    USES = "USES"
    IMPLEMENTS = "IMPLEMENTS"
    EXAMPLE_OF = "EXAMPLE_OF"


class ProfileSubject(StrEnum):
    """What a profile is of."""

    ENTITY = "entity"
    RELATION = "relation"


class MergeStrategy(StrEnum):
    """What becomes of the descriptions when entities are merged."""

    CONCATENATE = "CONCATENATE"
    KEEP_FIRST = "KEEP_FIRST"
    KEEP_LONGEST = "KEEP_LONGEST"
    LLM_SUMMARIZE = "LLM_SUMMARIZE"


class MentionType(StrEnum):
    EXPLICIT = "explicit"
    INFERRED = "inferred"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One chunk's word about one entity; `count` is how often the chunk names it.

    `name` is the form the text uses. `kind` is a lower-case word (`person`, `organization`, `term`).
    `confidence` lies in [0, 1].
    """

    name: str
    kind: str
    description: str = ""
    type: MentionType = MentionType.EXPLICIT
    confidence: float = 1.0
    count: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationMention:
    """One chunk's word about how two entities are related; the names are mentioned in the same chunk.

    `weight` is positive; `confidence` lies in [0.5, 1]. `comparison` and `use_case` belong to
    COMPARED_TO and are "" elsewhere.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What one chunk says; every statement's subject and object are among the mentions."""

    mentions: tuple[Mention, ...]
    relation_mentions: tuple[RelationMention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """What one reader sees of one entity: the profiles of the reader's classes, brought together.

    Its methods are for programs that work on what they have been given; in the store, merging and deleting are queries.
    `ref` is `kg:<kind>:<slug>` or the reference of the system that told us.
    `chunk_count` counts the reader's visible chunks that mention it. `primary_url` is where it is best looked up: the URL
    that texts give it, else the first document that speaks of it; "" where only a person's word does.
    `described_by_hand`: a person wrote the description, and no document need say it.
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

    def merge_with(self, other: "Entity", strategy: MergeStrategy) -> "Entity":
        """Return this entity with the other's description brought in by the strategy, and its sources.

        Chunks that mention both are counted twice. A summary needs a model: raises `Invalid` for LLM_SUMMARIZE.
        """
        if strategy is MergeStrategy.LLM_SUMMARIZE:
            raise Invalid(
                "LLM_SUMMARIZE needs a chat model; merge with one, or name another strategy"
            )
        said = combine_descriptions(strategy, [(self.description,), (other.description,)])
        return replace(
            self,
            description=join_descriptions(said),
            chunk_count=self.chunk_count + other.chunk_count,
            sources=append_sources(self.sources, other.sources),
            paths=append_sources(self.paths, other.paths),
        )

    def has_source_chunk(self, chunk_ref: str) -> bool:
        """Return whether this chunk is among the sources shown."""
        return chunk_ref in self.sources

    def remove_source_chunk(self, chunk_ref: str) -> "Entity":
        """Return the entity without this source; the others keep their places."""
        return replace(self, sources=tuple(each for each in self.sources if each != chunk_ref))

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
    """What one reader sees of one relation; `source` and `target` are the names of its ends, `ends` their ids.

    `comparison` and `use_case` join what is said of a COMPARED_TO, and are "" elsewhere.
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

    def redirect(self, old: str, new: str) -> "Relation":
        """Return the relation with the end named `old` now at `new`."""
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
        return replace(self, sources=tuple(each for each in self.sources if each != chunk_ref))

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
class RelationKey:
    """Which relation: `source` and `target` are names, references or ids of its ends, as the reader knows them.

    As text it is `SOURCE PREDICATE TARGET`.
    """

    source: str
    predicate: Predicate
    target: str

    def __str__(self) -> str:
        return f"{self.source} {self.predicate.value} {self.target}"


def relation_key(text: str) -> RelationKey:
    """Return the key that the text is; raise `Invalid` where no predicate stands between two ends."""
    words = text.split()
    known = frozenset(predicate.value for predicate in Predicate)
    for place, word in enumerate(words[1:-1], start=1):
        if word in known:
            return RelationKey(
                source=" ".join(words[:place]),
                predicate=Predicate(word),
                target=" ".join(words[place + 1 :]),
            )
    raise Invalid(
        f"{text!r} names no relation; write it as SOURCE PREDICATE TARGET, with a predicate such as USES between"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDetails:
    """What one reader sees of one entity, with its other names and its relations, the weightiest first."""

    entity: Entity
    aliases: tuple[str, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualEdit:
    """What a person says of an entity, within one access class; "" where the person says nothing.

    `sources` are references or ids of the passages that the description comes from; empty leaves those of the texts.
    """

    name: str = ""
    kind: str = ""
    description: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What a merge did, in the eyes of the person who made it; `merge_id` takes it back.

    `usage` is what the person's own summaries cost; what others see is described anew at nobody's account.
    `note` says so when no source had relations, so that nothing was redirected; "" otherwise.
    """

    merge_id: MergeId
    target_entity: Entity
    relations_redirected: int
    source_entities_deleted: int
    relations_deduped: int
    usage: TokenSummary = NO_USAGE
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveMerge:
    """A merge that holds, as one reader knows its sides: the names of the target and of those merged into it."""

    merge_id: MergeId
    target: str
    sources: tuple[str, ...]
    strategy: MergeStrategy
    merged_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeProposal:
    """Two entities that may be one, and why; `confidence` lies in [0, 1].

    `evidence` says which of `email`, `domain`, `alias`, `name` speaks for it, and with what.
    """

    one: Entity
    other: Entity
    confidence: float
    evidence: Mapping[str, str]
    shared_neighbours: tuple[str, ...]


_GAPS = re.compile(r"[\s_\-–—]+")
_BEFORE = re.compile(r"^[^\w@#+$]+")
_BEHIND = re.compile(r"(?<![^\w+#%])[^\w+#%]+$")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)


def normalize_name(name: str) -> str:
    """Return the form under which names are matched: NFKC, case folded, single blanks, no marks around.

    `"  ACME-Corp’s "` becomes `"acme corp"`; an e-mail address or an identifier keeps its inner marks.
    """
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    bare = _POSSESSIVE.sub("", _BEHIND.sub("", _BEFORE.sub("", folded)))
    return _GAPS.sub(" ", bare).strip()


def slug(name: str) -> str:
    """Return the normalised name as the last part of a reference: `acme-corp`."""
    return normalize_name(name).replace(" ", "-")


def join_descriptions(descriptions: Sequence[str]) -> str:
    """Return the distinct, non-empty descriptions in order, with S0's separator between them."""
    return DESCRIPTION_SEPARATOR.join(
        dict.fromkeys(text.strip() for text in descriptions if text.strip())
    )


def combine_descriptions(
    strategy: MergeStrategy, parts: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return what is kept of what merged entities say, the target's first; parts that say nothing do not count.

    Without a model at hand, LLM_SUMMARIZE keeps what CONCATENATE keeps.
    """
    said = [part for part in parts if any(part)]
    match strategy:
        case MergeStrategy.KEEP_FIRST:
            return said[0] if said else ()
        case MergeStrategy.KEEP_LONGEST:
            return max(said, key=lambda part: len(join_descriptions(part)), default=())
        case MergeStrategy.CONCATENATE | MergeStrategy.LLM_SUMMARIZE:
            return tuple(dict.fromkeys(chain.from_iterable(said)))


def append_sources(known: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct sources in order of arrival, the oldest dropped beyond fifty."""
    return tuple(dict.fromkeys([*known, *added]))[-MAX_SOURCES:]
