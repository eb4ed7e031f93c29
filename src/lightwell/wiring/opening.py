"""Opens and closes what has a lifetime: a project with all that it needs; and makes what reads documents."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid
from lightwell.domain.folder_tags import NOTHING_REMEMBERED, FolderTags
from lightwell.domain.requests import IngestRequest
from lightwell.domain.texts import split_at_commas
from lightwell.ingest.context import OpenConnector
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.meter import Meter
from lightwell.ports import ChatModel, Embedder
from lightwell.settings import Settings
from lightwell.wiring.projects import (
    open_project,
)
from lightwell.wiring.resources import open_resources

if TYPE_CHECKING:
    from lightwell.connectors.exports.source import ExportedWiki
    from lightwell.connectors.files import Files
    from lightwell.connectors.intake import Intake
    from lightwell.connectors.single_document import RequestedDocument


@asynccontextmanager
async def open_knowledge_base(
    settings: Settings | None = None,
    meter: Meter | None = None,
    *,
    around: Callable[[Embedder], Embedder] | None = None,
    around_model: Callable[[ChatModel], ChatModel] | None = None,
    open_source: OpenConnector | None = None,
) -> AsyncGenerator[KnowledgeBase, None]:
    """Open the project that the settings name, with its database and its models, and close them at the end.

    The parameters and the errors are those of `open_resources` and `open_project`.
    """
    async with open_resources(
        settings, meter, around=around, around_model=around_model
    ) as resources:
        yield await open_project(resources, open_source=open_source)


def requested(request: IngestRequest, settings: Settings) -> "RequestedDocument":
    """Return one requested document as a source."""
    from lightwell.connectors.single_document import RequestedDocument

    return RequestedDocument(
        request,
        max_bytes=settings.ingestion.max_file_bytes,
        reads_foreign=settings.parser.url is not None,
    )


def make_intake(settings: Settings) -> "Intake":
    """Return what reads the documents that clients of a server hand in."""
    from lightwell.connectors.intake import Intake
    from lightwell.wiring.fetching import make_fetcher

    fetcher = make_fetcher(settings)
    roots = tuple(Path(folder) for folder in split_at_commas(settings.server.ingest_roots))
    if relative := [str(root) for root in roots if not root.is_absolute()]:
        raise Invalid(f"LIGHTWELL_INGEST_ROOTS: {relative[0]} is not an absolute path")
    return Intake(
        max_bytes=settings.ingestion.max_file_bytes,
        roots=roots,
        fetcher=fetcher,
        reads_foreign=settings.parser.url is not None,
    )


def files(
    root: Path, tags: Tags, settings: Settings, folder_tags: FolderTags = NOTHING_REMEMBERED
) -> "Files | ExportedWiki":
    """Return a folder, a file or the archive of a wiki's export as a source.

    Where the folder's own settings name no tags, `folder_tags` do, such as `Documents.folder_tags` returns them, or else `tags`.
    """
    from lightwell.connectors.exports.source import ExportedWiki
    from lightwell.connectors.files import Files

    if root.suffix.lower() == ".zip" and root.is_file():
        return ExportedWiki(root, tags, settings.ingestion.max_file_bytes, folder_tags)
    return Files(
        root=root,
        default_tags=tags,
        max_bytes=settings.ingestion.max_file_bytes,
        folder_tags=folder_tags,
        reads_foreign=settings.parser.url is not None,
    )
