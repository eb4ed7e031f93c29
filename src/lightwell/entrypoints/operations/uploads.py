"""What is handed in: a document to fetch, and the jobs of uploaded files. The calls are made by hand, since they carry files and a key."""

from typing import Annotated

from pydantic import Field, JsonValue

from lightwell.domain.documents import Format
from lightwell.entrypoints.operations.documents import AclTags, IngestJob
from lightwell.entrypoints.operations.replies import Reply, Schema


class IngestBody(Schema):
    """A document to fetch: the specification's IngestRequest, with access tags and a topic in addition."""

    document_url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2000,
            examples=["https://example.org/handbook.pdf"],
            description="An http or https URL, or the path of a file in a folder that is open for ingestion.",
        ),
    ]
    title: Annotated[str, Field(max_length=500, description="Overrides the document's own.")] = ""
    format: Format | None = None
    metadata: Annotated[dict[str, JsonValue], Field(max_length=50, default_factory=dict)]
    topic: Annotated[str, Field(max_length=200)] = ""
    acl_tags: Annotated[
        AclTags,
        Field(
            description="Who sees the document: tags that the caller has. Not needed where it has one only.",
            default_factory=list,
        ),
    ]


class UploadJob(IngestJob):
    """The job of one uploaded file."""

    file_name: str


class UploadJobs(Reply):
    """One job for each file, in the order of the files."""

    documents: list[UploadJob]
