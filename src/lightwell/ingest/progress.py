"""What ingestion reports while it runs: the progress within one document, and the outcome of its job."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.ids import DocumentId
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.jobs.queue import Claim


class Step(StrEnum):
    """The step that a document is in. Embedding and extracting count chunks; parsing counts nothing."""

    PARSING = "parsing"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of one step within one document: `done` of `total` chunks."""

    url: str
    step: Step
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOutcome:
    """The result of one document's job; `error` is "" on success. `omitted` counts chunks that were left out,
    `unknown_predicates` relations that became RELATED_TO.
    """

    url: str
    chunks: int
    error: str
    omitted: int = 0
    unknown_predicates: int = 0


class ProgressCounter:
    """Counts how many chunks of each document have passed a step, and reports it."""

    def __init__(
        self,
        report: Callable[[Progress], None],
        step: Step,
        batch: Sequence[Claim],
        chunks: Sequence[StagedChunk],
    ) -> None:
        self._report = report
        self._step = step
        self._urls = {claim.document_id: claim.url for claim in batch}
        self._total = Counter(chunk.document_id for chunk in chunks)
        self._done = Counter[DocumentId]()

    def add(self, part: Sequence[StagedChunk]) -> None:
        self._done.update(chunk.document_id for chunk in part)
        for document_id in dict.fromkeys(chunk.document_id for chunk in part):
            progress = Progress(
                url=self._urls[document_id],
                step=self._step,
                done=self._done[document_id],
                total=self._total[document_id],
            )
            self._report(progress)
