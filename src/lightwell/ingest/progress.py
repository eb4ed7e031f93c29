"""What ingestion reports while it runs: the progress within one document, and the outcome of its job."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lightwell.domain.ids import DocumentId
from lightwell.domain.pace import Pace
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.jobs.queue import Claim


class Step(StrEnum):
    """The step that a document is in. All but parsing count chunks. `VECTORS` comes after the document's job: the second stage."""

    PARSING = "parsing"
    EMBEDDING = "embedding"
    EXTRACTING = "extracting"
    VECTORS = "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of one step within one document: `done` of `total` chunks, `moved` of which since the report before."""

    url: str
    step: Step
    done: int
    total: int
    moved: int = 0


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
        moved = Counter(chunk.document_id for chunk in part)
        self._done.update(moved)
        for document_id in moved:
            progress = Progress(
                url=self._urls[document_id],
                step=self._step,
                done=self._done[document_id],
                total=self._total[document_id],
                moved=moved[document_id],
            )
            self._report(progress)


@dataclass(slots=True)
class _Passed:
    """What is known of a step: in how many documents it was seen, how many passages those have, and how many have passed it."""

    documents: int = 0
    passages: int = 0
    done: int = 0


@dataclass(slots=True)
class IngestPace:
    """How fast passages go through the steps of a stage, and how long the rest of it takes.

    Each step is measured by itself. In the first stage a document that was not seen in a step yet counts as an average one. In the
    second one, which begins with a report of each document, all is known.
    """

    _pace: Pace = field(default_factory=Pace)
    _steps: dict[Step, _Passed] = field(default_factory=dict[Step, _Passed])
    _seen: dict[tuple[str, Step], Progress] = field(
        default_factory=dict[tuple[str, Step], Progress]
    )

    def note(self, progress: Progress, now: float) -> None:
        """Take in what was reported at this time, in seconds of any clock."""
        self._pace.begin(now)
        if not progress.total:
            return
        passed = self._steps.setdefault(progress.step, _Passed())
        key = (progress.url, progress.step)
        before = self._seen.get(key)
        if before is None:
            passed.documents += 1
        done, total = (0, 0) if before is None else (before.done, before.total)
        self._seen[key] = progress
        passed.passages += progress.total - total
        passed.done += progress.done - done
        if progress.moved:
            self._pace.move(progress.step, progress.moved, now)
        elif progress.step is Step.VECTORS:
            self._pace.restart(now)

    def rest(self, documents: int) -> dict[str, float]:
        """Return how many passages have yet to pass each step of the stage, of so many documents in all."""
        if (second := self._steps.get(Step.VECTORS)) is not None:
            return {Step.VECTORS: second.passages - second.done}
        return {
            step: passed.passages
            - passed.done
            + max(0, documents - passed.documents) * passed.passages / passed.documents
            for step, passed in self._steps.items()
        }

    @property
    def read(self) -> tuple[int, int] | None:
        """How many passages have their vectors, of how many; None in the first stage."""
        second = self._steps.get(Step.VECTORS)
        return None if second is None else (second.done, second.passages)

    def seconds_left(self, documents: int, now: float) -> float | None:
        """Return how long the rest of so many documents takes, None where that is not known yet."""
        return self._pace.seconds_left(self.rest(documents), now) if self._steps else None

    def per_minute(self, documents: int, now: float) -> float | None:
        """Return how many passages a minute pass all steps that have a rest, None where that is not known yet."""
        rates = [
            self._pace.rate(step, now) for step, left in self.rest(documents).items() if left > 0
        ]
        if not rates or None in rates:
            return None
        return 60 / sum(1 / rate for rate in rates if rate)
