"""`lightwell eval`: asks the questions of a data set in a store of its own, and reports how they were answered."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, TypeVar

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

import lightwell
import lightwell.entrypoints.cli.answer_report as answer_report
import lightwell.entrypoints.cli.comparison as comparison
import lightwell.entrypoints.cli.retrieval_report as retrieval_report
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.comparison_page import write_page
from lightwell.entrypoints.cli.console import errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.saved_results import Json, Measured, read_results, write_results
from lightwell.entrypoints.cli.store import settings
from lightwell.evaluation.asking import AnswerEvaluator, Recorder
from lightwell.evaluation.caching_embedder import CachingEmbedder
from lightwell.evaluation.collection import (
    TAGS,
    CollectionQuestion,
    PublicDocuments,
    is_collection,
    load_collection,
)
from lightwell.evaluation.dataset import Dataset, DatasetQuestion, load_dataset
from lightwell.evaluation.measures import Trial, VariantTrial
from lightwell.evaluation.retrieval_trials import (
    DEV,
    RetrievalEvaluator,
    ablation_variants,
    calibrate,
    recalibrate,
)
from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.ingestion import IngestionResult
from lightwell.ports import Connector
from lightwell.settings import Settings
from lightwell.wiring import delete_project, files, open_knowledge_base

FOLDER = "eval"
"""Folder of all evaluation stores, in the data directory."""

_CODE = frozenset({".py", ".sql", ".md", ".toml"})
_REMOTE = frozenset({"cohere", "jina", "endpoint", "tei"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure; `max_questions` of 0 means all, `split` of "" means every split.

    `page` is where the comparison with the saved results `compare` is written as a page. `documents` is the path of a collection's documents if they are not in `folder`. `cases` is the number of failed
    questions that the text shows.
    """

    folder: Path
    mode: Mode
    look_twice: bool = False
    documents: Path | None = None
    max_questions: int = 0
    split: str = ""
    ablate: bool = False
    calibrate: bool = False
    fresh: bool = False
    cases: int = 10
    save: Path | None = None
    compare: Path | None = None
    page: Path | None = None


async def evaluate(plan: Plan) -> Report:
    """Measure answers on a collection of documents, retrieval on a set of passages."""
    if is_collection(plan.folder):
        for_passages = {"--ablate": plan.ablate, "--calibrate": plan.calibrate}
        why = f"sets of passages (corpus.jsonl); {plan.folder} is a collection of documents"
        _refuse_chosen(for_passages, why)
        return await _evaluate_answers(plan)
    for_collections = {
        "--documents": plan.documents,
        "--look-twice": plan.look_twice,
        "--report": plan.page,
    }
    _refuse_chosen(for_collections, "a collection; this folder has a corpus.jsonl")
    return await _evaluate_passages(plan)


def _refuse_chosen(options: Mapping[str, object], is_for: str) -> None:
    """Raise `Invalid` for the first of these options that was chosen."""
    for option, value in options.items():
        if value:
            raise Invalid(f"{option} is for {is_for}")


# ── a collection of documents: every question is asked as a user asks it ───────────────────────────────


async def _evaluate_answers(plan: Plan) -> Report:
    """Ingest the documents, ask the questions, and report; incomplete if a document could not be read."""
    chosen = settings()
    before = _earlier_answers(plan)
    unpacked = chosen.data.expanduser() / FOLDER / "documents"
    collection = load_collection(plan.folder, unpack_below=unpacked, documents=plan.documents)
    root = collection.root.as_uri()
    dialogues = _sample(_by_dialogue(collection.questions), plan)
    questions = [question for dialogue in dialogues for question in dialogue.questions]
    store = _separate_store(chosen, f"{collection.name} {_hash_of([str(collection.root)])[:16]}")
    console, recorder = errors_console(), Recorder()
    if plan.fresh:
        await _start_afresh(store)
    async with open_knowledge_base(
        store, around=recorder.wrap_embedder, around_model=recorder.wrap_model
    ) as kb:
        documents = PublicDocuments(files(collection.root, TAGS, store))
        ended = await _ingest(kb, documents, "file", console)
        reader = await kb.reader(TAGS)
        evaluator = AnswerEvaluator(
            kb=kb,
            reader=reader,
            mode=plan.mode,
            recorder=recorder,
            look_twice=plan.look_twice,
        )
        trials = [
            await evaluator.trial(question) for question in _with_progress(questions, console)
        ]
        passages = (await kb.documents.status(reader)).chunks
        hashes = [
            document.content_hash async for document in kb.documents.iterate(reader, limit=100_000)
        ]
    model = store.chat.model if store.chat.url else "extracts"
    results = answer_report.AnswerResults(
        measured=Measured(
            version=version("lightwell"),
            code_hash=_code_hash(),
            dataset=collection.name,
            corpus_hash=_hash_of(sorted(hashes)),
            questions_hash=_hash_of(
                "\n".join(
                    (
                        question.text,
                        *sorted(url.removeprefix(root) for url in question.gold),
                        repr(question.groups),
                    )
                )
                for question in questions
            ),
            documents=len(hashes),
            passages=passages,
            questions=len(trials),
            settings=_relevant_settings(store, plan) | {"model": model},
            problems=[f"{problem.url}: {problem.message}" for problem in ended.problems],
        ),
        trials=trials,
        root=root,
    )
    document = answer_report.document(results)
    compared = None if before is None else comparison.compare(before, document)
    if plan.page and compared:
        write_page(plan.page, compared)
    text = answer_report.text(results, compared, cases=plan.cases)
    return _report(plan, document, text, ended)


