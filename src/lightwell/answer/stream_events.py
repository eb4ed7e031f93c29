"""An answer as it is told: its parts become S3's events."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from lightwell.domain.errors import ModelFailed
from lightwell.domain.evidence import Answer, Citation, Metrics
from lightwell.domain.streams import StreamChunk, StreamType, response_metadata

Part = str | Citation | Answer
"""Text that is added, a citation that the text before it needs, and at the end the whole answer."""


async def stream_answer(
    parts: AsyncGenerator[Part, None], metrics: Metrics
) -> AsyncGenerator[StreamChunk, None]:
    """Yield the events of an answer: tokens and citations, then `metadata` and `done`; or `error`, which is the last.

    When a model fails, what was sent before stands: it was checked.
    """
    began = time.perf_counter()
    try:
        async with aclosing(parts) as coming:
            async for part in coming:
                for chunk in _chunks(part, _milliseconds(metrics, began)):
                    yield chunk
    except ModelFailed as error:
        yield StreamChunk(type=StreamType.ERROR, error=str(error))


def _chunks(part: Part, latency_ms: int) -> tuple[StreamChunk, ...]:
    match part:
        case str():
            return (StreamChunk(type=StreamType.TOKEN, content=part),)
        case Citation():
            return (StreamChunk(type=StreamType.CITATION, citation=part),)
        case Answer():
            numbers = response_metadata(part, latency_ms=latency_ms)
            return (
                StreamChunk(type=StreamType.METADATA, metadata=numbers),
                StreamChunk(type=StreamType.DONE, answer=part),
            )


def _milliseconds(metrics: Metrics, began: float) -> int:
    return metrics.total_ms + round((time.perf_counter() - began) * 1000)
