"""Requests and replies of LightRAG 1.5.7, under its names; a test compares them with its own. What a request has beyond these fields is ignored."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, StringConstraints

from lightwell.domain.documents import DocumentState
from lightwell.domain.questions import Mode

DocStatus = Literal[
    "pending", "parsing", "analyzing", "processing", "preprocessed", "processed", "failed"
]
STATUSES: Final[tuple[DocStatus, ...]] = (
    *("pending", "parsing", "analyzing", "processing", "preprocessed", "processed", "failed"),
)

STATUS_OF: Final[dict[DocumentState, DocStatus]] = {
    DocumentState.PENDING: "pending",
    DocumentState.CHUNKING: "parsing",
    DocumentState.EMBEDDING: "processing",
    DocumentState.EXTRACTING: "processing",
    DocumentState.ACTIVE: "processed",
    DocumentState.ARCHIVED: "processed",
    DocumentState.FAILED: "failed",
}

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]
Text = Annotated[str, Field(max_length=1_000_000)]


class SignedIn(BaseModel):
    """The reply to `/login`, and with `auth_configured` to `/auth-status`."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - the word of a form
    auth_mode: Literal["enabled"] = "enabled"
    core_version: str
    api_version: str
    webui_title: str
    webui_description: str
    ai_content_notice_enabled: bool


class DocStatusResponse(BaseModel):
    """A document; `content_length` is that of its file."""

    id: str
    content_summary: str
    content_length: int
    status: DocStatus
    created_at: str
    updated_at: str
    track_id: str | None
    chunks_count: int | None
    error_msg: str | None
    metadata: dict[str, str]
    file_path: str


class DocumentsRequest(BaseModel):
    """Which page of which documents."""

    status_filter: DocStatus | None = None
    status_filters: list[DocStatus] | None = None
    page: Annotated[int, Field(ge=1, le=10_000_000)] = 1
    page_size: Annotated[int, Field(ge=10, le=200)] = 50
    sort_field: Literal["created_at", "updated_at", "id", "file_path"] = "updated_at"
    sort_direction: Literal["asc", "desc"] = "desc"


class PaginationInfo(BaseModel):
    page: int
    page_size: int
    total_count: int
    total_pages: int
    has_next: bool
    has_prev: bool


class PaginatedDocsResponse(BaseModel):
    documents: list[DocStatusResponse]
    pagination: PaginationInfo
    status_counts: dict[str, int]


class StatusCountsResponse(BaseModel):
    status_counts: dict[str, int]


class TrackStatusResponse(BaseModel):
    track_id: str
    documents: list[DocStatusResponse]
    total_count: int
    status_summary: dict[str, int]


class PipelineStatusResponse(BaseModel):
    """How many of the caller's documents are still to be read. Clients of older versions need `autoscanned` and `request_pending`."""

    autoscanned: bool = False
    request_pending: bool = False
    busy: bool
    job_name: str = "Ingestion"
    docs: int
    batchs: int = 0
    cur_batch: int = 0
    latest_message: str
    history_messages: list[str]
    recovery_required: bool = False


class SupportedFileTypesResponse(BaseModel):
    supported_extensions: list[str]
    engines: dict[str, list[str]]


class InsertTextRequest(BaseModel):
    text: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    file_source: Annotated[str, Field(max_length=1000)] | None = None


class InsertTextsRequest(BaseModel):
    texts: Annotated[list[Text], Field(min_length=1, max_length=100)]
    file_sources: Annotated[list[Text], Field(max_length=100)] | None = None


class InsertResponse(BaseModel):
    status: Literal["success"] = "success"
    message: str
    track_id: str


class DeleteDocRequest(BaseModel):
    """What to delete; a file that was uploaded goes with its document, and its cached replies of models do, too."""

    doc_ids: Annotated[list[Name], Field(min_length=1, max_length=1000)]


class DeleteDocByIdResponse(BaseModel):
    """What became of a deletion, which is done when this is sent: LightRAG has no word for that."""

    status: Literal["deletion_started"] = "deletion_started"
    message: str
    doc_id: str


class ReprocessResponse(BaseModel):
    status: Literal["reprocessing_started"] = "reprocessing_started"
    message: str
    track_id: str = ""


class CancelPipelineResponse(BaseModel):
    status: Literal["not_busy"] = "not_busy"
    message: str


class ScanResponse(BaseModel):
    status: Literal["scanning_started"] = "scanning_started"
    message: str
    track_id: str = ""


class ClearDocumentsResponse(BaseModel):
    """The refusal to delete all documents, or to clear a cache."""

    status: Literal["fail"] = "fail"
    message: str


class KnowledgeGraphNode(BaseModel):
    id: str
    labels: list[str]
    properties: dict[str, Any]


class KnowledgeGraphEdge(BaseModel):
    id: str
    type: str
    source: str
    target: str
    properties: dict[str, Any]


class KnowledgeGraph(BaseModel):
    nodes: list[KnowledgeGraphNode] = []
    edges: list[KnowledgeGraphEdge] = []
    is_truncated: bool = False


class EntityUpdateRequest(BaseModel):
    entity_name: Name
    updated_data: dict[str, Any]
    allow_rename: bool = False
    allow_merge: bool = False


class EntityCreateRequest(BaseModel):
    entity_name: Name
    entity_data: dict[str, Any]


class RelationUpdateRequest(BaseModel):
    source_id: Name
    target_id: Name
    updated_data: dict[str, Any]


class RelationCreateRequest(BaseModel):
    source_entity: Name
    target_entity: Name
    relation_data: dict[str, Any]


class EntityMergeRequest(BaseModel):
    entities_to_change: Annotated[list[Name], Field(min_length=1, max_length=100)]
    entity_to_change_into: Name


class DeleteEntityRequest(BaseModel):
    entity_name: Name


class DeleteRelationRequest(BaseModel):
    source_entity: Name
    target_entity: Name


class DeletionResult(BaseModel):
    status: Literal["success"] = "success"
    doc_id: str = ""
    message: str


class Message(BaseModel):
    """A message of a conversation; other roles than these two are not read."""

    role: str
    content: str


class QueryRequest(BaseModel):
    """A question. What would change the style of the answer or the budget of its prompt is ignored."""

    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    mode: Mode = Mode.MIX
    only_need_context: bool | None = None
    only_need_prompt: bool | None = None
    chunk_top_k: Annotated[int, Field(ge=1)] | None = None
    conversation_history: Annotated[list[Message], Field(max_length=200)] | None = None
    include_references: bool | None = True
    include_chunk_content: bool | None = False
    include_progress: bool | None = False
    stream: bool | None = None


class ReferenceItem(BaseModel):
    reference_id: str
    file_path: str
    content: list[str] | None = None


class QueryResponse(BaseModel):
    response: str
    references: list[ReferenceItem] | None
    response_time: float
    llm_generated: bool


class QueryDataResponse(BaseModel):
    status: Literal["success"] = "success"
    message: str
    data: dict[str, Any]
    metadata: dict[str, Any]
