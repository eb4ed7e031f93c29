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

    @property
    def is_open(self) -> bool:
        """Whether a worker has still to do something."""
        return self not in (JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job that was written down for a new or a changed document.

    `estimated_chunks` is a guess by the size of its text, None where the format does not tell that.
    """

    id: JobId
    document_id: DocumentId
    url: str
    is_new: bool
    estimated_chunks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A document's job; `progress` is a percentage, `attempts` counts the claims so far.

    `step` is the step that it is at or goes on with: "" (not cut into chunks yet), `embed`, `read`, `index`, or
    `read again` for a published document whose chunks are read anew; "" at the end.
    """

    id: JobId
    project_id: ProjectId
    document_id: DocumentId
    url: str
    state: JobState
    step: str
    progress: int
    total_chunks: int | None
    processed_chunks: int
    error_code: str
    error: str
    attempts: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
