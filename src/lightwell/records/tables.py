"""Computing over rows of tables that a reader sees: which tables a question may mean, and what their rows come to."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import LiteralString
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId, DocumentId
from lightwell.domain.questions import Filters
from lightwell.domain.tables import Computing, RowPlace, Table, Value
from lightwell.records import chunk_layout
from lightwell.records.database import Database
from lightwell.records.filters import matches_filters

MOST_TABLES = 60
"""Tables that share words with a question, those that share most first."""

_MOST_VALUES = 200

# A row of a table counts where the reader sees the chunk in which it begins.
_SEEN: LiteralString = """
JOIN document_chunks AS chunk ON chunk.chunk_id = line.chunk_id AND sees(%(classes)s, chunk.class_id)
JOIN source_documents AS document ON document.document_id = line.document_id AND NOT document.is_deleted
    AND document.project_id = %(project_id)s
"""

_NAMED = f"""
WITH header AS (
    SELECT line.*, document.title, document.source_url, document.omitted_chunks, chunk.layout,
           document.format IN ('spreadsheet', 'csv') AS is_whole,
           cardinality(ARRAY(SELECT unnest(line.words) INTERSECT SELECT unnest(%(words)s::text[]))) AS shared
    FROM table_rows AS line {_SEEN}
    WHERE line.row_number = 0 AND line.words && %(words)s::text[] AND {matches_filters("line.chunk_id")}
    ORDER BY shared DESC, document.source_url COLLATE "C", document.document_id, line.table_number LIMIT %(most)s
)
SELECT document_id, table_number, chunk_id, start_offset, end_offset, title, source_url, layout, is_whole, omitted_chunks > 0, cells, keys, units,
       ARRAY(
           SELECT DISTINCT ON (cell.place, cell.key) json_build_array(cell.place, cell.key, cell.text)::text
           FROM table_rows AS line {_SEEN}
           CROSS JOIN LATERAL unnest(line.keys, line.cells) WITH ORDINALITY AS cell (key, text, place)
           WHERE line.document_id = header.document_id AND line.table_number = header.table_number AND line.row_number > 0
             AND line.keys && %(phrases)s::text[] AND cell.key = ANY(%(phrases)s::text[])
           ORDER BY cell.place, cell.key, cell.text COLLATE "C" LIMIT %(most_values)s)
FROM header ORDER BY shared DESC, source_url COLLATE "C", document_id, table_number
"""  # noqa: S608 - only our own words

_COMPUTED = f"""
WITH matched AS MATERIALIZED (
    SELECT line.chunk_id, line.start_offset, line.end_offset, line.cells, line.document_id, line.table_number, line.row_number,
           document.source_url, coalesce(line.keys[%(group)s], '') AS part, line.cells[%(group)s] AS named, line.amounts[%(place)s] AS amount, line.units[%(place)s] AS unit
    FROM unnest(%(documents)s::uuid[], %(tables)s::integer[]) AS asked (document_id, table_number)
    JOIN table_rows AS line USING (document_id, table_number) {_SEEN}
    WHERE line.row_number > 0 AND NOT line.is_total AND NOT EXISTS (
        SELECT FROM json_to_recordset(%(conditions)s::json) AS wanted (place integer, keys text[], span text, unit text)
        WHERE NOT coalesce(CASE WHEN wanted.span IS NULL THEN line.keys[wanted.place] = ANY(wanted.keys)
                           ELSE wanted.span::numrange @> line.amounts[wanted.place]
                                AND (wanted.unit = '' OR line.units[wanted.place] IN ('', wanted.unit)) END, false))
), shared AS (
    SELECT document_id, table_number, min(document_id::text || table_number) OVER same <> max(document_id::text || table_number) OVER same AS is_shared
    FROM matched WINDOW same AS (PARTITION BY cells)
), figure AS (
    SELECT part, min(named COLLATE "C") AS named, count(*) AS rows, count(amount) AS amounts, sum(amount) AS sum, avg(amount) AS mean, max(amount) AS most, min(amount) AS least,
           coalesce(array_agg(DISTINCT unit COLLATE "C") FILTER (WHERE amount IS NOT NULL AND unit <> ''), '{{}}') AS units,
           EXISTS (SELECT FROM shared GROUP BY document_id, table_number HAVING 2 * count(*) FILTER (WHERE is_shared) >= count(*)) AS is_twice
    FROM matched GROUP BY part
), chosen AS (
    SELECT matched.*, row_number() OVER (
        PARTITION BY part ORDER BY source_url COLLATE "C", document_id, table_number, row_number) AS rank
    FROM matched JOIN figure USING (part)
    WHERE figure.amounts = 0 OR CASE %(aggregate)s WHEN 'most' THEN amount = figure.most WHEN 'least' THEN amount = figure.least
          WHEN 'sum' THEN amount IS NOT NULL WHEN 'mean' THEN amount IS NOT NULL ELSE true END
)
SELECT coalesce(figure.named, ''), figure.rows, figure.amounts,
       CASE %(aggregate)s WHEN 'sum' THEN figure.sum WHEN 'mean' THEN figure.mean WHEN 'most' THEN figure.most WHEN 'least' THEN figure.least
                          ELSE figure.rows END,
       figure.units, figure.is_twice, (SELECT count(*) FROM chosen WHERE chosen.part = figure.part),
       ARRAY(SELECT json_build_array(chunk_id, start_offset, end_offset, cells)::text FROM chosen
             WHERE chosen.part = figure.part AND rank <= %(most)s ORDER BY rank)
