"""Files of data (JSON, JSON Lines, YAML, TOML) as text to read: keys are sections, values lines, lists of records tables.

What cannot be read as its extension says reads as plain text; what machines wrote for machines is no text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from lightwell.domain.documents import OF_PROGRAMS, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import text as plain_text
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._text import decode, one_line
from lightwell.ingest.parse._values import COMMENT, NoData, Record, Value, read_values
from lightwell.text.regex import regex

_DEEPEST_SECTION = 4
"""Levels of sections; the keys of what is deeper stand before its values, as `health.interval`."""

_FEWEST_VALUES = 4
"""Values that make a section."""

_LONGEST_LINE = 300
"""Characters of a list that stands behind its key."""

_LONGEST_CELL, _MOST_COLUMNS = 500, 30
_LONGEST_WORD, _KEPT_OF_WORD = 300, 40
_MOST_NUMBERS, _KEPT_NUMBERS = 50, 10
_FEWEST_BYTES, _LEAST_SHARE_OF_WORDS = 1_000, 10
"""Of what is written in a file that is not small, so many percent are words."""

_LOCKS = frozenset("npm-shrinkwrap package-lock pnpm-lock project.assets".split())
_MACHINE_MADE = (".lock", "-lock", ".min")
_WORD = regex(r"(?<![^\W_])[^\W\d_]{2,}+(?![^\W_])")
_NUMBER = regex(r"[+-]?\d{1,40}+(?:\.\d{0,40}+)?(?:[eE][+-]?\d{1,5}+)?")
_MERGED = "<<"
_NAMES = ("title", "name", "id")
_METHODS = frozenset("get put post delete options head patch trace".split())
_OPERATION = regex(rf"(?:{'|'.join(sorted(_METHODS)).upper()}) /")


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; raise `Unreadable` with `no_text` for lock files, numbers and codes."""
    base = PurePosixPath(name).name
    stem = PurePosixPath(base.lower()).stem
    if stem in _LOCKS or stem.endswith(_MACHINE_MADE):
        raise Unreadable("no_text", OF_PROGRAMS)
    try:
        values = read_values(decode(content), base)
    except NoData:
        document = plain_text.parse(content, name=name)
    else:
        document = _written(values)
    if len(content) < _FEWEST_BYTES:
        return document
    letters = sum(len(word[0]) for word in _WORD.finditer(document.text))
    if letters * 100 < _LEAST_SHARE_OF_WORDS * sum(map(len, document.text.split())):
        raise Unreadable("no_text", OF_PROGRAMS)
    return document


def _written(values: list[Value]) -> ParsedDocument:
    """Return the document of these values, which are one, or the documents or lines of a file."""
    root = values[0] if len(values) == 1 else values
    writer = _Writer(Builder())
    writer.write(_with_operations(root), "", 1)
    about = {**_scalars(_get(root, "info")), **_scalars(root)}
    builder = writer.builder
    return ParsedDocument(
        text=builder.text(),
        title=one_line(about.get("title") or about.get("name") or ""),
        author=one_line(about.get("author", "")),
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=None,
    )


@dataclass(frozen=True, slots=True)
class _Writer:
    builder: Builder

    def write(self, value: Value, key: str, level: int) -> None:
        """Add a value in the section of its key, which has a heading already."""
        if isinstance(value, str):
            self.builder.add_block(_scalar(value))
        elif isinstance(value, tuple):
            self._write_record(value, level)
        elif rows := _table(value):
            self.builder.add_table(rows)
        else:
            self._write_list(value, key, level)

    def _write_record(self, record: Record, level: int) -> None:
        """Add what is said in lines, and below it what has sections of its own."""
        lines: list[str] = []
        sections: list[tuple[str, Value, str]] = []
        comment = ""
        for place, (key, value) in enumerate(record):
            if key == COMMENT and isinstance(value, str):
                comment = f"{comment} {value}".strip()
                if place == 0 and level == 1:  # of a file, it says what the file is about
                    self.builder.add_block(comment)
                    comment = ""
                continue
            if _has_section(value, level) or (_OPERATION.match(key) and value):
                sections.append((key, value, comment))
            else:
                first, *more = _lines(value, "merge" if key == _MERGED else key)
                lines += [f"{first} ({comment})" if comment else first, *more]
            comment = ""
        self.builder.add_block("\n".join(lines))
        self.builder.add_block(comment)
        for key, value, remark in sections:
            self._write_section(value, key, remark, level)

    def _write_section(self, value: Value, key: str, comment: str, level: int) -> None:
        self.builder.add_heading(key or "…", level)
        self.builder.add_block(comment)
        self.write(value, key, level + 1)

    def _write_list(self, values: list[Value], key: str, level: int) -> None:
        is_last = False
        for number, value in enumerate(values, start=1):
            if _has_section(value, level) or (isinstance(value, tuple) and level == 1):
                self._write_section(value, _label(value) or f"{key} {number}".strip(), "", level)
                is_last = False
            else:
                self.builder.add_item("; ".join(_lines(value, "")), follows=is_last)
                is_last = True


def _has_section(value: Value, level: int) -> bool:
    """Return whether a value has a section of its own: a record of some values, a list of records, or a long list."""
    if isinstance(value, str) or level > _DEEPEST_SECTION or not value:
        return False
    if isinstance(value, tuple):
        has_operation = any(_OPERATION.match(key) for key, _ in value)
        return has_operation or len([*_leaves(value, "")]) >= _FEWEST_VALUES
    return not (_is_numbers(value) or _is_short(value))


