"""Turns a question and the tables that share words with it into one computation, or the reason why there is none.

A table answers only where it knows every word of the question: as a name of a column, a value, or a name of the table itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lightwell.answer.tables.question import AskedComputation, Comparison, Word, is_light
from lightwell.domain.tables import Aggregate, Computing, Condition, Table, Value, name_tables
from lightwell.text.tables.cells import DAY, unit_of
from lightwell.text.tables.keys import keys_of
from lightwell.text.tables.rows import MOST_WORDS, TEXT
from lightwell.text.terms import words

_NEAR = 2
"""Words between the name of a column and what it is compared with."""

_SMALL = 200
"""A smaller figure without a unit may be of anything, such as an age: its column has to be named."""

_FIGURES = (Aggregate.SUM, Aggregate.MEAN, Aggregate.MOST, Aggregate.LEAST)
_IDENTIFIERS = frozenset(
    key for name in ("id", "no", "nr", "number", "nummer", "year", "jahr") for key in keys_of(name)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a computation that is asked for cannot be made."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """A column that words of the question name, from the first to before the last."""

    first: int
    past: int
    place: int


@dataclass(slots=True, kw_only=True)
class _Reading:
    """What has been read so far of a question about tables of the same columns."""

    question: AskedComputation
    tables: Sequence[Table]
    known: set[int] = field(default_factory=set[int])
    names: set[int] = field(default_factory=set[int])
    mentions: list[_Mention] = field(default_factory=list[_Mention])
    values: dict[int, list[Value]] = field(default_factory=dict[int, list[Value]])
    conditions: list[Condition] = field(default_factory=list[Condition])
    group: int | None = None
    comparisons: list[Comparison] = field(default_factory=list[Comparison])

    @property
    def words(self) -> tuple[Word, ...]:
        return self.question.words

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(map(_common, zip(*(table.kinds for table in self.tables), strict=True)))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.tables[0].columns


def phrases_of(question: AskedComputation) -> list[str]:
    """Return the keys of one to five neighbouring words, by which values of tables may be meant."""
    return sorted({phrase for _, _, phrase in _runs(question.words)})


def read_computation(
    question: AskedComputation, tables: Sequence[Table]
) -> Computing | Refusal | None:
    """Return the computation that a question asks for of these tables, why there is none, or None where it asks for something else."""
    groups: dict[tuple[str, ...], list[Table]] = {}
    for table in tables:
        groups.setdefault(table.keys, []).append(table)
    read = [result for group in groups.values() if (result := _read(question, group))]
    usable = [pair for pair in read if isinstance(pair[1], Computing)] or read
    if not usable:
        return None
    best = max(score for score, _ in usable)
    results = [result for score, result in usable if score == best]
    if len(results) == 1:
        return results[0]
    named = name_tables(
        [table for result in results if isinstance(result, Computing) for table in result.tables]
    )
    return Refusal(reason=f"Several tables may be meant ({named}): name the one that you mean.")


def _read(
    question: AskedComputation, tables: Sequence[Table]
) -> tuple[int, Computing | Refusal] | None:
    """Return what is asked for of tables of the same columns, with how many words name these tables."""
    reading = _Reading(question=question, tables=tables)
    _find_units(reading)
    _find_columns(reading)
    if not _find_group(reading):
        return None
    _find_values(reading)
    _find_names(reading)
    if any(n not in reading.known and not is_light(w.key) for n, w in enumerate(reading.words)):
        return None
    reading.tables = _named_most(reading)
    refusal = _compare(reading) or _choose_values(reading)
    if refusal:
        return len(reading.names), refusal
    result = _aggregate(reading)
    if isinstance(result, Computing) and any(table.is_cut for table in result.tables):
        result = Refusal(reason="Only the first part of the table was read, since it is very long.")
    return (len(reading.names), result) if result else None


def _runs(neighbours: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
    """Yield runs of words that stand side by side in the question, the longest first, with the key of each."""
    for size in range(min(MOST_WORDS, len(neighbours)), 0, -1):
        for first in range(len(neighbours) - size + 1):
            run = neighbours[first : first + size]
            if run[-1].number - run[0].number == size - 1:
                yield first, first + size, " ".join(word.key for word in run)


def _find_units(reading: _Reading) -> None:
    """Take the word behind a figure as its unit, where a column has it."""
    for comparison in reading.question.comparisons:
        follower = next(
            (n for n, word in enumerate(reading.words) if word.start >= comparison.end), -1
        )
        word = reading.words[follower] if follower >= 0 else None
        unit = unit_of(word.text) if word and word.start - comparison.end <= 1 else ""
        if word and unit and not comparison.unit and unit in reading.kinds:
            reading.known.add(follower)
            text = f"{comparison.text} {word.text}"
            comparison = replace(comparison, unit=unit, text=text)
        reading.comparisons.append(comparison)


def _find_columns(reading: _Reading) -> None:
    """Note the words that name a column, whole or, where only one column has the word, in part."""
    keys = reading.tables[0].keys
    bare = [" ".join(keys_of(name.partition("(")[0].partition("[")[0])) for name in reading.columns]
    by_key: dict[str, int] = {}
    for names in (keys, bare):
        for place, key in enumerate(names):
            if key:
                by_key.setdefault(key, place)
    parts: dict[str, list[int]] = {}
    for place, key in enumerate(bare):
        for part in set(key.split()):
            parts.setdefault(part, []).append(place)
    by_part = {part: places[0] for part, places in parts.items() if len(places) == 1}
    for wanted in (by_key, by_part):
        for first, past, key in _runs(reading.words):
            span = range(first, past)
            if (
                key in wanted
                and not is_light(key, may_name=True)
                and reading.known.isdisjoint(span)
                and not _is_rather_a_value(reading, span, key, wanted[key])
            ):
                reading.known.update(span)
                reading.mentions.append(_Mention(first=first, past=past, place=wanted[key]))


def _is_rather_a_value(reading: _Reading, span: range, key: str, place: int) -> bool:
    """Return whether words may be a value and are not written as the column is: `open` is a state where the column is `Opened`."""
    written = " ".join(reading.words[n].text for n in span)
    is_value = any(value.key == key for table in reading.tables for value in table.values)
    return is_value and written not in reading.columns[place].casefold().split()


def _find_group(reading: _Reading) -> bool:
    """Note the column whose values are told apart; return False where that is asked for, and of no column of words."""
    first = reading.question.group
    if first is None:
        return True
    mention = next((mention for mention in reading.mentions if mention.first == first), None)
    if mention is None or reading.question.aggregate is Aggregate.LIST:
        return False
    reading.mentions.remove(mention)
    reading.group = mention.place
    return reading.kinds[mention.place] == TEXT


def _find_values(reading: _Reading) -> None:
    """Note the words that are a value of a column."""
    by_key: dict[str, list[Value]] = {}
    for table in reading.tables:
        for value in table.values:
            by_key.setdefault(value.key, []).append(value)
    for first, past, key in _runs(reading.words):
        span = range(first, past)
        if key in by_key and not is_light(key) and reading.known.isdisjoint(span):
            reading.known.update(span)
            reading.values[first] = by_key[key]


def _find_names(reading: _Reading) -> None:
    """Note the words that name the tables: by title, file, heading or first column."""
    named = {key for table in reading.tables for key in _names(table)}
    may_be_told = reading.question.aggregate in (Aggregate.MOST, Aggregate.LEAST)
    for mention in list(reading.mentions):
        span = range(mention.first, mention.past)
        is_name = all(reading.words[n].key in named for n in span)
        is_text = reading.kinds[mention.place] == TEXT
        if is_name or (is_text and mention.place == 0):
            reading.names.update(span)
        if is_text and (is_name or mention.place == 0 or may_be_told):
            reading.mentions.remove(mention)
    others = {n for n, word in enumerate(reading.words) if word.key in named} - reading.known
    reading.known.update(others)
    reading.names.update(others)


def _titles(table: Table) -> str:
    file = table.url.rpartition("/")[2].rpartition(".")[0]
    return f"{table.title} {file} {table.heading}"


def _names(table: Table) -> set[str]:
    return _keys(_titles(table))


def _names_rows(table: Table, word: Word) -> bool:
    """Return whether a word means the rows of a table: by its first column, or as it stands in its heading, since "Deals" has deals and a "Handbook" no handbooks."""
    titles = _titles(table) if table.is_whole else table.heading
    return word.key in _keys(table.columns[0]) or word.text in words(titles)


def _keys(text: str) -> set[str]:
    return {key for key in keys_of(text) if not is_light(key)}


def _named_most(reading: _Reading) -> Sequence[Table]:
    """Return the tables that most of the words name."""
    keys = {reading.words[n].key for n in reading.names}
    counts = [len(keys & _names(table)) for table in reading.tables]
    return [
        table for table, count in zip(reading.tables, counts, strict=True) if count == max(counts)
    ]


def _common(kinds: tuple[str, ...]) -> str:
    return kinds[0] if len(set(kinds)) == 1 else next((k for k in kinds if k != TEXT), TEXT)


def _choose_values(reading: _Reading) -> Refusal | None:
    """Make conditions of the values, several of one column as alternatives; a value of several columns needs the name of one beside it."""
    chosen: dict[int, dict[str, str]] = {}
    for first, values in reading.values.items():
        places = {value.column - 1 for value in values}
        beside = [
            mention
            for mention in reading.mentions
            if mention.place in places and _is_near(mention, first)
        ]
        if beside:
            places = {beside[0].place}
        if len(places) > 1:
            value = values[0].text
            names = " and ".join(f"“{reading.columns[place]}”" for place in sorted(places))
            return Refusal(reason=f"“{value}” stands in the columns {names}: say in which one.")
        (place,) = places
        reading.mentions = [
            mention
            for mention in reading.mentions
            if mention.place != place or reading.kinds[place] != TEXT
        ]
        texts = {value.key: value.text for value in values if value.column - 1 == place}
        chosen.setdefault(place, {}).update(texts)
    for place, texts in chosen.items():
        alternatives = " or ".join(dict.fromkeys(texts.values()))
        reading.conditions.append(
            Condition(
                place=place, keys=tuple(texts), text=f"{reading.columns[place]} is {alternatives}"
            )
        )
    return None


def _is_near(mention: _Mention, word: int) -> bool:
    return -_NEAR <= mention.first - word <= _NEAR or -_NEAR <= mention.past - word <= _NEAR


def _compare(reading: _Reading) -> Refusal | None:
    """Make conditions of the comparisons, each of the column that is named beside it, else of the only one that it can be."""
    for comparison in reading.comparisons:
        place = _compared(reading, comparison)
        if isinstance(place, Refusal):
            return place
        unit = "" if comparison.unit == DAY else comparison.unit
        kind = reading.kinds[place]
        if unit and kind not in (unit, "number"):
            return Refusal(
                reason=f"“{comparison.text}” cannot be compared with “{reading.columns[place]}”."
            )
        reading.conditions.append(
            Condition(
                place=place,
                span=comparison.span,
                unit=unit,
                text=f"{reading.columns[place]} {comparison.text}",
            )
        )
    return None


def _compared(reading: _Reading, comparison: Comparison) -> int | Refusal:
    is_day = comparison.unit == DAY
    fits = [
        place
        for place, kind in enumerate(reading.kinds)
        if kind != TEXT and (kind == DAY) == is_day
    ]
    before = sum(word.end <= comparison.start for word in reading.words)
    for mention in reading.mentions:
        if mention.place in fits and (
            before - _NEAR < mention.past <= before or before <= mention.first <= before + _NEAR
        ):
            if reading.question.aggregate not in _FIGURES or len(reading.mentions) > 1:
                reading.mentions.remove(mention)
            return mention.place
    likely = [place for place in fits if is_day or not _is_identifier(reading, place)]
    if comparison.unit in reading.kinds and not is_day:
        likely = [place for place in likely if reading.kinds[place] == comparison.unit]
    named = {mention.place for mention in reading.mentions} & set(likely)
    is_small = not is_day and comparison.unit == "" and comparison.is_below(_SMALL)
    for places in (list(named), [] if is_small else likely):
        if len(places) == 1:
            return places[0]
    names = ", ".join(f"“{reading.columns[place]}”" for place in likely)
    what = (
        f"say with which column ({names})" if likely else "no column of the table has such values"
    )
    return Refusal(reason=f"“{comparison.text}” cannot be compared: {what}.")


def _is_identifier(reading: _Reading, place: int) -> bool:
    return bool(_IDENTIFIERS.intersection(reading.tables[0].keys[place].split()))


def _aggregate(reading: _Reading) -> Computing | None:
    """Return the computation; None where it is not clear of what it is asked for."""
    aggregate = reading.question.aggregate
    places = {mention.place for mention in reading.mentions}
    if aggregate in _FIGURES:
        place = _figured(reading, places)
        if place is None:
            return None
        return _computing(reading, aggregate, place)
    if not reading.names and not places:
        return None
    if aggregate is Aggregate.COUNT and len(places) == 1 and reading.conditions:
        (mention, *_) = reading.mentions
        is_amount = reading.kinds[mention.place] not in (TEXT, DAY)
        is_first = all(mention.first <= n for n in reading.names)
        return _computing(reading, Aggregate.SUM, mention.place) if is_amount and is_first else None
    named = [reading.words[n] for n in reading.names]
    if places or not all(
        any(_names_rows(table, word) for word in named) for table in reading.tables
    ):
        return None
    if aggregate is Aggregate.LIST and not reading.conditions:
        return None
    return _computing(reading, aggregate, 0)


def _figured(reading: _Reading, places: set[int]) -> int | None:
    """Return the column of which a figure is asked for: the one that is named, else the only one of amounts of a table that is named."""
    with_days = reading.question.aggregate in (Aggregate.MOST, Aggregate.LEAST)
    fit = [
        place
        for place, kind in enumerate(reading.kinds)
        if kind != TEXT and (kind != DAY or (with_days and places))
    ]
    if places:
        (place, *others) = places
        return None if others or place not in fit else place
    likely = [place for place in fit if not _is_identifier(reading, place)]
    return likely[0] if len(likely) == 1 and reading.names else None


def _computing(reading: _Reading, aggregate: Aggregate, place: int) -> Computing:
    return Computing(
        aggregate=aggregate,
        tables=tuple(reading.tables),
        place=place,
        conditions=tuple(reading.conditions),
        group=reading.group,
    )
