"""The second look at the best candidates: how well do their windows match the question, token by token?

A chunk is embedded as one vector, the mean of all that it says. Late interaction sees the one window that answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import WindowMatch
from lightwell.ports import LateInteraction
from lightwell.records import multi_vectors
from lightwell.records.database import Database
from lightwell.retrieve import signals
from lightwell.retrieve.sparse_matrix import Floats, Places

MATCHED = 30
"""Candidates that are compared: the best ones of the first pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkMatch:
    """How the windows of a chunk match, at least one, by its vectors."""

    windows: tuple[WindowMatch, ...]
    vectors: MultiVector

    @property
    def token_match(self) -> float:
        """How well its best window matches."""
        return max(window.token_match for window in self.windows)


ChunkMatches = Mapping[ChunkId, ChunkMatch]
"""How chunks match, without those that are not encoded."""


async def match_windows(
    database: Database,
    model: LateInteraction,
    reader: Reader,
    question: str,
    chunks: Sequence[ChunkId],
) -> ChunkMatches:
    """Return how the windows of those of the chunks match that are encoded and that the reader sees; raise `ModelFailed`."""
    vectors = await multi_vectors.get_multi_vectors(database, reader, model.model, chunks)
    matches = await model.match(question, list(vectors.values()))
    return {
        chunk: ChunkMatch(windows=windows, vectors=vectors[chunk])
        for chunk, windows in zip(vectors, matches, strict=True)
        if windows
    }


def token_matches(best: Places, chunks: Sequence[ChunkId], matches: ChunkMatches) -> Floats:
    """Return how well each chunk matches by its best window, (n,): 1 for the best match among the `best` candidates, 0 for the worst.

    What is not encoded is taken to match as well as the mean of the others. Candidates that were not compared have 0; all have where
    no two matches differ, so that they say nothing.
    """
    places: list[int] = best.tolist()
    matched = [matches.get(chunks[place]) for place in places]
    values = np.array([np.nan if match is None else match.token_match for match in matched])
    is_known = ~np.isnan(values)
    signal = np.zeros(len(chunks))
    if is_known.any():
        signal[best] = signals.min_max(np.where(is_known, values, values[is_known].mean()))
    return signal
