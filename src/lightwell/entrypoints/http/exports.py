"""Downloads of what the caller sees, in constant memory.

An export is written to a temporary folder first, completely or not at all, and then sent in parts: a failure is an error
response, never half a file.
"""

import asyncio
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.types import Receive, Scope, Send

from lightwell.domain.api_keys import Scope as KeyScope
from lightwell.domain.exports import ExportConfig, Exported, ExportFormat
from lightwell.entrypoints.http.authentication import Caller, caller_with
from lightwell.entrypoints.http.download_folders import DownloadFolders
from lightwell.entrypoints.operations.replies import Schema

router = APIRouter(prefix="/v1", tags=["exports"])

Exporting = Annotated[Caller, Depends(caller_with(KeyScope.EXPORT))]

_PART_BYTES = 65_536
_ZIP = "application/zip"
_TYPES = {
    ".csv": "text/csv",
    ".zip": _ZIP,
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".md": "text/markdown",
    ".txt": "text/plain",
}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as an attachment; csv with several tables is a zip archive",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}} for kind in _TYPES.values()
        },
    }
}


class ExportQuery(Schema):
    """What to export."""

    format: Annotated[ExportFormat, Field(examples=["xlsx"])]
    entities: bool = True
    relations: bool = True
    chunks: Annotated[bool, Field(description="Also the passages with their text.")] = False
    vectors: Annotated[bool, Field(description="Also the passages' embedding vectors.")] = False


@router.get("/exports", response_class=StreamingResponse, responses=_FILES)
async def export(
    request: Request, caller: Exporting, query: Annotated[ExportQuery, Query()]
) -> StreamingResponse:
    """Download the entities and relations that you see, optionally passages and vectors, as of one moment.

    A text that a spreadsheet might run as a formula gets an apostrophe in front in csv, and is marked as text in xlsx.
    """
    folders: DownloadFolders = request.app.state.download_folders
    folder = folders.make()
    try:
        config = ExportConfig(
            format=query.format,
            output_path=Path(folder.name) / f"lightwell.{query.format.value}",
            include_entities=query.entities,
            include_relations=query.relations,
            include_chunks=query.chunks,
            include_vectors=query.vectors,
        )
        done = await caller.knowledge_base.documents.export(caller.reader, config)
        return await asyncio.to_thread(_make_download, done, folder)
    except BaseException:
        folder.cleanup()
        raise


class Download(StreamingResponse):
    """Sends a file in parts; its folder is removed at the end, also where the client is gone."""

    def __init__(self, file: Path, folder: TemporaryDirectory[str]) -> None:
        headers = {
            "Content-Disposition": f'attachment; filename="{file.name}"',
            "Content-Length": str(file.stat().st_size),
        }
        super().__init__(_parts(file), media_type=_TYPES[file.suffix], headers=headers)
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await asyncio.to_thread(self._folder.cleanup)


def _make_download(done: Exported, folder: TemporaryDirectory[str]) -> Download:
    """Return the one file, or an archive of all, as a download."""
    if len(done.files) == 1:
        return Download(done.files[0], folder)
    archive = done.files[0].with_suffix(".zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in done.files:
            packed.write(file, file.name)
            file.unlink()
    return Download(archive, folder)


def _parts(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while part := opened.read(_PART_BYTES):
            yield part
