"""Answers with verified citations, only from what the asking person may see.

    settings = Settings()
    async with open_knowledge_base(settings) as kb:
        await kb.ingestion.ingest(files(Path("handbook"), frozenset({"team:us"}), settings))
        reader = await kb.reader(["team:us"])
        answer = await kb.questions.ask("How many days of leave are there?", reader)

Names are loaded when they are first used, so that `import lightwell` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightwell.domain.access import Reader
    from lightwell.domain.analytics import FeedbackRequest
    from lightwell.domain.answers import Answer, Citation, CitedSentence, StreamChunk
    from lightwell.domain.briefs import Brief
    from lightwell.domain.chat import ChatResponse, ChatTurn
    from lightwell.domain.documents import Status
    from lightwell.domain.errors import (
        BudgetSpent,
        Invalid,
        LightwellError,
        ModelFailed,
        NotFound,
        ParserFailed,
        SourceFailed,
        StoreFailed,
        Unreadable,
    )
    from lightwell.domain.evidence import Evidence, Retrieval
    from lightwell.domain.graph_views import Candidates
    from lightwell.domain.questions import Mode, Question
    from lightwell.domain.requests import EmbeddedChunk, IngestRequest, IngestResponse
    from lightwell.domain.usage import OperationType, TokenSummary, TokenUsage
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.knowledge_base.ingestion import IngestionResult
    from lightwell.metering import UsageLog, record_usage
    from lightwell.models.meter import Meter
    from lightwell.settings import Settings
    from lightwell.wiring import (
        Resources,
        delete_project,
        files,
        open_knowledge_base,
        open_project,
        open_resources,
        requested,
    )

__all__ = [
    "Answer",
    "Brief",
    "BudgetSpent",
    "Candidates",
    "ChatResponse",
    "ChatTurn",
    "Citation",
    "CitedSentence",
    "EmbeddedChunk",
    "Evidence",
    "FeedbackRequest",
    "IngestRequest",
    "IngestResponse",
    "IngestionResult",
    "Invalid",
    "KnowledgeBase",
    "LightwellError",
    "Meter",
    "Mode",
    "ModelFailed",
    "NotFound",
    "OperationType",
    "ParserFailed",
    "Question",
    "Reader",
    "Resources",
    "Retrieval",
    "Settings",
    "SourceFailed",
    "Status",
    "StoreFailed",
    "StreamChunk",
    "TokenSummary",
    "TokenUsage",
    "Unreadable",
    "UsageLog",
    "delete_project",
    "files",
    "open_knowledge_base",
    "open_project",
    "open_resources",
    "record_usage",
    "requested",
]

_NAMES = {
    "domain.access": "Reader",
    "domain.analytics": "FeedbackRequest",
    "domain.answers": "Answer Citation CitedSentence StreamChunk",
    "domain.briefs": "Brief",
    "domain.chat": "ChatResponse ChatTurn",
    "domain.errors": "BudgetSpent Invalid LightwellError ModelFailed NotFound ParserFailed SourceFailed StoreFailed Unreadable",
    "domain.evidence": "Evidence Retrieval",
    "domain.graph_views": "Candidates",
    "domain.questions": "Mode Question",
    "domain.requests": "EmbeddedChunk IngestRequest IngestResponse",
    "domain.usage": "OperationType TokenSummary TokenUsage",
    "domain.documents": "Status",
    "knowledge_base": "KnowledgeBase",
    "knowledge_base.ingestion": "IngestionResult",
    "metering": "UsageLog record_usage",
    "models.meter": "Meter",
    "settings": "Settings",
    "wiring": "Resources delete_project files open_knowledge_base open_project open_resources requested",
}
"""The names of each module."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'lightwell' has no attribute {name!r}")
    return getattr(import_module(f"lightwell.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
