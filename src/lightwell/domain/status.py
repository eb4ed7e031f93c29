"""How much a reader sees."""

from dataclasses import dataclass

from lightwell.domain.documents import DocumentState


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Counts of what the reader may see; `open_jobs`, too, counts jobs of the reader's documents only."""

    documents: dict[DocumentState, int]
    chunks: int
    entities: int
    relations: int
    open_jobs: int
