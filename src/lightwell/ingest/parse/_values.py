"""Reads JSON, JSON Lines, YAML and TOML into values of three kinds: texts, lists and records, which keep repeated keys."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from pathlib import PurePosixPath
from typing import TypeAlias, cast

import yaml

from lightwell.domain.errors import Unreadable
from lightwell.text.regex import regex

MAX_DEPTH = 50
"""Levels of nesting."""

COMMENT = "#"
"""The key under which a record holds what a comment says of the entry behind it."""

Record: TypeAlias = "tuple[tuple[str, Value], ...]"
Value: TypeAlias = "str | list[Value] | Record"

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_COMMENT = regex(r"[ \t]*+#+[ \t]?+([^\n]*+)")
_DOTTED = regex(r"(?<![\w\"'-])(?:[\w\"'-]++[ \t]{0,9}+\.[ \t]{0,9}+){50}")
"""A key of so many parts, for which Python's reader takes minutes."""

_CONSTANTS = {True: "true", False: "false", None: "null"}


class NoData(Exception):
    """The text is not what its name says."""


def read_values(text: str, name: str) -> list[Value]:
    """Return the documents of a file, by its extension; raise `NoData`, and `Unreadable` for one that is nested too deep."""
    try:
        match PurePosixPath(name).suffix.lower():
            case ".yaml" | ".yml":
                return _read_yaml(text)
            case ".toml" if _DOTTED.search(text):
                raise NoData
            case ".toml":
                return [_value(tomllib.loads(text.replace("\r\n", "\n"), parse_float=str))]
            case ".jsonl" | ".ndjson":
                return [_read_json(line) for line in text.split("\n") if line.strip()]
            case _:
                return [_read_json(text)]
    except RecursionError:
        raise _too_deep() from None
    except (ValueError, yaml.YAMLError) as error:
        raise NoData from error


def _read_json(text: str) -> Value:
    return _value(
        json.loads(
            text,
            object_pairs_hook=tuple,
            parse_int=str,
            parse_float=str,
            parse_constant=str,
        )
    )


def _value(loaded: object, depth: int = 0) -> Value:
    """Return what Python's readers return, as texts, lists and records."""
    if depth > MAX_DEPTH:
        raise _too_deep()
    match loaded:
        case str():
            return loaded
        case bool() | None:
            return _CONSTANTS[loaded]
        case tuple():
            pairs = cast("Sequence[tuple[str, object]]", loaded)
            return tuple((key, _value(inner, depth + 1)) for key, inner in pairs)
        case dict():
            return _value(tuple(cast("Mapping[str, object]", loaded).items()), depth)
        case list():
            return [_value(inner, depth + 1) for inner in cast("list[object]", loaded)]
        case date() | time():
            return loaded.isoformat()
        case _:
            return str(loaded)


def _read_yaml(text: str) -> list[Value]:
    """Return the documents, read event by event: nothing is made of tags, and an alias stays the name of its anchor."""
    comments = _comments(text)
    stack: list[tuple[list[Value], bool]] = [([], False)]
    for event in yaml.parse(text, Loader=_LOADER):
        values, is_mapping = stack[-1]
        match event:
            case yaml.CollectionStartEvent():
                if len(stack) > MAX_DEPTH:
                    raise _too_deep()
                stack.append(([], isinstance(event, yaml.MappingStartEvent)))
                continue
            case yaml.CollectionEndEvent():
                stack.pop()
                stack[-1][0].append(_record(values) if is_mapping else values)
            case yaml.ScalarEvent():
                mark = event.start_mark
                comment = comments.pop(mark.line, "") if mark else ""
                if is_mapping and comment and len(values) % 2 == 0:
                    values += [COMMENT, comment]
                values.append(event.value)
            case yaml.AliasEvent():
                values.append(f"*{event.anchor}")
            case _:
                continue
    return stack[0][0]


def _record(values: Sequence[Value]) -> Record:
    keys = (key if isinstance(key, str) else "…" for key in values[::2])
    return tuple(zip(keys, values[1::2], strict=False))


def _comments(text: str) -> dict[int, str]:
    """Return what whole lines of comments say, by the number of the line below them."""
    comments: dict[int, str] = {}
    lines: list[str] = []
    for number, line in enumerate(text.split("\n") if COMMENT in text else ()):
        if comment := _COMMENT.match(line):
            lines.append(comment[1].strip())
        elif lines:
            words = " ".join(filter(None, lines))
            if line.strip():
                comments[number] = words
            lines.clear()
    return comments


def _too_deep() -> Unreadable:
    return Unreadable("broken", f"its values are nested over {MAX_DEPTH} deep; flatten it")
