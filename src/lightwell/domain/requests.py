"""S3's requests to bring one document in, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lightwell.domain.access import Tags
from lightwell.domain.documents import Format
from lightwell.domain.ids import DocumentId, JobId
from lightwell.domain.jobs import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """One document: a file by its path or `file:` URL, or `content` under any URL.

    `title`, `format` and `metadata`, key by key, go before what the document or its folder's settings say, "" and None
    leave that alone. `acl_tags` hold where the document itself names none; so does `topic`.
    """

    document_url: str
    acl_tags: Tags
    title: str = ""
    format: Format | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    topic: str = ""
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResponse:
    """The job that brings a document in; `estimated_chunks` is None where the format does not tell its text's length."""

    job_id: JobId
    document_id: DocumentId
    status: JobState
    estimated_chunks: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedChunk:
    """A hand-made chunk of a document, with its vector in the project's embedding space; None: it is to be computed."""

    content: str
    embedding: tuple[float, ...] | None = None
    section_path: tuple[str, ...] = ()
