"""Jobs: what ingests one document each."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import JobId
from lightwell.domain.jobs import Job, JobState
from lightwell.domain.texts import require_text
from lightwell.entrypoints.operations.replies import NextAfter, PageQuery, Schema, cut_page
from lightwell.entrypoints.schemas.questions import UsageSchema


class JobQuery(PageQuery):
    """Which jobs to list, the latest first."""

    state: JobState | None = None
    document: Annotated[
        str, Field(max_length=2000, description="Id, reference or URL of a document.")
    ] = ""

    def before(self) -> JobId | None:
        """Return the job that the page before ended with; raise `Invalid`."""
        require_text(self.document, "The document")
        try:
            return JobId(UUID(self.after)) if self.after else None
        except ValueError:
            raise Invalid("`after` is `nextAfter` of the page before") from None


class JobSchema(Schema):
    """A job: the specification's IngestStatusResponse, and more. A cancelled job has the status `failed`.

    `progress` is a percentage. The chunks are counted once the document is parsed.
    `usage` is what the extraction from this document cost so far; `unknownPredicates` counts relations that became RELATED_TO.
    """

    job_id: str
    document_id: str
    document_url: str
    status: Literal["queued", "chunking", "embedding", "extracting", "complete", "failed"]
    job_state: JobState
    current_step: str
    progress: Annotated[int, Field(ge=0, le=100)]
    total_chunks: int | None
    processed_chunks: int
    error_code: str
    error_message: str
    usage: UsageSchema
    unknown_predicates: int
    attempts: int
    created_at: str
    started_at: str | None
    completed_at: str | None


class JobPage(Schema):
    jobs: list[JobSchema]
    next_after: NextAfter


def job_schema(job: Job) -> JobSchema:
    return JobSchema.model_validate(json_output.job(job), by_alias=True)


def job_page(found: Sequence[Job], query: JobQuery) -> JobPage:
    """Return the page; `found` is one longer where another page follows."""
    page, following = cut_page(found, query, lambda each: str(each.id))
    return JobPage(jobs=[job_schema(each) for each in page], next_after=following)