FROM figure ORDER BY figure.part COLLATE "C" LIMIT %(most_groups)s
"""  # noqa: S608 - only our own words


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a computation comes to, for rows of one `group` where there are any: `value` is None where no row that matches has an amount.

    `rows` match, `amounts` of them have one in the column; `chosen` is how many the value is made of, all where none has one, of which
    `places` are the first. `is_twice`: at least half of the rows of a table stand in another one, too.
    """

    group: str = ""
    rows: int = 0
    amounts: int = 0
    value: Decimal | None = None
    units: tuple[str, ...] = ()
    is_twice: bool = False
    chosen: int = 0
    places: tuple[RowPlace, ...] = ()


async def find_tables(
    database: Database,
    reader: Reader,
    words: Sequence[str],
    phrases: Sequence[str],
    filters: Filters,
) -> list[Table]:
    """Return the reader's tables that share one of the words, with those of their values that are one of the phrases; at most `MOST_TABLES`."""
    rows = await database.rows(
        _NAMED,
        {
            **reader.parameters,
            **filters.parameters,
            "words": list(words),
            "phrases": list(phrases),
            "most": MOST_TABLES,
            "most_values": _MOST_VALUES,
        },
    )
    return [
        Table(
            document=DocumentId(document),
            number=number,
            header=RowPlace(chunk=ChunkId(chunk), start=start, end=end, cells=tuple(cells)),
            title=title,
            url=url,
            heading=next(
                reversed(chunk_layout.from_json(layout).locate(start, start + 1).section), ""
            ),
            is_whole=is_whole,
            is_cut=is_cut,
            keys=tuple(keys),
            kinds=tuple(kinds),
            values=tuple(Value(*json.loads(value)) for value in values),
        )
        for document, number, chunk, start, end, title, url, layout, is_whole, is_cut, cells, keys, kinds, values in rows
    ]


async def compute(
    database: Database, reader: Reader, computing: Computing, *, most_places: int, most_groups: int
) -> list[Result]:
    """Return what the rows of these tables that the reader sees and that meet the conditions come to, for each group; nothing where no row meets them."""
    conditions = [
        {
            "place": condition.place + 1,
            "keys": list(condition.keys),
            "span": condition.span or None,
            "unit": condition.unit,
        }
        for condition in computing.conditions
    ]
    results = await database.rows(
        _COMPUTED,
        {
            **reader.parameters,
            "documents": [table.document for table in computing.tables],
            "tables": [table.number for table in computing.tables],
            "place": computing.place + 1,
            "conditions": json.dumps(conditions),
            "aggregate": computing.aggregate.value,
            "group": 0 if computing.group is None else computing.group + 1,
            "most": most_places,
            "most_groups": most_groups,
        },
    )
    return [
        Result(
            group=group,
            rows=rows,
            amounts=amounts,
            value=None if value is None else Decimal(value),
            units=tuple(units),
            is_twice=is_twice,
            chosen=chosen,
            places=tuple(_place(*json.loads(place)) for place in places),
        )
        for group, rows, amounts, value, units, is_twice, chosen, places in results
    ]


def _place(chunk: str, start: int, end: int, cells: Sequence[str]) -> RowPlace:
    return RowPlace(chunk=ChunkId(UUID(chunk)), start=start, end=end, cells=tuple(cells))
