"""`search`: lists the passages that are relevant to a question; `keywords`: shows the keywords for the graph search."""

import time

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.questions import make_question, require_retrieval_mode
from lightwell.entrypoints.cli.console import fields, milliseconds_since
from lightwell.entrypoints.cli.costs import report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import (
    As,
    Limit,
    Question,
    SearchMode,
    SearchWhere,
    Server,
    Topic,
)
from lightwell.entrypoints.cli.progress import question_meter
from lightwell.entrypoints.cli.registration import QuestionCommand, command, single_command
from lightwell.entrypoints.cli.remote import choose_server, search_server
from lightwell.entrypoints.cli.store import open_as, open_store_project, settings_of_store

search = single_command()
keywords = single_command()


@command(
    search,
    "search",
    'lightwell search "discount" --as team:sales',
    'lightwell search "discount" --as team:sales --topic contracts --limit 10',
    cls=QuestionCommand,
)
async def search_passages(
    question: Question,
    *,
    who: As = None,
    server: Server = None,
    topic: Topic = "",
    limit: Limit = 5,
    mode: SearchWhere = SearchMode.MIX,
) -> Report:
    """List the passages that are relevant to a question, best first."""
    require_retrieval_mode(make_question(question, topic=topic, limit=limit, mode=mode.mode))
    if login := choose_server(server, who):
        return await search_server(question, login, topic=topic, limit=limit, mode=mode.mode)
    meter = question_meter()
    async with open_as(who, meter) as (kb, reader):
        began = time.perf_counter()
        found = await kb.questions.search(
            question, reader, topic=topic, limit=limit, mode=mode.mode
        )
        document = json_output.retrieval(found, milliseconds=milliseconds_since(began))
    return report_with_costs(meter, document, text_output.retrieval(found))


@command(
    keywords,
    "keywords",
    'lightwell keywords "What discount does Nordwind receive?"',
    'lightwell keywords "What discount does Nordwind receive?" --json',
    cls=QuestionCommand,
)
async def show_keywords(
    question: Question,
) -> Report:
    """Show a question's keywords: themes find relations, names and terms find entities."""
    meter = question_meter()
    async with open_store_project(settings_of_store(), meter) as kb:
        found = await kb.questions.keywords(question, await kb.reader(()))
    rows = [
        ("themes", ", ".join(found.high)),
        ("names and terms", ", ".join(found.low)),
        ("by", "the chat model" if found.by_model else "the question's own words"),
    ]
    return report_with_costs(meter, json_output.keywords(found), fields(rows))
