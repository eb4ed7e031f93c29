"""`demo`: ingests the documents of an example company, and asks three questions as two people each."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.answers import Answer, Confidence
from lightwell.entrypoints.cli.console import clean, errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.groups import command, single_command
from lightwell.entrypoints.cli.progress import show_progress
from lightwell.entrypoints.cli.store import open_project, settings
from lightwell.world import DEMO, DOCUMENTS, PEOPLE, Question

if TYPE_CHECKING:
    from lightwell.knowledge_base import Ingestion, KnowledgeBase
    from lightwell.settings import Settings


demo = single_command()


_NEXT = (
    "Next, with documents of your own: `lightwell ingest FOLDER --acl team:us`, "
    'then `lightwell ask "…" --as team:us`.'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """One person's question and its answer; `wrong` says what is wrong with it, "" if nothing is."""

    question: Question
    who: str
    answer: Answer
    milliseconds: int
    wrong: str


@command(demo, "demo", "lightwell demo", "lightwell demo --json")
async def run_demo() -> Report:
    """Ingest the documents of an example company and ask three questions as two people each.

    It uses a separate directory, needs no key, and does not touch your projects. The exit code is 1 if a document
    could not be read or an answer was wrong.
    """
    chosen = temporary_store(settings())
    async with open_project(chosen) as kb:
        ended = await _ingest(kb, chosen)
        asked = [await _ask(kb, question, who) for question, *both in DEMO for who in both]
    return _report(ended, asked)


async def ingest_example_company(chosen: "Settings") -> None:
    """Ingest the example company's documents into this store, which is created where there is none."""
    async with open_project(chosen) as kb:
        await _ingest(kb, chosen)


async def _ingest(kb: "KnowledgeBase", chosen: "Settings") -> "Ingestion":
    from lightwell.wiring import files

    console = errors_console()
    console.print(Text(f"Ingesting the documents of Halden Instruments, into {chosen.data}"))
    with show_progress(console) as progress:
        return await kb.ingest(
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
        "embedding_url": None,
        "chat_url": None,
        "extraction": "rules",
    }
    return settings.model_copy(update=apart)


def check_answer(question: Question, who: str, answer: Answer) -> str:
    """Return how the answer differs from what the example world expects, "" if it does not."""
    is_insufficient = answer.confidence is Confidence.INSUFFICIENT
    if who not in question.may_answer:
        return "" if is_insufficient else "there should be no answer for this person"
    if is_insufficient:
        return f"the answer should say {question.answer!r}"
    said = " ".join([answer.text, *(cited.snippet for cited in answer.citations)])
    is_said = question.answer in " ".join(said.split())
    return "" if is_said else f"neither the answer nor its citations say {question.answer!r}"


async def _ask(kb: "KnowledgeBase", question: Question, who: str) -> DemoResult:
    began = time.perf_counter()
    answer = await kb.ask(question.text, await kb.reader(PEOPLE[who].tags))
    return DemoResult(
        question=question,
        who=who,
        answer=answer,
        milliseconds=round((time.perf_counter() - began) * 1000),
        wrong=check_answer(question, who, answer),
    )


def _report(ended: "Ingestion", results: Sequence[DemoResult]) -> Report:
    troubles = [f"{trouble.url}: {trouble.message}" for trouble in ended.problems]
    problems = [*troubles, *(f"{each.who}: {each.wrong}" for each in results if each.wrong)]
    questions = [
        {"as": each.who, **json_output.answer(each.answer, milliseconds=each.milliseconds)}
        for each in results
    ]
    return Report(
        document={"documents": _documents(ended), "questions": questions, "problems": problems},
        text=_text(ended, results, problems),
        code=Exit.INCOMPLETE if problems else Exit.FINE,
    )


def _documents(ended: "Ingestion") -> dict[str, int]:
    found = ended.found
    return {"new": found.new, "changed": found.changed, "unchanged": found.unchanged}


def _text(
    ended: "Ingestion", results: Sequence[DemoResult], problems: Sequence[str]
) -> RenderableType:
    counts = ", ".join(f"{count} {word}" for word, count in _documents(ended).items())
    lines: list[RenderableType] = [Text(f"Documents: {counts}")]
    previous = ""
    for each in results:
        if each.question.text != previous:
            previous = each.question.text
            lines.append(Text(f"\n{'─' * 72}\n{previous}", style="bold"))
        person = PEOPLE[each.who]
        lines.append(Text(f"\n  {person.name}, {person.role}, asks:", style="cyan"))
        lines.append(Padding(text_output.answer(each.answer), (0, 0, 0, 4)))
    lines.append(Text("\n" + "─" * 72))
    lines.extend(Text(f"Problem: {clean(problem)}", style="red") for problem in problems)
    lines.append(Text(_NEXT))
    return Group(*lines)
