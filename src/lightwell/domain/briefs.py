"""A brief on one entity."""

from dataclasses import dataclass, field
from datetime import datetime

from lightwell.domain.answers import Citation, Confidence
from lightwell.domain.documents import Chunk
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Evidence
from lightwell.domain.graph import Entity
from lightwell.domain.ids import QueryId, new_query_id
from lightwell.domain.texts import require_text
from lightwell.domain.usage import NO_USAGE, TokenSummary

MAX_CITATIONS = 5
MAX_NAME_LENGTH = 400
"""Characters."""


def validate_name(name: str) -> str:
    """Return the name, trimmed; raise `Invalid` if it is empty or longer than any name."""
    if not name.strip():
        raise Invalid("Name the person, company or thing that the brief is about")
    if len(name) > MAX_NAME_LENGTH:
        raise Invalid(f"A name has at most {MAX_NAME_LENGTH} characters; shorten it")
    return require_text(name, "The name").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPassage:
    """A passage about an entity; `mention_count` is 0 where only a search by words found it.

    `relevance`, 0 to 1, is calibrated against the entity's name; it is 0 where a search for
    the name does not find the passage. `is_part`: it is of an item that is about the entity, or about what belongs to it.
    """

    chunk: Chunk
    mention_count: int
    relevance: float = 0.0
    is_part: bool = False

    @property
    def evidence(self) -> Evidence:
        """The passage as evidence; its score is how often the entity is mentioned."""
        return Evidence(
            chunk=self.chunk,
            relevance=self.relevance,
            score=float(self.mention_count),
            cosine_distance=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefLine:
    """One cited sentence of a brief; `text` is verbatim where no model wrote it, after whoever wrote it in an item, or an item's title with its fields.

    `citations`, at least one, quote the words that support it; their ids are those of the brief's own
    citations. `said_at` is the first date that the text names, in a message its own date, else the date of the first quoted document; None where
    that states no date.
    """

    text: str
    citations: tuple[Citation, ...]
    said_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntity:
    """Another entity and its connection to the subject of the brief.

    `relation` is a predicate or a link's type, "" where passages only name both. `comparison` and `use_case` belong to COMPARED_TO. `co_mentions` counts the
    inspected passages that name both. `evidence` is a cited sentence about the connection, None where no cited
    passage has one.
    """

    ref: str
    name: str
    kind: str
    relation: str
    description: str
    comparison: str
    use_case: str
    co_mentions: int
    evidence: BriefLine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A cited summary of one entity, or of one of several people with its name, from what the reader may see.

    Each citation is a passage that at least one line quotes: three to five, fewer where fewer passages mention
    the entity. `citations` is empty exactly when `confidence` is insufficient; then there are no lines.
    `lately` begins with the newest line, `open_points` with the clearest one.

    A citation's score is the calibrated relevance of its passage to the entity's name, 0 where the passage is
    not among the ten best. `relevance` is the best of these, and `confidence` its word: where there is a line at least 0.6 and low, because
    every line names the entity, and low where the passages do not tell which of several people with the name is meant.
    """

    entity: Entity
    about: tuple[BriefLine, ...]
    lately: tuple[BriefLine, ...]
    open_points: tuple[BriefLine, ...]
    people: tuple[RelatedEntity, ...]
    links: tuple[RelatedEntity, ...]
    citations: tuple[Citation, ...]
    confidence: Confidence
    relevance: float
    model: str
    notes: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
    query_id: QueryId = field(default_factory=new_query_id)
