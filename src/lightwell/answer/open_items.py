"""Answers to "What is open with X?" from business systems: the open items about what belongs to X."""

from dataclasses import replace

from lightwell.answer.brief.items import list_open_lines, mark_parts
from lightwell.answer.open_points import CUES
from lightwell.answer.owed import MAX_OWED, STATED_RELEVANCE, find_subjects
from lightwell.domain.access import Reader
from lightwell.domain.evidence import Commitment, Retrieval
from lightwell.records.database import Database
from lightwell.records.graph import entity_passages


async def find_open_items(database: Database, reader: Reader, retrieval: Retrieval) -> Retrieval:
    """Return the retrieval with what is open with what the question names, the earliest deadline first; unchanged where no system knows that name.

    With filters it stays as it is, too: what they leave is looked for among the passages that were found.
    """
    filters = retrieval.question.filters
    if filters.topic or filters.are_by_document:
        return retrieval
    names, subjects = await find_subjects(database, reader, retrieval)
    if not names:
        return retrieval
    ids = list(dict.fromkeys(entity for subject in subjects for entity in subject))
    passages = await entity_passages.list_passages(database, reader, ids, CUES)
    owed = tuple(
        Commitment(
            evidence=replace(line.quote.evidence, relevance=STATED_RELEVANCE),
            start=line.quote.start,
            end=line.quote.end,
            text=line.text,
            due=line.due,
        )
        for line in list_open_lines(mark_parts(passages))[:MAX_OWED]
    )
    return replace(retrieval, owed=owed)
