"""Reports the progress of a step, document by document."""

from collections import Counter
from collections.abc import Sequence

from lightwell.domain.ids import DocumentId
from lightwell.ingest.context import IngestContext
from lightwell.ingest.progress import Progress, Step
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.jobs.queue import Claim


class ProgressCounter:
    """Counts how many chunks of each document have passed a step, and reports it."""

    def __init__(
        self,
        context: IngestContext,
        step: Step,
        batch: Sequence[Claim],
        chunks: Sequence[StagedChunk],
    ) -> None:
        self._progress = context.progress
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
            self._progress(progress)
