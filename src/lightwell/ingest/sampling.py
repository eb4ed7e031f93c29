"""Measures, on a few passages, what a passage costs on this machine; no endpoint is called and nothing is stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from time import monotonic

from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import ENCODED_LANGUAGE
from lightwell.ingest.chunking import headed_passage, text_to_embed
from lightwell.ingest.context import IngestContext
from lightwell.ingest.extract.llm_extractor import LLMExtractor
from lightwell.ports import ExtractionInput

_SIZE = 16
"""Passages that are measured: some seconds with the bundled model."""

_STORING_SECONDS = 0.012
"""What a passage costs beside what is measured: terms, publishing, profiles, and PostgreSQL's share of it."""


@dataclass(slots=True)
class Sample:
    """A few of the passages that it is offered, each as likely as any other, and the same for the same offers."""

    passages: list[ExtractionInput] = field(default_factory=list[ExtractionInput])
    offered: int = 0
    _random: Random = field(default_factory=lambda: Random(0))  # noqa: S311 - which passages are measured is no secret

    def offer(self, passages: Sequence[ExtractionInput]) -> None:
        for passage in passages:
            self.offered += 1
            if len(self.passages) < _SIZE:
                self.passages.append(passage)
            elif (place := self._random.randrange(self.offered)) < _SIZE:
                self.passages[place] = passage


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageCost:
    """What an average passage takes: seconds with this machine's models, and bytes of token vectors."""

    seconds: float = 0.0
    vector_bytes: float = 0.0


async def measure(
    context: IngestContext, sample: Sample, *, is_reextraction: bool = False
) -> PassageCost:
    """Return what reading an average passage of the sample takes here, without the calls of endpoints; raise `ModelFailed`.

    Extracting again reads no vectors.
    """
    passages = sample.passages
    if not passages:
        return PassageCost()
    step = _extract if is_reextraction else _read
    await step(context, passages[:1])  # loads models, which counts for no passage
    begun = monotonic()
    vector_bytes = await step(context, passages) / len(passages)
    seconds = (monotonic() - begun) / len(passages)
    return PassageCost(seconds=seconds + _STORING_SECONDS, vector_bytes=vector_bytes)


async def _extract(context: IngestContext, passages: Sequence[ExtractionInput]) -> int:
    """Let the rules read the passages, where no model does; it makes no vectors."""
    if not isinstance(context.extractor, LLMExtractor):
        await context.extractor.extract(passages)
    return 0


async def _read(context: IngestContext, passages: Sequence[ExtractionInput]) -> int:
    """Let the rules and the network of this process read the passages; return the bytes of their token vectors."""
    await _extract(context, passages)
    if context.is_embedded_later and not context.joins_windows:
        await context.embedder.embed_documents(
            [text_to_embed(passage.document_title, passage.draft) for passage in passages]
        )
    if context.late_interaction is None:
        return 0
    encoded = await context.late_interaction.encode(
        [
            headed_passage(passage.document_title, passage.draft)
            for passage in passages
            if passage.draft.language == ENCODED_LANGUAGE
        ]
    )
    return sum(map(_count_bytes, encoded))


def _count_bytes(vector: MultiVector) -> int:
    """Return how many bytes are stored for a passage's windows and tokens, the place of a token being about one."""
    return vector.wholes.nbytes + vector.head.nbytes + vector.codes.nbytes + len(vector.places)
