"""The rows of a query become values by the names of their columns."""

from dataclasses import dataclass
from enum import StrEnum

import pytest

from lightwell.records.database import Database
from lightwell.records.rows import fetch, fetch_values, make


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    width: int
    colours: frozenset[Colour]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    name: str
    size: Size
    names: tuple[str, ...]
    colour: Colour | None


BOXES = """
SELECT name, 3 AS "size.width", ARRAY['red'] AS "size.colours", ARRAY['a', 'b'] AS names, nullif(name, 'two') AS colour
FROM (VALUES ('red'), ('two')) AS box (name)
"""


async def test_columns_become_the_fields_of_dataclasses(database: Database) -> None:
    size = Size(width=3, colours=frozenset({Colour.RED}))
    boxes = [
        Box(name="red", size=size, names=("a", "b"), colour=Colour.RED),
        Box(name="two", size=size, names=("a", "b"), colour=None),
    ]
    assert await database.rows(BOXES, {}, into=Box) == boxes
    async with database.transaction() as connection:
        assert await fetch(connection, BOXES, {}, into=Box) == boxes
        assert await fetch_values(connection, BOXES, {}) == ["red", "two"]
    assert make(Size, width=3, colours=["red"]) == size


async def test_other_callables_get_columns_by_keyword_and_without_any_rows_are_tuples(
    database: Database,
) -> None:
    assert await database.rows("SELECT 1 AS a, 2 AS b", {}, into=dict[str, int]) == [
        {"a": 1, "b": 2}
    ]
    assert await database.rows("SELECT 1 AS a, 2 AS b", {}) == [(1, 2)]
    assert await database.row("SELECT 1 AS a WHERE false", {}, into=dict[str, int]) is None
    assert await database.value("SELECT 1 WHERE false", {}) is None


async def test_a_column_that_is_no_field_is_an_error(database: Database) -> None:
    with pytest.raises(TypeError, match="height"):
        await database.rows("SELECT 1 AS height", {}, into=Size)
