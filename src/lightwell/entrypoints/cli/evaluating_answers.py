"""`lightwell eval` on a collection of documents: every question is asked as a user asks it."""

from collections.abc import Sequence
from importlib.metadata import version

from rich.console import Console

import lightwell.entrypoints.cli.answer_report as report
from lightwell.entrypoints.cli.answer_report import AnswerResults
from lightwell.entrypoints.cli.console import errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.evaluation_run import (
    FOLDER,
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
from lightwell.entrypoints.cli.saved_results import read_results, write_results
from lightwell.entrypoints.cli.store import settings
from lightwell.evaluation.answers import AnswerTrial
from lightwell.evaluation.asking import AnswerEvaluator, Recorder
from lightwell.evaluation.collection import (
    TAGS,
    Collection,
    CollectionQuestion,
    PublicDocuments,
    load_collection,
)
from lightwell.settings import Settings
from lightwell.wiring import files, open_knowledge_base


async def evaluate_answers(plan: Plan) -> Report:
    """Ingest the documents, ask the questions, and report; incomplete if a document could not be read."""
    chosen = settings()
    before = read_results(plan.compare) if plan.compare else None
    unpacked = chosen.data.expanduser() / FOLDER / "documents"
    collection = load_collection(plan.folder, unpack_below=unpacked, documents=plan.documents)
    questions = sample(collection.questions, plan)
    own = own_store(chosen, f"{collection.name} {hash_of([str(collection.root)])[:16]}")
    console, recorder = errors_console(), Recorder()
    if plan.fresh:
        await start_afresh(own)
    async with open_knowledge_base(
        own, around=recorder.wrap_embedder, around_model=recorder.wrap_model
    ) as kb:
        documents = PublicDocuments(files(collection.root, TAGS, own))
        source = Source(connector=documents, system="file", tags=TAGS)
        ended = await ingest(kb, source, console)
        reader = await kb.reader(TAGS)
        evaluator = AnswerEvaluator(kb=kb, reader=reader, mode=plan.mode, recorder=recorder)
        trials = await _ask_all(evaluator, questions, console)
        held = await kb.documents.status(reader)
        hashes = [each.content_hash async for each in kb.documents.iterate(reader, limit=100_000)]
    measured = AnswerResults(
        version=version("lightwell"),
        code_hash=code_hash(),
        dataset=collection.name,
        corpus_hash=hash_of(sorted(hashes)),
        questions_hash=_questions_hash(questions, collection),
        documents=len(hashes),
        passages=held.chunks,
        settings=relevant_settings(own, plan) | {"model": _model(own)},
        trials=trials,
        root=collection.root.as_uri(),
        problems=[f"{each.url}: {each.message}" for each in ended.problems],
    )
    document = report.document(measured)
    if plan.save:
        write_results(plan.save, document)
    return Report(
        document=document,
        text=report.text(measured, before, cases=plan.cases),
        code=Exit.INCOMPLETE if ended.problems else Exit.FINE,
    )


async def _ask_all(
    evaluator: AnswerEvaluator, questions: Sequence[CollectionQuestion], console: Console
) -> list[AnswerTrial]:
    trials: list[AnswerTrial] = []
    with asking_progress(console, len(questions)) as done:
        for each in questions:
            trials.append(await evaluator.trial(each))
            done()
    return trials


def _questions_hash(questions: Sequence[CollectionQuestion], collection: Collection) -> str:
    root = collection.root.as_uri()
    return hash_of(
        "\n".join(
            (each.text, *sorted(url.removeprefix(root) for url in each.gold), repr(each.groups))
        )
        for each in questions
    )


def _model(own: Settings) -> str:
    return own.chat.model if own.chat.url else "extracts"