def _earlier_answers(plan: Plan) -> Json | None:
    """Return the saved results to compare with; raise `Invalid` where they have no answers, before anything is asked."""
    if plan.compare is None:
        if plan.page:
            raise Invalid("--report writes a comparison: name the saved results with --compare")
        return None
    before = read_results(plan.compare)
    if "answers" not in before:
        raise Invalid(f"{plan.compare} has results of a set of passages, not of a collection")
    return before


@dataclass(frozen=True, slots=True)
class _Dialogue:
    """Questions that are asked one after the other in one conversation; a question of no dialogue is alone."""

    questions: Sequence[CollectionQuestion]

    @property
    def split(self) -> str:
        return self.questions[0].split


def _by_dialogue(questions: Iterable[CollectionQuestion]) -> list[_Dialogue]:
    dialogues: dict[str, list[CollectionQuestion]] = {}
    for question in questions:
        dialogues.setdefault(question.dialogue or f"alone {question.id}", []).append(question)
    return [_Dialogue(several) for several in dialogues.values()]


# ── a set of passages: each question is asked with and without the passages that answer it ──────────────


async def _evaluate_passages(plan: Plan) -> Report:
    """Ingest the set, ask its questions, and report; incomplete if a passage could not be read."""
    dataset = load_dataset(plan.folder)
    questions = _sample(dataset.questions, plan)
    if plan.calibrate and all(question.split != DEV for question in questions):
        raise Invalid(f"--calibrate needs questions of the split {DEV!r}")
    before = read_results(plan.compare) if plan.compare else None
    store = _store_without_chat(settings(), dataset, plan)
    console = errors_console()
    if plan.fresh:
        await _start_afresh(store)
    async with open_knowledge_base(store, around=CachingEmbedder) as kb:
        ended = await _ingest(kb, dataset, "eval", console)
        everybody = await kb.reader(dataset.tags)  # its tags are known only now
        readers = {
            question.fold: await kb.reader(dataset.tags_without(question.fold))
            for question in questions
        }
        evaluator = RetrievalEvaluator(kb=kb, mode=plan.mode, everybody=everybody, without=readers)
        trials, variants = await _ask_variants(evaluator, questions, plan, console)
        passages = (await kb.documents.status(everybody)).chunks
    calibration = calibrate(trials) if plan.calibrate else None
    results = retrieval_report.RetrievalResults(
        measured=Measured(
            version=version("lightwell"),
            code_hash=_code_hash(),
            dataset=dataset.name,
            corpus_hash=dataset.corpus_hash,
            questions_hash=_hash_of(
                f"{question.text}\n{sorted(question.gold)}" for question in questions
            ),
            documents=len(dataset.documents),
            passages=passages,
            questions=len(trials),
            settings=_relevant_settings(store, plan),
            problems=[f"{problem.url}: {problem.message}" for problem in ended.problems],
        ),
        trials=[recalibrate(trial, calibration) for trial in trials] if calibration else trials,
        variants=variants,
        calibration=calibration,
    )
    text = retrieval_report.text(results, before)
    return _report(plan, retrieval_report.document(results), text, ended)


