"""A brief on one entity."""

from dataclasses import dataclass, field
from datetime import datetime

from lightwell.domain.documents import Chunk
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Citation, Confidence
from lightwell.domain.graph import Entity
from lightwell.domain.ids import QueryId, new_query_id
from lightwell.domain.texts import require_text
from lightwell.domain.usage import NO_USAGE, TokenSummary

MAX_CITATIONS = 5
LONGEST_NAME = 400
"""Characters."""


def checked_name(name: str) -> str:
    """Return the name that a brief is asked for; raise `Invalid` for one that is empty or too long to be one."""
    if not name.strip():
        raise Invalid("Name the person, company or thing that the brief is about")
    if len(name) > LONGEST_NAME:
        raise Invalid(f"A name has at most {LONGEST_NAME} characters; shorten it")
    return require_text(name, "The name").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPassage:
    """A passage that speaks of an entity `often` times, 0 where that was found by its words alone.

    `said_at` is the date in the document's name or title, such as `2026-02-10-osprey.md`; else when it was changed (`Document`).
    `relevance`, 0 to 1, is the calibrated one to the entity's name, 0 where a search for that does not find the passage.
    """

    chunk: Chunk
    said_at: datetime
    mention_count: int
    relevance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefLine:
    """One cited statement; `text` is word for word where no model wrote it.

    `citations`, at least one, quote the words that carry it, under the marks of the brief's own citations.
    `said_at` is the first day that it names, else the date of the document quoted first.
    """

    text: str
    citations: tuple[Citation, ...]
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntity:
    """Another entity and what ties it to the one in question.

    `relation` is a predicate or a link's type, "" when they are only named together. `together` counts the passages
    looked at that name both; `how` is what one of them says of the two, None where no cited one says it.
    """

    ref: str
    name: str
    kind: str
    relation: str
    description: str
    co_mentions: int
    evidence: BriefLine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What there is to say of an entity, or of one of the people with its name, from what the reader may see.

    `citations` are three to five, fewer where fewer passages speak of it; each is a passage that lines stand on. They are
    empty exactly when `confidence` is insufficient, and then there are no lines. `lately` begins with the newest, `open_points` with
    what is plainly open.
    A citation's score is the calibrated relevance of its passage to the entity's name, 0 where a search for that does not find it
    among its ten best. `relevance` is the best of these and `confidence` the word for it, as for an answer; but low also below
    0.6, as each line names the entity, and where nothing says which of several people of a name is spoken of.
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
