"""Reranking by an endpoint, which scores each passage together with the question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lightwell.domain.documents import Chunk
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.evidence import Evidence
from lightwell.domain.prompt_fencing import neutralize_chat_marks
from lightwell.logs import logger
from lightwell.ports import Reranker

MIN_SCORE = 0.1
"""The default of the relevance below which a passage is dropped."""

LONGEST_PASSAGE = 8000
"""Characters of a passage that a reranker is sent, with its headings."""

UNANSWERED = "The reranker did not answer: the order before reranking stands."

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankResult:
    """Evidence, most relevant first; `note` says what failed, "" for nothing."""

    evidence: tuple[Evidence, ...]
    note: str = ""


async def rerank(
    reranker: Reranker, question: str, evidence: Sequence[Evidence], *, min_score: float = MIN_SCORE
) -> RerankResult:
    """Return the evidence by the reranker's relevance, without what has less than `min_score`, with both its ranks.

    When the reranker fails, order and relevance before stand, and the note says so. Raises `Invalid`.
    """
    if not 0 <= min_score <= 1:
        raise Invalid("Min score must be in range [0.0, 1.0]")
    before = [
        replace(entry, original_rank=rank, new_rank=rank) for rank, entry in enumerate(evidence)
    ]
    if not before:
        return RerankResult(evidence=())
    try:
        passages = [_passage(entry.chunk) for entry in before]
        scores = await reranker.rerank(neutralize_chat_marks(question), passages)
    except ModelFailed as error:
        _log.warning("the order before reranking stands: the reranker failed", error=str(error))
        return RerankResult(evidence=tuple(before), note=UNANSWERED)
    after = (
        replace(before[score.index], relevance=round(score.relevance, 6), new_rank=rank)
        for rank, score in enumerate(scores)
    )
    return RerankResult(evidence=tuple(entry for entry in after if entry.relevance >= min_score))


def _passage(chunk: Chunk) -> str:
    """Return the passage with its title and headings, without marks that would end a model's turn."""
    head = " › ".join((chunk.title, *chunk.locator.section))
    return neutralize_chat_marks(f"{head}\n\n{chunk.text}")[:LONGEST_PASSAGE]
