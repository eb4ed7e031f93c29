"""Mentions, the truth of the graph, and what is derived from them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain

from lightwell.domain.ids import ClassId, EntityId

DESCRIPTION_SEPARATOR = " | "
MOST_SOURCES = 50
"""What an entity or relation shows of its sources, first in first out; the mentions keep all."""

LEAST_CONFIDENCE = 0.5


class Predicate(StrEnum):
    """S3's closed list; what fits none of the others is RELATED_TO."""

    PREREQUISITE = "PREREQUISITE"
    RELATED_TO = "RELATED_TO"
    COMPARED_TO = "COMPARED_TO"
    PART_OF = "PART_OF"
    USES = "USES"
    IMPLEMENTS = "IMPLEMENTS"
    EXAMPLE_OF = "EXAMPLE_OF"


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
class Statement:
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
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What one access class says of one entity: derived from that class's mentions, and from no other.

    `description` joins the distinct descriptions in order of arrival, or is their summary.
    `sources` are at most 50 chunk references, `paths` at most 50 document URLs, both first in first out.
    """

    entity_id: EntityId
    class_id: ClassId
    name: str
    kind: str
    description: str
    mention_count: int
    sources: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """What one reader sees of one entity: the profiles of the reader's classes, brought together.

    `ref` is `kg:<kind>:<slug>` or the reference of the system that told us.
    `chunk_count` counts the reader's visible chunks that mention it.
    """

    id: EntityId
    ref: str
    name: str
    kind: str
    description: str
    chunk_count: int
    sources: tuple[str, ...]
    paths: tuple[str, ...]


_GAPS = re.compile(r"[\s_\-–—]+")
_OUTSIDE = re.compile(r"^[^\w@#+$]+|[^\w+#%]+$")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)


def normalized(name: str) -> str:
    """Return the form under which names are matched: NFKC, case folded, single blanks, no marks around.

    `"  ACME-Corp’s "` becomes `"acme corp"`; an e-mail address or an identifier keeps its inner marks.
    """
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    bare = _POSSESSIVE.sub("", _OUTSIDE.sub("", folded))
    return _GAPS.sub(" ", bare).strip()


def slug(name: str) -> str:
    """Return the normalised name as the last part of a reference: `acme-corp`."""
    return normalized(name).replace(" ", "-")


def joined(descriptions: Sequence[str]) -> str:
    """Return the distinct, non-empty descriptions in order, with S0's separator between them."""
    return DESCRIPTION_SEPARATOR.join(
        dict.fromkeys(text.strip() for text in descriptions if text.strip())
    )


def brought_together(strategy: MergeStrategy, parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return what is kept of what merged entities say, the target's first; parts that say nothing do not count.

    Without a model at hand, LLM_SUMMARIZE keeps what CONCATENATE keeps.
    """
    said = [part for part in parts if any(part)]
    match strategy:
        case MergeStrategy.KEEP_FIRST:
            return said[0] if said else ()
        case MergeStrategy.KEEP_LONGEST:
            return max(said, key=lambda part: len(joined(part)), default=())
        case MergeStrategy.CONCATENATE | MergeStrategy.LLM_SUMMARIZE:
            return tuple(dict.fromkeys(chain.from_iterable(said)))


def first_in_first_out(known: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct sources in order of arrival, the oldest dropped beyond fifty."""
    return tuple(dict.fromkeys([*known, *added]))[-MOST_SOURCES:]


def with_source(profile: Profile, chunk_ref: str, path: str) -> Profile:
    """Return the profile with one more source; a known one keeps its place."""
    return replace(
        profile,
        sources=first_in_first_out(profile.sources, [chunk_ref]),
        paths=first_in_first_out(profile.paths, [path]),
    )


_TEXT_REF = "kg:entity:"


def text_ref(name: str) -> str:
    """Return the stored reference of an entity that a text names; its kind is not part of its identity."""
    return _TEXT_REF + slug(name)


def shown_ref(stored: str, kind: str) -> str:
    """Return the reference a reader sees, with the kind as the reader's own documents have it."""
    return f"kg:{kind}:{stored.removeprefix(_TEXT_REF)}" if stored.startswith(_TEXT_REF) else stored


def stored_ref(shown: str) -> str:
    """Return the reference an entity is stored under, whatever kind the shown one names."""
    system, _, rest = shown.partition(":")
    return _TEXT_REF + rest.partition(":")[2] if system == "kg" else shown
