"""The interface of a model that compares questions with passages by many vectors of each."""

from collections.abc import Sequence
from typing import Protocol

from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import HeadedPassage, TextMatch, WindowMatch


class LateInteraction(Protocol):
    """Encodes passages once, and compares questions with what it encoded, and with other texts."""

    @property
    def model(self) -> str:
        """The name of what its vectors are made with: those of another name are not compared."""
        ...

    async def encode(self, passages: Sequence[HeadedPassage]) -> list[MultiVector]:
        """Return the vectors of each passage, in order; raise `ModelFailed`."""
        ...

    async def match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        """Return how the windows of each passage match the question, in order; raise `ModelFailed`."""
        ...

    async def compare(self, question: str, texts: Sequence[str]) -> list[TextMatch]:
        """Return how each text compares with the question, in order; raise `ModelFailed`."""
        ...
