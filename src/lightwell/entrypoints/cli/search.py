"""`search`: lists the passages that are relevant to a question; `keywords`: shows a question's keywords."""

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.operations.searches as operations
from lightwell.domain import questions
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import fields
from lightwell.entrypoints.cli.costs import with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import (
    Limit,
    Question,
    SearchMode,
    SearchWhere,
    Topic,
)
from lightwell.entrypoints.cli.progress import question_meter
from lightwell.entrypoints.cli.registration import QuestionCommand, command, single_command
from lightwell.entrypoints.cli.store import open_store_project, settings_of_store
from lightwell.entrypoints.operations.questions import ANY_DOCUMENT, DocumentFilters

search = single_command()
keywords = single_command()


@command(
    search,
    "search",
    'lightwell search "discount" --as team:sales',
    'lightwell search "discount" --as team:sales --topic contracts --limit 10',
    'lightwell search "leak" --as team:support --system linear --since 2026-01-01',
    cls=QuestionCommand,
)
async def search_passages(
    question: Question,
    *,
    asker: Asker,
    topic: Topic = "",
    only: DocumentFilters = ANY_DOCUMENT,
    limit: Limit = 5,
    mode: SearchWhere = SearchMode.MIX,
) -> Report:
    """List the passages that are relevant to a question, best first."""
    questions.require_retrieval_mode(
        questions.Question(
            text=question, filters=only.with_topic(topic), limit=limit, mode=mode.mode
        )
    )
    passages = await asker(
        operations.search_passages,
        question,
        top_k=limit,
        topic_filter=topic,
        filters=only,
        mode=mode.mode,
    )
    return Report(document=passages, text=lambda: text_output.passages(passages))


@command(
    keywords,
    "keywords",
    'lightwell keywords "What discount does Nordwind receive?"',
    'lightwell keywords "What discount does Nordwind receive?" --json',
    cls=QuestionCommand,
)
async def show_keywords(question: Question) -> Report:
    """Show a question's keywords: themes find relations, names and terms find entities."""
    meter = question_meter()
    async with open_store_project(settings_of_store(), meter) as kb:
        made = await kb.questions.keywords(question, await kb.reader(()))
    shown = operations.Keywords.model_validate(made)
    rows = [
        ("themes", ", ".join(shown.high_level_keywords)),
        ("names and terms", ", ".join(shown.low_level_keywords)),
        ("by", "the chat model" if shown.by_model else "the question's own words"),
    ]
    return with_costs(Report(document=shown, text=fields(rows)), meter)
