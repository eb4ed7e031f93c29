"""What a unit holds, as the fields that are stored of it."""

from collections.abc import Iterable, Sequence
from typing import Any

from lightwell.text.answer_types.facts import Facts, Mark
from lightwell.text.dates import PartialDate
from lightwell.text.figures import Figure

_FIELDS = 7


def facts_to_fields(facts: Facts) -> list[Any]:
    """Return the fields of what a unit holds, without empty ones at the end."""
    figures = _encode_figures(facts.figures)
    rows = _encode_figures(facts.row_figures)
    fields: list[Any] = [
        int(facts.marks),
        [*facts.names],
        [*facts.persons],
        figures,
        1 if rows and rows == figures else rows,
        sorted(facts.date_texts),
        [number for date in facts.dates for number in (date.year, date.month, date.day)],
    ]
    while not fields[-1] and len(fields) > 1:
        fields.pop()
    return fields


def facts_from_fields(fields: Sequence[Any]) -> Facts:
    """Return what a unit holds, of its fields."""
    lacking: list[Any] = [[] for _ in range(_FIELDS - len(fields))]
    marks, names, persons, figures, rows, date_texts, dates = (*fields, *lacking)
    quantities = _decode_figures(figures)
    return Facts(
        figures=quantities,
        row_figures=quantities if rows == 1 else _decode_figures(rows),
        date_texts=frozenset(date_texts),
        dates=tuple(
            PartialDate(year=year, month=month, day=day)
            for year, month, day in zip(dates[::3], dates[1::3], dates[2::3], strict=True)
        ),
        names=tuple(names),
        persons=tuple(persons),
        marks=Mark(marks),
    )


def _encode_figures(figures: Iterable[Figure]) -> list[str]:
    return sorted(f"{figure.value} {figure.unit}" for figure in figures)


def _decode_figures(written: Iterable[str]) -> frozenset[Figure]:
    pairs = (figure.partition(" ") for figure in written)
    return frozenset(Figure(value=value, unit=unit) for value, _, unit in pairs)