async def _ask_variants(
    evaluator: RetrievalEvaluator,
    questions: Sequence[DatasetQuestion],
    plan: Plan,
    console: Console,
) -> tuple[list[Trial], dict[str, list[VariantTrial]]]:
    variants = ablation_variants(plan.mode) if plan.ablate else ()
    trials: list[Trial] = []
    by_variant: dict[str, list[VariantTrial]] = {variant.name: [] for variant in variants}
    pairs = [(variant, question) for variant in (None, *variants) for question in questions]
    for variant, question in _with_progress(pairs, console):
        if variant is None:
            trials.append(await evaluator.trial(question))
        else:
            by_variant[variant.name].append(await evaluator.variant_trial(question, variant))
    return trials, by_variant


def _store_without_chat(settings: Settings, dataset: Dataset, plan: Plan) -> Settings:
    """Return the user's settings without a chat model, so that no chat call is paid for."""
    if plan.calibrate and settings.questions.rerank not in _REMOTE:
        raise Invalid(
            "--calibrate is for a reranker at an endpoint: set LIGHTWELL_RERANK. The bundled one's weights stand in"
            " weights.toml beside the code, with the command that fits them"
        )
    uncalibrated = {"reranker.scale": 1.0, "reranker.shift": 0.0, "reranker.min_score": 0.0}
    store = _separate_store(settings, dataset.corpus_hash).with_values({"chat.url": None})
    return store.with_values(uncalibrated) if plan.calibrate else store


# ── both ──────────────────────────────────────────────────────────────────────────────────────────────


class _HasSplit(Protocol):
    @property
    def split(self) -> str: ...


_T = TypeVar("_T")
_Question = TypeVar("_Question", bound=_HasSplit)


def _sample(questions: Sequence[_Question], plan: Plan) -> list[_Question]:
    """Return the plan's number of questions of the split, spread over the set; raise `Invalid` if there is none."""
    of_split = [question for question in questions if plan.split in ("", question.split)]
    if not of_split:
        splits = {question.split for question in questions if question.split}
        raise Invalid(
            f"There is no question of the split {plan.split!r}; there are: {', '.join(sorted(splits)) or 'none'}"
        )
    most = min(plan.max_questions or len(of_split), len(of_split))
    return [of_split[place * len(of_split) // most] for place in range(most)]


def _separate_store(settings: Settings, documents: str) -> Settings:
    """Return settings of a store that is separate from the user's, one for these documents and this embedder."""
    embedder = settings.embedding.model if settings.embedding.url else "local"
    project = f"{documents} by {embedder} {settings.embedding.dimension or ''}".strip()
    apart = {
        "data": settings.data / FOLDER,
        "database_url": None,
        "tenant": "eval",
        "project": project,
        "ingestion.extraction": "rules",
    }
    return settings.with_values(apart)


def _relevant_settings(store: Settings, plan: Plan) -> dict[str, str]:
    """Return the settings that results depend on."""
    return {
        "mode": plan.mode.value + (", looking twice" if plan.look_twice else ""),
        "fusion": store.questions.fusion.value,
        "embedder": store.embedding.model if store.embedding.url else "local",
        "reranker": store.reranker.model or store.questions.rerank,
    }


async def _start_afresh(store: Settings) -> None:
    """Delete the project of an earlier evaluation, and with it the embedding model that it began with."""
    with suppress(NotFound):
        await delete_project(store)


async def _ingest(
    kb: KnowledgeBase, connector: Connector, system: str, console: Console
) -> IngestionResult:
    """Ingest the documents, with progress."""
    with show_progress(console) as progress:
        return await kb.ingestion.ingest(
            connector,
            system,
            on_start=progress.start,
            on_outcome=progress.advance,
            progress=progress.progress,
        )


def _with_progress(questions: Sequence[_T], console: Console) -> Iterator[_T]:
    """Yield the questions, and show how many are asked."""
    bar = Progress(
        TextColumn("Asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    if not console.is_terminal:
        console.print(Text(f"Asking {len(questions)} times"))
    with bar:
        yield from bar.track(questions)


def _report(plan: Plan, document: Json, text: RenderableType, ended: IngestionResult) -> Report:
    if plan.save:
        write_results(plan.save, document)
    return Report(
        document=document, text=text, code=Exit.INCOMPLETE if ended.problems else Exit.FINE
    )


def _code_hash() -> str:
    """Return the hash of Lightwell's code, prompts and weights, which distinguishes two states of one version."""
    root = Path(lightwell.__file__).parent
    paths = sorted(path for path in root.rglob("*") if path.suffix in _CODE)
    return _hash_of(
        f"{path.relative_to(root).as_posix()}\n{path.read_text('utf-8')}" for path in paths
    )


def _hash_of(parts: Iterable[str]) -> str:
    """Return the SHA-256 of the parts in order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
