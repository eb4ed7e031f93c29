"""One document's way in, as durable work."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lightwell.domain.ids import DocumentId, JobId, ProjectId


class JobState(StrEnum):
    QUEUED = "queued"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A document's job; `progress` is a percentage, `attempts` counts the claims so far."""

    id: JobId
    project_id: ProjectId
    document_id: DocumentId
    state: JobState
    progress: int
    total_chunks: int | None
    processed_chunks: int
    error: str
    attempts: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
