"""Ingestion jobs (one document's ingestion as durable work), runs (one sync of one source), and cursors."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lightwell.domain.ids import DocumentId, JobId, ProjectId, RunId
from lightwell.domain.usage import NO_USAGE, TokenSummary

VECTORS = "vectors"
"""The step in which a document is published, and its chunks get vectors."""


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
        """Whether a worker still has to process the job."""
        return self not in (JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job that was created for a new or changed document.

    `estimated_chunks` is estimated from the size of the text, None for formats whose size says little about it.
    """

    id: JobId
    document_id: DocumentId
    url: str
    is_new: bool
    estimated_chunks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A document's ingestion; `progress` is a percentage, `attempts` counts the claims so far.

    `step` is the current step, where a retry continues: "" (no chunks yet), `embed`, `read` (extraction),
    `index`, or `read again` (extraction from chunks that are already published); "" at the end. In the step `vectors` the document
    is published, and found by its words and in the graph: what is left is vectors of its chunks, `processed_chunks` of which have one.
    `usage` is what models cost for the extraction from this document's own chunks. `unknown_predicates` counts the relations
    that became RELATED_TO because a model gave a predicate outside the list.
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
    usage: TokenSummary = NO_USAGE
    unknown_predicates: int = 0

    @property
    def status(self) -> JobState:
        """The state in the words of the specification, which has none for a cancelled job."""
        return JobState.FAILED if self.state is JobState.CANCELLED else self.state

    @property
    def error_message(self) -> str:
        return "The job was cancelled" if self.state is JobState.CANCELLED else self.error


class RunState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class RunChange(StrEnum):
    """How a run changed a document."""

    INSERTED = "inserted"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One sync of one source, as one reader sees it.

    The counts include only documents that the reader may see now. `failed` counts new and changed documents
    that could not be read; `inserted` and `updated` exclude them. `scope` is the URL prefix of the source's
    documents. `error` says why the sync of the source failed, "" if it did not.
    """

    id: RunId
    system: str
    scope: str
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    inserted: int
    updated: int
    deleted: int
    error: str
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """The position of the last complete sync of a source.

    `key` names the part of the source system: a folder's URL, a workspace, an inbox. `value` is defined by the
    source: for files, the ISO time at which that sync began; for a business system, whose key is the source's name, the ISO time of the last change
    that the reader sees.
    """

    system: str
    key: str
    value: str
    updated_at: datetime
