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
from lightwell.connectors.datasets import Dataset, DatasetQuestion, load
from lightwell.domain.access import Reader
from lightwell.domain.calibration import Calibration, fitted
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Retrieval
from lightwell.domain.measures import Took, Trial, relevances
from lightwell.domain.questions import Channel, Mode
from lightwell.entrypoints.cli.edge import Exit, Report, errors_console, settings
from lightwell.entrypoints.cli.progress import following
from lightwell.entrypoints.cli.results import Found, Results
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Embedder, Vectors
from lightwell.settings import Settings
from lightwell.wiring import opened

_SHOWN, _DEEPEST = 5, 10
_DEV = "dev"
_MOST_REMEMBERED = 50_000
_CODE = frozenset({".py", ".sql", ".md", ".toml"})
_REMOTE = frozenset({"cohere", "jina", "endpoint", "tei"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be measured; 0 `most_questions` are all, "" is every split."""

    folder: Path
    mode: Mode
    most_questions: int = 0
    split: str = ""
    ablate: bool = False
    calibrate: bool = False
    fresh: bool = False
    save: Path | None = None
    compare: Path | None = None


@dataclass(slots=True)
class Remembering:
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
        for text in list(self._known)[: max(0, len(self._known) - _MOST_REMEMBERED)]:
            del self._known[text]
        return vectors

    async def query(self, text: str) -> Vectors:
        """Return the question's vector, shape (1, dimension)."""
        key = f"?{text}"
        if key not in self._known:
            self._known[key] = await self.inner.query(text)
        return self._known[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examiner:
    """Who asks: one reader sees all documents, one for each fold none of those that answer its questions."""

    kb: KnowledgeBase
    mode: Mode
    everybody: Reader
    without: Mapping[int, Reader]

    async def trial(self, asked: DatasetQuestion) -> Trial:
        """Ask four times: as it is, from remembered vectors, deeper, and without what answers."""
        shown, wall, cpu = await self._timed(asked)
        _, bare_wall, bare_cpu = await self._timed(asked)
        deep = await self._search(asked, self.everybody, limit=_DEEPEST)
        gone = None
        if asked.gold:
            gone = await self._search(asked, self.without[asked.fold], limit=_SHOWN)
        return Trial(
            kind=asked.kind,
            split=asked.split,
            gold=asked.gold,
            found=_documents(deep),
            best=shown.best,
            best_without=gone.best if gone else None,
            took=Took(wall=wall, cpu=cpu, bare_wall=bare_wall, bare_cpu=bare_cpu),
        )

    async def found(self, asked: DatasetQuestion, mode: Mode, without: frozenset[Channel]) -> Found:
        """Ask in another way, and return only what was found."""
        shown = await self.kb.search(
            asked.text, self.everybody, limit=_DEEPEST, mode=mode, without=without
        )
        return Found(gold=asked.gold, found=_documents(shown))

    async def _timed(self, asked: DatasetQuestion) -> tuple[Retrieval, float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        shown = await self._search(asked, self.everybody, limit=_SHOWN)
        return (
            shown,
            1000 * (time.perf_counter() - wall),
            1000 * (time.process_time() - cpu),
        )

    async def _search(self, asked: DatasetQuestion, reader: Reader, *, limit: int) -> Retrieval:
        return await self.kb.search(asked.text, reader, limit=limit, mode=self.mode)


async def evaluate(plan: Plan) -> Report:
    """Bring the set in, ask its questions, and report; incomplete when a passage could not be read."""
    dataset = load(plan.folder)
    questions = _chosen(dataset.questions, plan)
    before = results.read(plan.compare) if plan.compare else None
    own = _of_its_own(settings(), dataset, plan)
    console = errors_console()
    async with opened(own, around=Remembering) as kb:
        if plan.fresh:
            await _emptied(kb, await kb.reader(dataset.tags))
        with following(console) as progress:
            ended = await kb.ingest(
                dataset,
                "eval",
                begun=progress.begun,
                tell=progress.tell,
                progress=progress.progress,
            )
        everybody = await kb.reader(dataset.tags)  # its tags are known only now
        readers = {
            each.fold: await kb.reader(dataset.tags_without(each.fold)) for each in questions
        }
        examiner = Examiner(kb=kb, mode=plan.mode, everybody=everybody, without=readers)
        trials, ways = await _asked(examiner, questions, plan, console)
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
        settings=_that_matter(own, plan),
        trials=[_recalibrated(each, calibration) for each in trials] if calibration else trials,
        ways=ways,
        calibration=calibration,
        troubles=[f"{each.url}: {each.message}" for each in ended.troubles],
    )
    document = results.document(measured)
    if plan.save:
        results.write(plan.save, document)
    return Report(
        document=document,
        text=results.text(measured, before),
        code=Exit.INCOMPLETE if ended.troubles else Exit.FINE,
    )


async def _asked(
    examiner: Examiner, questions: Sequence[DatasetQuestion], plan: Plan, console: Console
) -> tuple[list[Trial], dict[str, list[Found]]]:
    ways = _ways(plan)
    with _bar(console, len(questions) * (1 + len(ways))) as done:
        trials: list[Trial] = []
        for each in questions:
            trials.append(await examiner.trial(each))
            done()
        found: dict[str, list[Found]] = {}
        for name, (mode, without) in ways.items():
            found[name] = []
            for each in questions:
                found[name].append(await examiner.found(each, mode, without))
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


def _ways(plan: Plan) -> dict[str, tuple[Mode, frozenset[Channel]]]:
    """Return in which other ways to ask, by what they are called in the results."""
    if not plan.ablate:
        return {}
    others = [mode for mode in Mode if mode is not Mode.BYPASS]
    left_out = [channel for channel in Channel if channel in plan.mode.channels]
    return {
        **{f"without {each}": (plan.mode, frozenset({each})) for each in left_out},
        **{f"mode {each}": (each, frozenset[Channel]()) for each in others},
    }


def _chosen(asked: Sequence[DatasetQuestion], plan: Plan) -> list[DatasetQuestion]:
    """Return at most so many questions of the split, spread over the set, whose kinds may stand together."""
    held = [each for each in asked if plan.split in ("", each.split)]
    if not held:
        splits = ", ".join(sorted({each.split for each in asked if each.split})) or "none"
        raise Invalid(f"There is no question of the split {plan.split!r}; there are: {splits}")
    if plan.calibrate and all(each.split != _DEV for each in held):
        raise Invalid(f"--calibrate needs questions of the split {_DEV!r}")
    most = min(plan.most_questions or len(held), len(held))
    return [held[place * len(held) // most] for place in range(most)]


def _of_its_own(chosen: Settings, dataset: Dataset, plan: Plan) -> Settings:
    """Return settings that touch nothing of the user's and pay for no chat; embedder and reranker are the user's."""
    if plan.calibrate and chosen.rerank not in _REMOTE:
        raise Invalid(
            "--calibrate is for a reranker at an endpoint: set LIGHTWELL_RERANK. The bundled one's weights stand in"
            " weights.toml beside the code, with the command that fits them"
        )
    embedder = chosen.embedding_model if chosen.embedding_url else "local"
    apart = {
        "data": chosen.data / "eval",
        "database_url": None,
        "tenant": "eval",
        "project": f"{dataset.corpus_hash} by {embedder} {chosen.embedding_dimension or ''}".strip(),
        "chat_url": None,
        "extraction": "rules",
    }
    as_given = {"rerank_scale": 1.0, "rerank_shift": 0.0, "rerank_min_score": 0.0}
    return chosen.model_copy(update=apart | (as_given if plan.calibrate else {}))


def _that_matter(own: Settings, plan: Plan) -> dict[str, str]:
    """Return the settings that results depend on."""
    return {
        "mode": plan.mode.value,
        "fusion": own.fusion.value,
        "embedder": own.embedding_model if own.embedding_url else "local",
        "reranker": own.rerank_model or own.rerank,
    }


async def _emptied(kb: KnowledgeBase, everybody: Reader) -> None:
    while held := [each.url async for each in kb.documents(everybody, limit=500)]:
        await kb.erase(everybody, held)


def _documents(found: Retrieval) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.chunk.url for each in found.evidence))


def _calibration(trials: Iterable[Trial]) -> Calibration:
    """Return the calibration under which the dev questions' best scores say whether they were answerable."""
    answerable, unanswerable = relevances(each for each in trials if each.split == _DEV)
    return fitted(
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
