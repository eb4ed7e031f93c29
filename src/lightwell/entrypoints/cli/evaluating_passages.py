"""`lightwell eval` on a set of passages: each question is asked with and without the passages that answer it."""

from collections.abc import Sequence
from importlib.metadata import version

from rich.console import Console

import lightwell.entrypoints.cli.retrieval_report as report
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.evaluation_run import (
    Plan,
    Source,
    asking_progress,
    code_hash,
    hash_of,
    ingest,
    own_store,
    relevant_settings,
    sample,
    start_afresh,
)
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.retrieval_report import RetrievalResults
from lightwell.entrypoints.cli.saved_results import read_results, write_results
from lightwell.entrypoints.cli.store import settings
from lightwell.evaluation.caching_embedder import CachingEmbedder
from lightwell.evaluation.dataset import Dataset, DatasetQuestion, load_dataset
from lightwell.evaluation.measures import Trial, VariantTrial
from lightwell.evaluation.retrieval_trials import (
    DEV,
    RetrievalEvaluator,
    ablation_variants,
    calibrate,
    recalibrate,
)
from lightwell.settings import Settings
from lightwell.wiring import open_knowledge_base

_REMOTE = frozenset({"cohere", "jina", "endpoint", "tei"})


async def evaluate_passages(plan: Plan) -> Report:
    """Ingest the set, ask its questions, and report; incomplete if a passage could not be read."""
    dataset = load_dataset(plan.folder)
    questions = sample(dataset.questions, plan)
    if plan.calibrate and all(each.split != DEV for each in questions):
        raise Invalid(f"--calibrate needs questions of the split {DEV!r}")
    before = read_results(plan.compare) if plan.compare else None
    own = _store(settings(), dataset, plan)
    console = errors_console()
    if plan.fresh:
        await start_afresh(own)
    async with open_knowledge_base(own, around=CachingEmbedder) as kb:
        source = Source(connector=dataset, system="eval", tags=dataset.tags)
        ended = await ingest(kb, source, console)
        everybody = await kb.reader(dataset.tags)  # its tags are known only now
        readers = {
            each.fold: await kb.reader(dataset.tags_without(each.fold)) for each in questions
        }
        evaluator = RetrievalEvaluator(kb=kb, mode=plan.mode, everybody=everybody, without=readers)
        trials, variants = await _ask_all(evaluator, questions, plan, console)
        passages = (await kb.documents.status(everybody)).chunks
    calibration = calibrate(trials) if plan.calibrate else None
    measured = RetrievalResults(
        version=version("lightwell"),
        code_hash=code_hash(),
        dataset=dataset.name,
        corpus_hash=dataset.corpus_hash,
        questions_hash=hash_of(f"{each.text}\n{sorted(each.gold)}" for each in questions),
        documents=len(dataset.documents),
        passages=passages,
        settings=relevant_settings(own, plan),
        trials=[recalibrate(each, calibration) for each in trials] if calibration else trials,
        variants=variants,
        calibration=calibration,
        problems=[f"{each.url}: {each.message}" for each in ended.problems],
    )
    document = report.document(measured)
    if plan.save:
        write_results(plan.save, document)
    return Report(
        document=document,
        text=report.text(measured, before),
        code=Exit.INCOMPLETE if ended.problems else Exit.FINE,
    )


async def _ask_all(
    evaluator: RetrievalEvaluator,
    questions: Sequence[DatasetQuestion],
    plan: Plan,
    console: Console,
) -> tuple[list[Trial], dict[str, list[VariantTrial]]]:
    variants = ablation_variants(plan.mode) if plan.ablate else ()
    with asking_progress(console, len(questions) * (1 + len(variants))) as done:
        trials: list[Trial] = []
        for each in questions:
            trials.append(await evaluator.trial(each))
            done()
        found: dict[str, list[VariantTrial]] = {}
        for variant in variants:
            found[variant.name] = []
            for each in questions:
                found[variant.name].append(await evaluator.variant_trial(each, variant))
                done()
    return trials, found


def _store(settings: Settings, dataset: Dataset, plan: Plan) -> Settings:
    """Return the user's settings without a chat model, so that no chat call is paid for."""
    if plan.calibrate and settings.questions.rerank not in _REMOTE:
        raise Invalid(
            "--calibrate is for a reranker at an endpoint: set LIGHTWELL_RERANK. The bundled one's weights stand in"
            " weights.toml beside the code, with the command that fits them"
        )
    uncalibrated = {"reranker.scale": 1.0, "reranker.shift": 0.0, "reranker.min_score": 0.0}
    own = own_store(settings, dataset.corpus_hash).with_values({"chat.url": None})
    return own.with_values(uncalibrated) if plan.calibrate else own
