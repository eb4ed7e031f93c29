"""The one place that chooses implementations, and that opens and closes what has a lifetime.

`open_resources` opens what a process needs once, `open_project` costs almost nothing on top, and `open_knowledge_base`
is both in one call.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from lightwell.connectors.files import Files
from lightwell.connectors.single_document import RequestedDocument
from lightwell.domain.access import Tags
from lightwell.domain.requests import IngestRequest
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.meter import Meter
from lightwell.ports import ChatModel, Embedder
from lightwell.settings import Settings
from lightwell.wiring.examination import examine
from lightwell.wiring.projects import (
    delete_project,
    delete_project_of,
    make_retriever,
    open_project,
    rule_ingest_context,
)
from lightwell.wiring.resources import Resources, open_resources

__all__ = [
    "Resources",
    "delete_project",
    "delete_project_of",
    "examine",
    "files",
    "make_retriever",
    "open_knowledge_base",
    "open_project",
    "open_resources",
    "requested",
    "rule_ingest_context",
]


@asynccontextmanager
async def open_knowledge_base(
    settings: Settings | None = None,
    meter: Meter | None = None,
    *,
    around: Callable[[Embedder], Embedder] | None = None,
    around_model: Callable[[ChatModel], ChatModel] | None = None,
) -> AsyncGenerator[KnowledgeBase, None]:
    """Open the project that the settings name, with its database and its models, and close them at the end.

    The parameters and the errors are those of `open_resources` and `open_project`.
    """
    async with open_resources(
        settings, meter, around=around, around_model=around_model
    ) as resources:
        yield await open_project(resources)


def requested(request: IngestRequest, settings: Settings) -> RequestedDocument:
    """Return one requested document as a source."""
    return RequestedDocument(request, max_bytes=settings.max_file_bytes)


def files(root: Path, tags: Tags, settings: Settings) -> Files:
    """Return a folder or a file as a source; `tags` apply where the folder's own settings name none."""
    return Files(root=root, default_tags=tags, max_bytes=settings.max_file_bytes)
