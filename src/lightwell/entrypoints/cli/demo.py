"""`demo`: ingests the documents of an example company and syncs its business systems, and asks four questions as two people each."""

from collections.abc import Sequence
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.operations.questions as operations
from lightwell.domain.answers import Answer, Confidence
from lightwell.domain.business_systems import SourceCounts
from lightwell.entrypoints.cli.console import clean, errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import open_store_project, settings
from lightwell.world import DEMO, DOCUMENTS, PEOPLE, Question

if TYPE_CHECKING:
    from lightwell.entrypoints.cli.demo_systems import DemoAnswer, SystemsResult
    from lightwell.ingest.sync import SyncResult
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.knowledge_base.ingestion import IngestionResult
    from lightwell.settings import Settings


demo = single_command()


_NEXT = (
    "Next, with documents of your own: `lightwell ingest FOLDER --acl team:us`, "
    'then `lightwell ask "…" --as team:us`.'
)

_RULE = "─" * 72
_SYSTEMS = (
    "The same company in three business systems, which stand-ins on this machine play. Each person sees"
    " what their accounts there show."
)


@command(demo, "demo", "lightwell demo", "lightwell demo --json")
async def run_demo() -> Report:
    """Ingest an example company's documents, sync its business systems, and ask four questions as two people each.

    It uses a separate directory, needs no key, and does not touch your projects. The exit code is 1 if a document
    or an item could not be read or an answer was wrong.
    """
    from lightwell.entrypoints.cli.demo_systems import ask, show_systems
    from lightwell.testing.example_company import ExampleCompany

    chosen = temporary_store(settings())
    async with open_store_project(chosen, open_source=ExampleCompany().open) as kb:
        ended = await _ingest(kb, chosen)
        answers = [
            await ask(
                kb,
                await kb.reader(PEOPLE[who].tags),
                question.text,
                who=(who, f"{PEOPLE[who].name}, {PEOPLE[who].role}"),
                check=partial(check_answer, question, who),
            )
            for question, *both in DEMO
            for who in both
        ]
        systems = await show_systems(kb)
    return _report(ended, answers, systems)


async def ingest_example_company(chosen: "Settings") -> None:
    """Ingest the example company's documents and business systems into this store, which is created where there is none.

    Links across the systems are proposed for people to review. Nothing is synced any more.
    """
    from lightwell.entrypoints.cli.demo_systems import sync_systems
    from lightwell.testing.example_company import ExampleCompany

    company = ExampleCompany(is_for_review=True)
    async with open_store_project(chosen, open_source=company.open) as kb:
        await _ingest(kb, chosen)
        await sync_systems(kb)


async def _ingest(kb: "KnowledgeBase", chosen: "Settings") -> "IngestionResult":
    from lightwell.wiring import files

    console = errors_console()
    console.print(Text(f"Ingesting the documents of Halden Instruments, into {chosen.data}"))
    with show_progress(console) as progress:
        return await kb.ingestion.ingest(
            files(DOCUMENTS, frozenset(), chosen),
            on_start=progress.start,
            on_outcome=progress.advance,
            progress=progress.progress,
        )


def temporary_store(settings: "Settings") -> "Settings":
    """Return settings that leave the user's store alone: an embedded server, separate data and project, no endpoint."""
    apart = {
        "data": settings.data / "demo",
        "database_url": None,
        "tenant": "demo",
        "project": f"demo of {DOCUMENTS}",
        "embedding.url": None,
        "chat.url": None,
        "ingestion.extraction": "rules",
    }
    return settings.with_values(apart)


def check_answer(question: Question, who: str, answer: Answer) -> str:
    """Return how the answer differs from what the example world expects, "" if it does not."""
    is_insufficient = answer.confidence is Confidence.INSUFFICIENT
    if who not in question.may_answer:
        return "" if is_insufficient else "there should be no answer for this person"
    if is_insufficient:
        return f"the answer should say {question.answer!r}"
    text = " ".join([answer.text, *(citation.snippet for citation in answer.citations)])
    is_stated = question.answer in " ".join(text.split())
    return "" if is_stated else f"neither the answer nor its citations say {question.answer!r}"


def _report(
    ended: "IngestionResult", answers: Sequence["DemoAnswer"], systems: "SystemsResult"
) -> Report:
    problems = [f"{problem.url}: {problem.message}" for problem in ended.problems]
    problems += [f"{answer.who}: {answer.wrong}" for answer in answers if answer.wrong]
    problems += [
        f"{system}: {counts.unreadable} items could not be read"
        for system, counts in systems.counts.items()
        if counts.unreadable
    ]
    problems += [
        f"{answer.person.partition(',')[0]}: {answer.wrong}"
        for answer in systems.answers
        if answer.wrong
    ]
    questions = [
        {"as": answer.who, **operations.Answer.model_validate(answer.answer).to_document()}
        for answer in (*answers, *systems.answers)
    ]
    return Report(
        document={
            "documents": _counts(ended.found),
            "systems": {system: _counts(counts) for system, counts in systems.counts.items()},
            "links": systems.links,
            "questions": questions,
            "problems": problems,
        },
        text=_text(ended, answers, systems, problems),
        code=Exit.INCOMPLETE if problems else Exit.FINE,
    )


def _counts(result: "SyncResult | SourceCounts") -> dict[str, int]:
    new, changed = (
        (result.inserted, result.updated)
        if isinstance(result, SourceCounts)
        else (result.new, result.changed)
    )
    return {"new": new, "changed": changed, "unchanged": result.unchanged}


def _text(
    ended: "IngestionResult",
    answers: Sequence["DemoAnswer"],
    systems: "SystemsResult",
    problems: Sequence[str],
) -> RenderableType:
    lines: list[RenderableType] = [Text(f"Documents: {_counts_text(ended.found)}")]
    for question, same in groupby(answers, key=lambda answer: answer.question):
        lines.append(Text(f"\n{_RULE}\n{question}", style="bold"))
        lines += chain.from_iterable(map(_answer_lines, same))
    lines.append(Text(f"\n{_RULE}\n{_SYSTEMS}"))
    lines += [
        Text(f"  {system.capitalize()}: {_counts_text(counts)}")
        for system, counts in systems.counts.items()
    ]
    lines.append(Text(f"  Links across them that are certain, and confirmed: {systems.links}"))
    lines.append(Text(f"\n{systems.answers[0].question}", style="bold"))
    lines += chain.from_iterable(map(_answer_lines, systems.answers))
    lines.append(Text(f"\n{_RULE}"))
    lines.extend(Text(f"Problem: {clean(problem)}", style="red") for problem in problems)
    lines.append(Text(_NEXT))
    return Group(*lines)


def _answer_lines(answer: "DemoAnswer") -> list[RenderableType]:
    return [
        Text(f"\n  {answer.person}, asks:", style="cyan"),
        Padding(text_output.answer(operations.Answer.model_validate(answer.answer)), (0, 0, 0, 4)),
    ]


def _counts_text(result: "SyncResult | SourceCounts") -> str:
    return ", ".join(f"{count} {word}" for word, count in _counts(result).items())
