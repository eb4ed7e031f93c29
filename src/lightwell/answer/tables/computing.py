"""Computes over the rows that the reader sees: what a question asks of tables, as lines that cite each row."""

from collections.abc import Mapping, Sequence

from lightwell.answer.answer_builder import AnswerBuilder
from lightwell.answer.quotes import SupportedSentence, make_quote
from lightwell.answer.tables.question import read_question
from lightwell.answer.tables.reading import Refusal, phrases_of, read_computation
from lightwell.answer.tables.wording import MOST_CITED, MOST_GROUPS, computed_lines, why_not
from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Computation, Evidence, QuotedRow, Retrieval
from lightwell.domain.ids import ChunkId
from lightwell.domain.questions import Mode, Question
from lightwell.domain.tables import Computing, RowPlace
from lightwell.records import search, tables
from lightwell.records.database import Database
from lightwell.records.tables import Result

COMPUTED = 0.9
"""The relevance of what was computed: of the questions in `tests/flow/test_tables.py` all but the stated ones are read right."""

_MOST_CITED_OF_GROUP = 5


async def find_computation(
    database: Database, reader: Reader, question: Question
) -> Computation | None:
    """Return what rows of tables come to, where the question asks for it, or why that cannot be said; None for another question.

    It costs nothing where no word asks for a computation, one query where no table knows all words, and three where something is computed.
    """
    if question.mode is Mode.BYPASS:
        return None
    wish = read_question(question.text)
    if wish is None:
        return None
    words = sorted({word.key for word in wish.words})
    candidates = await tables.find_tables(
        database, reader, words, phrases_of(wish), question.filters
    )
    computing = read_computation(wish, candidates)
    if computing is None:
        return None
    if isinstance(computing, Refusal):
        return Computation(refusal=computing.reason)
    results = await tables.compute(
        database,
        reader,
        computing,
        most_places=MOST_CITED if computing.group is None else _MOST_CITED_OF_GROUP,
        most_groups=MOST_GROUPS + 1,
    )
    if reason := why_not(computing, results):
        return Computation(refusal=reason)
    headers = tuple(table.header for table in computing.tables[:MOST_CITED])
    results = results or [Result(places=headers)]
    wanted = {place.chunk for result in results for place in result.places}
    wanted |= {table.header.chunk for table in computing.tables}
    chunks = await search.get_chunks(database, reader, list(wanted))
    if not wanted <= chunks.keys():  # hidden or replaced since it was computed
        return None
    lines = [
        line
        for result in results
        if (rows := _quoted(chunks, computing, result))
        for line in computed_lines(computing, result, rows, _uncited(chunks, computing, rows))
    ]
    return Computation(lines=tuple(lines)) if lines else None


def computed_answer(retrieval: Retrieval, computation: Computation) -> Answer:
    """Return the answer that states what was computed, or why nothing was."""
    builder = AnswerBuilder(retrieval=retrieval)
    builder.add(
        SupportedSentence(
            text=line.text,
            quotes=tuple(make_quote(row.evidence, row.start, row.end) for row in line.rows),
            context="\n".join(row.text for row in line.rows),
        )
        for line in computation.lines
    )
    remarks = (computation.refusal,) if computation.refusal else ()
    return builder.finish(None, relevance=0.0 if remarks else COMPUTED, remarks=remarks)


def _quoted(
    chunks: Mapping[ChunkId, Chunk], computing: Computing, result: Result
) -> tuple[QuotedRow, ...]:
    return tuple(
        _quote(chunks[place.chunk], computing.tables[0].columns, place) for place in result.places
    )


def _uncited(
    chunks: Mapping[ChunkId, Chunk], computing: Computing, rows: Sequence[QuotedRow]
) -> tuple[QuotedRow, ...]:
    """Return the header of a table of each document that none of the rows is of: what is kept of the answer goes with each document that it is made of."""
    cited = {row.evidence.chunk.document_id for row in rows}
    headers = {
        table.document: table.header
        for table in reversed(computing.tables)
        if table.document not in cited
    }
    columns = computing.tables[0].columns
    return tuple(_quote(chunks[place.chunk], columns, place) for place in headers.values())


def _quote(chunk: Chunk, columns: Sequence[str], place: RowPlace) -> QuotedRow:
    start = place.start - chunk.locator.start
    pairs = zip(columns, place.cells, strict=False)
    return QuotedRow(
        evidence=Evidence(chunk=chunk, relevance=COMPUTED, score=0.0, cosine_distance=None),
        start=start,
        end=min(start + place.end - place.start, len(chunk.text)),
        text="; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell),
    )
