"""Requests to ingest documents, and the responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lightwell.domain.access import Tags
from lightwell.domain.documents import Format
from lightwell.domain.ids import DocumentId, JobId
from lightwell.domain.jobs import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """One document: a file given by path or `file:` URL, or `content` under any URL.

    `title`, `format` and the keys of `metadata` override what the document or its folder's settings say; "" and
    None do not. `acl_tags` and `topic` apply only where the document itself names none. `external_id` is what whoever uploads it calls it, "" for nothing.
    """

    document_url: str
    acl_tags: Tags
    title: str = ""
    format: Format | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    topic: str = ""
    content: bytes | None = None
    external_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResponse:
    """The job that ingests a document; `estimated_chunks` is None where the format does not tell the length of the text."""

    job_id: JobId
    document_id: DocumentId
    status: JobState
    estimated_chunks: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedChunk:
    """A chunk that the caller supplies, with its vector in the project's embedding space; None: Lightwell computes it."""

    content: str
    embedding: tuple[float, ...] | None = None
    section_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """A client's key for one request. `owner` is who sent it, and `fingerprint` the SHA-256 of what it asked for."""

    owner: str
    text: str
    fingerprint: bytes
