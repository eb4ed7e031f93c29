"""The result of deleting documents."""

from dataclasses import dataclass

from lightwell.domain.ids import DocumentId
from lightwell.domain.usage import NO_USAGE, TokenSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedRows:
    """Numbers of removed rows."""

    chunks: int
    vectors: int
    mentions: int
    relation_mentions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What a deletion removed, of what the deleting reader sees.

    An entity or relation counts as deleted when nothing that the reader sees mentions it any more, as rebuilt
    when something still does. Entities are given by reference, in order. `usage` is what models cost for what this reader sees: other access classes
    are described anew, too, and nobody is told at what cost.
    """

    documents: tuple[DocumentId, ...]
    entities_deleted: tuple[str, ...]
    entities_rebuilt: tuple[str, ...]
    relations_deleted: int
    relations_rebuilt: int
    removed: RemovedRows
    errors: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