def _is_short(values: list[Value]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    return len(texts) == len(values) and sum(map(len, texts)) <= _LONGEST_LINE


def _lines(value: Value, key: str) -> Iterator[str]:
    """Yield the values in a value with their keys, such as `health.interval: 10s`."""
    for path, leaf in _leaves(value, key):
        text = _text(leaf)
        yield f"{path}: {text}".rstrip() if path else text


def _leaves(value: Value, key: str) -> Iterator[tuple[str, str | list[Value]]]:
    """Yield texts and lists of texts or numbers with their keys, "" for a comment; other lists by their numbers."""
    if isinstance(value, str) or not value:
        yield key, value if isinstance(value, str) else ""
    elif isinstance(value, tuple):
        for name, inner in value:
            path = f"{key}.{name}" if key else name
            yield from _leaves(inner, "" if name == COMMENT else path)
    elif _is_short(value) or _is_numbers(value):
        yield key, value
    else:
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, f"{key}.{number}" if key else str(number))


def _text(leaf: str | list[Value]) -> str:
    return _scalar(leaf) if isinstance(leaf, str) else _row(leaf)


def _row(values: list[Value]) -> str:
    """Return a list of texts in a line, of many numbers the first ones."""
    if not _is_numbers(values):
        return ", ".join(_scalar(value) for value in values if isinstance(value, str))
    numbers = islice(_numbers(values), _KEPT_NUMBERS)
    count = sum(1 for _ in _numbers(values))
    return f"{', '.join(numbers)}, … ({count:,} numbers)"


def _is_numbers(values: list[Value]) -> bool:
    """Return whether a list holds many numbers and nothing else, such as a vector or a line on a map."""
    count = 0
    for leaf in _numbers(values):
        if not _NUMBER.fullmatch(leaf):
            return False
        count += 1
    return count > _MOST_NUMBERS


def _numbers(value: Value) -> Iterator[str]:
    """Yield the texts in lists of lists; a record yields a text that is no number."""
    if isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    else:
        yield value if isinstance(value, str) else COMMENT


def _table(values: list[Value]) -> list[list[str]]:
    """Return the rows of a list of flat records, the keys first; [] for another list."""
    records = [_flat(value) for value in values if isinstance(value, tuple)]
    columns = dict.fromkeys(key for record in records for key in record)
    is_flat = len(records) == len(values) and all(records) and 0 < len(columns) <= _MOST_COLUMNS
    if not is_flat or any(
        len(text) > _LONGEST_CELL for record in records for text in record.values()
    ):
        return []
    return [[*columns], *([record.get(column, "") for column in columns] for record in records)]


def _flat(value: Value) -> Mapping[str, str]:
    """Return the texts of a record by their keys, {} for one that holds lists of more than texts."""
    if not isinstance(value, tuple) or not value or _has_lists(value):
        return {}
    return {path or COMMENT: _text(leaf) for path, leaf in _leaves(value, "")}


def _has_lists(value: Value) -> bool:
    if isinstance(value, tuple):
        return any(_has_lists(inner) for _, inner in value)
    return isinstance(value, list) and not _is_short(value)


def _scalar(text: str) -> str:
    """Return a text in which what nobody reads is cut, such as a picture in base64."""
    if len(text) <= _LONGEST_WORD:
        return text
    return " ".join(
        word if len(word) <= _LONGEST_WORD or not word.isascii() else f"{word[:_KEPT_OF_WORD]}…"
        for word in text.split(" ")
    )


def _label(value: Value) -> str:
    """Return what a record calls itself, "" for nothing."""
    texts = _scalars(value)
    of_metadata = _get(value, "metadata")
    if "kind" in texts and isinstance(of_metadata, tuple):  # Kubernetes
        return f"{texts['kind']} {_scalars(of_metadata).get('name', '')}".strip()
    keys = [*_NAMES, *(key for key in texts if key.lower().endswith(_NAMES))]
    return next((texts[key] for key in keys if texts.get(key)), "")


def _get(value: Value, key: str) -> "Value | None":
    pairs = value if isinstance(value, tuple) else ()
    return next((inner for name, inner in pairs if name == key), None)


def _scalars(value: "Value | None") -> dict[str, str]:
    """Return the texts that a record holds itself, {} of any other value."""
    pairs = value if isinstance(value, tuple) else ()
    return {key: inner for key, inner in pairs if isinstance(inner, str)}


def _with_operations(root: Value) -> Value:
    """Return an OpenAPI document whose operations stand as `GET /pumps: List pumps`; any other value unchanged."""
    paths = _get(root, "paths")
    if not isinstance(root, tuple) or not isinstance(paths, tuple):
        return root
    if _get(root, "openapi") is None and _get(root, "swagger") is None:
        return root
    operations = tuple(
        operation for path, methods in paths for operation in _operations(path, methods)
    )
    return tuple((key, operations if key == "paths" else value) for key, value in root)


def _operations(path: str, methods: Value) -> Iterator[tuple[str, Value]]:
    if not isinstance(methods, tuple):
        yield path, methods
        return
    for method, value in methods:
        summary = _get(value, "summary")
        title = f"{method.upper()} {path}" if method in _METHODS else f"{path} {method}"
        yield f"{title}: {summary}" if isinstance(summary, str) else title, value
