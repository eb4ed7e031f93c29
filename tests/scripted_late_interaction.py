"""Late interaction for tests: what matches is scripted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import EncodedSpan, HeadedPassage, TextMatch, WindowMatch
from lightwell.testing.models import HashEmbedder


@dataclass(frozen=True)
class ScriptedLateInteraction:
    """Late interaction that encodes each passage as one window, and says that it matches as `match_of` its text does, 0 to 1.

    Its vectors hold the text itself. `texts` are those that it encoded, `compared` those that it compared with the question, by their words.
    """

    match_of: Callable[[str], float]
    model: str = "scripted"
    space: str = "none"
    texts: list[str] = field(default_factory=list[str])
    compared: list[str] = field(default_factory=list[str])

    async def encode(self, passages: Sequence[HeadedPassage]) -> list[MultiVector]:
        """Return one window for each passage."""
        self.texts.extend(f"{passage.head}\n{passage.text}" for passage in passages)
        return [in_one_window(passage.text) for passage in passages]

    async def match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        """Return the scripted match of each passage, as both measures."""
        return [(self._match(vector),) for vector in vectors]

    async def compare(
        self, question: str, texts: Sequence[Sequence[EncodedSpan]]
    ) -> list[TextMatch]:
        """Return the cosine similarities of the words, 0 to 1, as both measures."""
        words = [read_spans(spans) for spans in texts]
        self.compared.extend(words)
        embedder = HashEmbedder()
        question_vector = await embedder.embed_query(question)
        cosines = [
            max(0.0, float(vector @ question_vector[0]))
            for vector in await embedder.embed_documents(words)
        ]
        return [TextMatch(similarity=cosine, token_match=cosine) for cosine in cosines]

    def _match(self, vectors: MultiVector) -> WindowMatch:
        match = self.match_of(vectors.codes.tobytes().decode())
        return WindowMatch(start=0, end=int(vectors.ends[0]), similarity=match, token_match=match)


def read_spans(spans: Sequence[EncodedSpan]) -> str:
    """Return the words of these parts of texts, which their vectors hold."""
    parts = [span.vectors.codes_between(span.start, span.end) for span in spans]
    return " ".join(part.tobytes().decode() for part in parts if len(part))


def in_one_window(text: str) -> MultiVector:
    """Return one window that holds the text itself, a byte of it for each token."""
    letters = np.frombuffer(text.encode(), np.uint8).reshape(-1, 1)
    places = [place for place, letter in enumerate(text) for _ in letter.encode()]
    return MultiVector(
        starts=np.array([0], np.int32),
        ends=np.array([len(text)], np.int32),
        tokens=np.array([len(letters)], np.int32),
        wholes=np.zeros((1, 8), np.int8),
        head=np.empty((0, 1), np.uint8),
        codes=letters,
        places=np.array(places, np.int32),
    )
