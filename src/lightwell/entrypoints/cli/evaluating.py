"""`lightwell eval`: a set's passages come in, and each question is asked with and without what answers it."""

import hashlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

import lightwell
import lightwell.entrypoints.cli.results as results
from lightwell.domain.access import Reader
from lightwell.domain.calibration import Calibration, fit_calibration
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Retrieval
from lightwell.domain.questions import Channel, Mode
from lightwell.entrypoints.cli.edge import Exit, Report, errors_console, settings
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.results import EvaluationRun, Results
from lightwell.evaluation.dataset import Dataset, DatasetQuestion, load_dataset
from lightwell.evaluation.measures import QuestionTime, Trial, relevances
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Embedder, Vectors
from lightwell.settings import Settings
from lightwell.wiring import open_knowledge_base

_SHOWN, _DEEPEST = 5, 10
_DEV = "dev"
_MAX_REMEMBERED = 50_000
_CODE = frozenset({".py", ".sql", ".md", ".toml"})
_REMOTE = frozenset({"cohere", "jina", "endpoint", "tei"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be measured; 0 `max_questions` are all, "" is every split."""

    folder: Path
    mode: Mode
    max_questions: int = 0
    split: str = ""
    ablate: bool = False
    calibrate: bool = False
    fresh: bool = False
    save: Path | None = None
    compare: Path | None = None


@dataclass(slots=True)
class CachingEmbedder:
    """The embedder, asked once for each text: what it gave is given again at once."""

    inner: Embedder
    _known: dict[str, Vectors] = field(default_factory=dict[str, Vectors])

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in order."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._known]
        if unknown:
            self._known.update(zip(unknown, await self.inner.documents(unknown), strict=True))
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        vectors = np.stack([self._known[text] for text in texts])
        for text in list(self._known)[: max(0, len(self._known) - _MAX_REMEMBERED)]:
            del self._known[text]
        return vectors

    async def query(self, text: str) -> Vectors:
        """Return the question's vector, shape (1, dimension)."""
        key = f"?{text}"
        if key not in self._known:
            self._known[key] = await self.inner.query(text)
        return self._known[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """Who asks: one reader sees all documents, one for each fold none of those that answer its questions."""

    kb: KnowledgeBase
    mode: Mode
    everybody: Reader
    without: Mapping[int, Reader]

    async def trial(self, question: DatasetQuestion) -> Trial:
        """Ask four times: as it is, from remembered vectors, deeper, and without what answers."""
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
            best=shown.best,
            best_without=gone.best if gone else None,
            took=QuestionTime(wall=wall, cpu=cpu, bare_wall=bare_wall, bare_cpu=bare_cpu),
        )

    async def retrieve(
        self, question: DatasetQuestion, mode: Mode, without: frozenset[Channel]
    ) -> EvaluationRun:
        """Ask in another way, and return only what was found."""
        shown = await self.kb.search(
            question.text, self.everybody, limit=_DEEPEST, mode=mode, without=without
        )
        return EvaluationRun(gold=question.gold, found=_documents(shown))

    async def _timed_search(self, question: DatasetQuestion) -> tuple[Retrieval, float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        shown = await self._search(question, self.everybody, limit=_SHOWN)
        return (
            shown,
            1000 * (time.perf_counter() - wall),
            1000 * (time.process_time() - cpu),
        )

    async def _search(self, question: DatasetQuestion, reader: Reader, *, limit: int) -> Retrieval:
        return await self.kb.search(question.text, reader, limit=limit, mode=self.mode)


async def evaluate(plan: Plan) -> Report:
    """Bring the set in, ask its questions, and report; incomplete when a passage could not be read."""
    dataset = load_dataset(plan.folder)
    questions = _sample(dataset.questions, plan)
    before = results.read(plan.compare) if plan.compare else None
    own = _temporary_store(settings(), dataset, plan)
    console = errors_console()
    async with open_knowledge_base(own, around=CachingEmbedder) as kb:
        if plan.fresh:
            await _empty_store(kb, await kb.reader(dataset.tags))
        with show_progress(console) as progress:
            ended = await kb.ingest(
                dataset,
                "eval",
                on_start=progress.start,
                on_outcome=progress.advance,
                progress=progress.progress,
            )
        everybody = await kb.reader(dataset.tags)  # its tags are known only now
        readers = {
            each.fold: await kb.reader(dataset.tags_without(each.fold)) for each in questions
        }
        examiner = Evaluator(kb=kb, mode=plan.mode, everybody=everybody, without=readers)
        trials, ways = await _run_questions(examiner, questions, plan, console)
        passages = (await kb.status(everybody)).chunks
    calibration = _calibration(trials) if plan.calibrate else None
    measured = Results(
        version=version("lightwell"),
        code_hash=_hash_of_code(),
        dataset=dataset.name,
        corpus_hash=dataset.corpus_hash,
        questions_hash=_hash([f"{each.text}\n{sorted(each.gold)}" for each in questions]),
        documents=len(dataset.documents),
        passages=passages,
        settings=_relevant_settings(own, plan),
        trials=[_recalibrated(each, calibration) for each in trials] if calibration else trials,
        variants=ways,
        calibration=calibration,
        problems=[f"{each.url}: {each.message}" for each in ended.problems],
    )
    document = results.document(measured)
    if plan.save:
        results.write(plan.save, document)
    return Report(
        document=document,
        text=results.text(measured, before),
        code=Exit.INCOMPLETE if ended.problems else Exit.FINE,
    )


async def _run_questions(
    examiner: Evaluator, questions: Sequence[DatasetQuestion], plan: Plan, console: Console
) -> tuple[list[Trial], dict[str, list[EvaluationRun]]]:
    ways = _variants(plan)
    with _bar(console, len(questions) * (1 + len(ways))) as done:
        trials: list[Trial] = []
        for each in questions:
            trials.append(await examiner.trial(each))
            done()
        found: dict[str, list[EvaluationRun]] = {}
        for name, (mode, without) in ways.items():
            found[name] = []
            for each in questions:
                found[name].append(await examiner.retrieve(each, mode, without))
                done()
    return trials, found


def _hash_of_code() -> str:
    """Return what tells two states of Lightwell of one version apart: the hash of its code, prompts and weights."""
    root = Path(lightwell.__file__).parent
    files = sorted(each for each in root.rglob("*") if each.suffix in _CODE)
    return _hash(
        [f"{each.relative_to(root).as_posix()}\n{each.read_text('utf-8')}" for each in files]
    )


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _variants(plan: Plan) -> dict[str, tuple[Mode, frozenset[Channel]]]:
    """Return in which other ways to ask, by what they are called in the results."""
    if not plan.ablate:
        return {}
    others = [mode for mode in Mode if mode is not Mode.BYPASS]
    left_out = [channel for channel in Channel if channel in plan.mode.channels]
    return {
        **{f"without {each}": (plan.mode, frozenset({each})) for each in left_out},
        **{f"mode {each}": (each, frozenset[Channel]()) for each in others},
    }


def _sample(questions: Sequence[DatasetQuestion], plan: Plan) -> list[DatasetQuestion]:
    """Return at most so many questions of the split, spread over the set, whose kinds may stand together."""
    held = [each for each in questions if plan.split in ("", each.split)]
    if not held:
        splits = ", ".join(sorted({each.split for each in questions if each.split})) or "none"
        raise Invalid(f"There is no question of the split {plan.split!r}; there are: {splits}")
    if plan.calibrate and all(each.split != _DEV for each in held):
        raise Invalid(f"--calibrate needs questions of the split {_DEV!r}")
    most = min(plan.max_questions or len(held), len(held))
    return [held[place * len(held) // most] for place in range(most)]


def _temporary_store(settings: Settings, dataset: Dataset, plan: Plan) -> Settings:
    """Return settings that touch nothing of the user's and pay for no chat; embedder and reranker are the user's."""
    if plan.calibrate and settings.rerank not in _REMOTE:
        raise Invalid(
            "--calibrate is for a reranker at an endpoint: set LIGHTWELL_RERANK. The bundled one's weights stand in"
            " weights.toml beside the code, with the command that fits them"
        )
    embedder = settings.embedding_model if settings.embedding_url else "local"
    apart = {
        "data": settings.data / "eval",
        "database_url": None,
        "tenant": "eval",
        "project": f"{dataset.corpus_hash} by {embedder} {settings.embedding_dimension or ''}".strip(),
        "chat_url": None,
        "extraction": "rules",
    }
    as_given = {"rerank_scale": 1.0, "rerank_shift": 0.0, "rerank_min_score": 0.0}
    return settings.model_copy(update=apart | (as_given if plan.calibrate else {}))


def _relevant_settings(own: Settings, plan: Plan) -> dict[str, str]:
    """Return the settings that results depend on."""
    return {
        "mode": plan.mode.value,
        "fusion": own.fusion.value,
        "embedder": own.embedding_model if own.embedding_url else "local",
        "reranker": own.rerank_model or own.rerank,
    }


async def _empty_store(kb: KnowledgeBase, everybody: Reader) -> None:
    while held := [each.url async for each in kb.documents(everybody, limit=500)]:
        await kb.erase(everybody, held)


def _documents(retrieval: Retrieval) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.chunk.url for each in retrieval.evidence))


def _calibration(trials: Iterable[Trial]) -> Calibration:
    """Return the calibration under which the dev questions' best scores say whether they were answerable."""
    answerable, unanswerable = relevances(each for each in trials if each.split == _DEV)
    return fit_calibration(
        [*((score, True) for score in answerable), *((score, False) for score in unanswerable)]
    )


def _recalibrated(trial: Trial, calibration: Calibration) -> Trial:
    gone = trial.best_without
    return replace(
        trial,
        best=calibration.relevance(trial.best),
        best_without=None if gone is None else calibration.relevance(gone),
    )


@contextmanager
def _bar(console: Console, total: int) -> Generator[Callable[[], None]]:
    """Show how far the asking is; what is yielded tells that one more is done."""
    bar = Progress(
        TextColumn("Asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    if not console.is_terminal:
        console.print(Text(f"Asking {total} times"))
    with bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
