"""Computes over the rows that the reader sees, and says what they come to: one sentence that cites each row."""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from lightwell.answer.answer_builder import AnswerBuilder
from lightwell.answer.quotes import SupportedSentence, make_quote
from lightwell.answer.tables.question import asks_for_computation, read_question
from lightwell.answer.tables.reading import Refusal, phrases_of, read_computation
from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Computation, Evidence, QuotedRow, Retrieval
from lightwell.domain.ids import ChunkId
from lightwell.domain.questions import Mode, Question
from lightwell.domain.tables import Aggregate, Computing, RowPlace
from lightwell.records import search, tables
from lightwell.records.database import Database
from lightwell.records.tables import Result
from lightwell.text.tables.cells import DAY

MOST_CITED = 20
"""Rows that are cited, the first in the order of their documents; the sentence says how many there are."""

COMPUTED = 0.9
"""The relevance of what was computed: of the questions in `tests/flow/test_tables.py` all but the stated ones are read right."""

_MOST_TOLD = 3
"""Rows that are told in full where they are what is asked for, as in "Which deal has the highest amount?"."""

_SIGNS = {"eur": "€", "usd": "$", "gbp": "£"}
_WORDS = {
    Aggregate.SUM: "total of",
    Aggregate.MEAN: "average of",
    Aggregate.MOST: "highest",
    Aggregate.LEAST: "lowest",
}


async def find_computation(
    database: Database, reader: Reader, question: Question
) -> Computation | None:
    """Return what rows of tables come to, where the question asks for it, or why that cannot be said; None for another question.

    It costs nothing where no word asks for a computation, one query where no table knows all words, and three where something is computed.
    """
    if question.mode is Mode.BYPASS or not asks_for_computation(question.text):
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
    result = await tables.compute(database, reader, computing, most_places=MOST_CITED)
    if reason := _why_not(computing, result):
        return Computation(refusal=reason)
    places = result.places or tuple(table.header for table in computing.tables[:MOST_CITED])
    chunks = await search.get_chunks(database, reader, list({place.chunk for place in places}))
    rows = tuple(_quoted(chunks, computing, place) for place in places if place.chunk in chunks)
    is_list = computing.aggregate is Aggregate.LIST and bool(result.places)
    if not rows:
        return None
    text = _sentence(computing, result)
    if computing.aggregate in (Aggregate.MOST, Aggregate.LEAST) and len(rows) <= _MOST_TOLD:
        text = "\n".join((f"{text[:-1]}:", *(f"- {row.text}" for row in rows)))
    return Computation(text=text, rows=rows, is_list=is_list)


def computed_answer(retrieval: Retrieval, computation: Computation) -> Answer:
    """Return the answer that states what was computed, or why nothing was."""
    builder = AnswerBuilder(retrieval=retrieval)
    builder.add(_sentences(computation))
    remarks = (computation.refusal,) if computation.refusal else ()
    return builder.finish(None, relevance=0.0 if remarks else COMPUTED, remarks=remarks)


def _sentences(computation: Computation) -> list[SupportedSentence]:
    quotes = [make_quote(row.evidence, row.start, row.end) for row in computation.rows]
    if not quotes:
        return []
    if computation.is_list:
        return [
            SupportedSentence(text=row.text, quotes=(quote,))
            for row, quote in zip(computation.rows, quotes, strict=True)
        ]
    context = "\n".join(row.text for row in computation.rows)
    return [SupportedSentence(text=computation.text, quotes=tuple(quotes), context=context)]


def _quoted(chunks: Mapping[ChunkId, Chunk], computing: Computing, place: RowPlace) -> QuotedRow:
    chunk = chunks[place.chunk]
    pairs = zip(computing.tables[0].columns, place.cells, strict=False)
    start = place.start - chunk.locator.start
    return QuotedRow(
        evidence=Evidence(chunk=chunk, relevance=COMPUTED, score=0.0, cosine_distance=None),
        start=start,
        end=min(start + place.end - place.start, len(chunk.text)),
        text="; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell),
    )


def _why_not(computing: Computing, result: Result) -> str:
    if result.is_twice and computing.aggregate is not Aggregate.LIST:
        return f"The same rows stand in several tables ({_called(computing)}): name the one that you mean."
    if computing.aggregate in (Aggregate.COUNT, Aggregate.LIST):
        return ""
    column = computing.tables[0].columns[computing.place]
    if len(result.units) > 1:
        units = " and ".join(_SIGNS.get(unit, unit.upper()) for unit in result.units)
        return f"“{column}” is in {units}, which are not added up or compared."
    if result.value is None:
        where = _where(computing)
        return f"No row{where} of {_called(computing)} has a figure in “{column}”."
    return ""


def _sentence(computing: Computing, result: Result) -> str:
    cited = "" if result.chosen <= MOST_CITED else f" (the first {MOST_CITED} are cited)"
    if computing.aggregate in (Aggregate.COUNT, Aggregate.LIST):
        if not computing.conditions:
            return f"{_called(computing)} has {_rows(result.rows)}{cited}."
        match = "match" if result.rows > 1 else "matches"
        count = _rows(result.rows) if result.rows else "No row"
        return f"{count} of {_called(computing)} {match}{cited}: {_conditions(computing)}."
    column = computing.tables[0].columns[computing.place]
    unit = result.units[0] if result.units else ""
    value = result.value or Decimal()
    figure = _figure(_rounded(value) if computing.aggregate is Aggregate.MEAN else value, unit)
    lacking = result.rows - result.amounts
    without = f"; {_rows(lacking)} without a figure" if lacking else ""
    return (
        f"The {_WORDS[computing.aggregate]} {column}{_where(computing)} is {figure},"
        f" in {_rows(result.chosen)} of {_called(computing)}{cited}{without}."
    )


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _where(computing: Computing) -> str:
    return f" where {_conditions(computing)}" if computing.conditions else ""


def _conditions(computing: Computing) -> str:
    return " and ".join(condition.text for condition in computing.conditions)


def _called(computing: Computing) -> str:
    names = list(dict.fromkeys(table.title or table.url for table in computing.tables))
    shown = [f"“{name}”" for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _figure(value: Decimal, unit: str) -> str:
    if unit == DAY:
        digits = f"{int(value):08}"
        return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
    whole = value.to_integral_value()
    shown = f"{abs(whole if whole == value else value.normalize()):,f}"
    minus = "-" if value < 0 else ""
    if unit in _SIGNS:
        return f"{minus}{_SIGNS[unit]}{shown}"
    after = {"": "", "percent": "%"}.get(unit, f" {unit if len(unit) > 3 else unit.upper()}")
    return f"{minus}{shown}{after}"


def _rounded(value: Decimal) -> Decimal:
    """Return an average to two decimals, a small one to four digits."""
    places = max(2, 3 - value.adjusted()) if value else 0
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN)
