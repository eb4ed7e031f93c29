"""Reads what chunks say by themselves: before they are published, and again where the rules have changed since."""

import asyncio
from collections.abc import Sequence

from lightwell.domain.ids import ChunkId
from lightwell.ingest.context import IngestContext
from lightwell.logs import logger
from lightwell.records.documents import analyses
from lightwell.records.documents.chunks import StagedChunk
from lightwell.text.analysis.chunk import analyse
from lightwell.text.analysis.stored import VERSION, encode

_PORTION = 64
"""Published chunks that are read again before a worker looks for jobs: less than a second."""

_log = logger(__name__)


def analyse_chunks(chunks: Sequence[StagedChunk]) -> dict[ChunkId, bytes]:
    """Return the analyses of these chunks, to be stored as of `VERSION`; those of equal text are made once."""
    made = {text: _read(text) for text in {chunk.draft.text for chunk in chunks}}
    return {chunk.id: made[chunk.draft.text] for chunk in chunks}


async def renew_analyses(context: IngestContext) -> bool:
    """Read some of the published chunks of the project whose analysis is outdated; return whether there were any."""
    texts = await analyses.list_outdated(
        context.database, context.project_id, VERSION, limit=_PORTION
    )
    for chunk, text in texts.items():  # one lock at a time: documents may be deleted meanwhile
        analysis = await asyncio.to_thread(_read, text)
        await analyses.renew(context.database, VERSION, chunk, analysis)
    if texts:
        _log.info("passages are read by the present rules", passages=len(texts))
    return bool(texts)


def _read(text: str) -> bytes:
    return encode(analyse(text))
