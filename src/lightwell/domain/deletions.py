"""What went when documents were deleted."""

from dataclasses import dataclass

from lightwell.domain.ids import DocumentId


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """S1's result for one or many documents, as the deleting reader sees it.

    An entity or relation is deleted when nothing that the reader sees speaks of it any more, rebuilt when something
    still does. Entities are named by their references, in order. The last four count what went from each store.
    """

    documents: tuple[DocumentId, ...]
    entities_deleted: tuple[str, ...]
    entities_rebuilt: tuple[str, ...]
    relations_deleted: int
    relations_rebuilt: int
    chunks: int
    vectors: int
    mentions: int
    relation_mentions: int
    errors: tuple[str, ...] = ()
