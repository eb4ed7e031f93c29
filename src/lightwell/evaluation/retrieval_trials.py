"""Asks a data set's questions, with and without the passages that answer them, and measures each."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lightwell.domain.access import Reader
from lightwell.domain.calibration import Calibration, fit_calibration
from lightwell.domain.evidence import Retrieval
from lightwell.domain.questions import Channel, Mode
from lightwell.evaluation.dataset import DatasetQuestion
from lightwell.evaluation.measures import QuestionTime, Trial, VariantTrial, relevances
from lightwell.knowledge_base import KnowledgeBase

DEV = "dev"
"""The split that calibration uses."""

_SHOWN, _DEEPEST = 5, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A variant of retrieval: another mode, or without some channels."""

    name: str
    mode: Mode
    without: frozenset[Channel] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalEvaluator:
    """One reader sees all documents, and one for each fold none of those that answer its questions."""

    kb: KnowledgeBase
    mode: Mode
    everybody: Reader
    without: Mapping[int, Reader]

    async def trial(self, question: DatasetQuestion) -> Trial:
        """Search four times: as usual, with remembered vectors, with a higher limit, and without the answering passages."""
        shown, wall, cpu = await self._timed_search(question)
        _, bare_wall, bare_cpu = await self._timed_search(question)
        deep = await self._search(question, self.everybody, limit=_DEEPEST)
        gone = None
        if question.gold:
            gone = await self._search(question, self.without[question.fold], limit=_SHOWN)
        return Trial(
            kind=question.kind,
            split=question.split,
            gold=question.gold,
            found=_documents(deep),
            best=shown.best_relevance,
            best_without=gone.best_relevance if gone else None,
            took=QuestionTime(wall=wall, cpu=cpu, bare_wall=bare_wall, bare_cpu=bare_cpu),
        )

    async def variant_trial(self, question: DatasetQuestion, variant: Variant) -> VariantTrial:
        """Search in a variant, and return only the documents found."""
        shown = await self.kb.questions.search(
            question.text,
            self.everybody,
            limit=_DEEPEST,
            mode=variant.mode,
            without=variant.without,
        )
        return VariantTrial(gold=question.gold, found=_documents(shown))

    async def _timed_search(self, question: DatasetQuestion) -> tuple[Retrieval, float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        shown = await self._search(question, self.everybody, limit=_SHOWN)
        return (
            shown,
            1000 * (time.perf_counter() - wall),
            1000 * (time.process_time() - cpu),
        )

    async def _search(self, question: DatasetQuestion, reader: Reader, *, limit: int) -> Retrieval:
        return await self.kb.questions.search(question.text, reader, limit=limit, mode=self.mode)


def ablation_variants(mode: Mode) -> tuple[Variant, ...]:
    """Return the variants of an ablation: without each channel of the mode, then each mode."""
    channels = [channel for channel in Channel if channel in mode.channels]
    modes = [mode for mode in Mode if mode is not Mode.BYPASS]
    return (
        *(
            Variant(name=f"without {channel}", mode=mode, without=frozenset({channel}))
            for channel in channels
        ),
        *(Variant(name=f"mode {mode}", mode=mode) for mode in modes),
    )


def calibrate(trials: Iterable[Trial]) -> Calibration:
    """Return the calibration that best separates answerable from unanswerable dev questions by their best scores."""
    answerable, unanswerable = relevances(trial for trial in trials if trial.split == DEV)
    return fit_calibration(
        [*((score, True) for score in answerable), *((score, False) for score in unanswerable)]
    )


def recalibrate(trial: Trial, calibration: Calibration) -> Trial:
    """Return the trial with its relevances under this calibration."""
    gone = trial.best_without
    return replace(
        trial,
        best=calibration.relevance(trial.best),
        best_without=None if gone is None else calibration.relevance(gone),
    )


def _documents(retrieval: Retrieval) -> tuple[str, ...]:
    return tuple(dict.fromkeys(passage.chunk.url for passage in retrieval.evidence))
