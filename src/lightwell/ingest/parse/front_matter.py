"""Parses the YAML front matter of markdown files, and untrusted YAML in general."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import yaml

from lightwell.domain.errors import Invalid
from lightwell.domain.texts import require_text
from lightwell.text.regex import regex

MAX_YAML_CHARACTERS = 64 * 1024
"""Characters."""

_MAX_DEPTH = 20
_MAX_NUMBER_BITS = 1024
"""Bits, about 300 digits."""

_ACCESS_KEY = "acl_tags"
"""A repeated key is rejected here, because one of the two values would silently decide who may read."""

_FRONT_MATTER = regex(r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_KEY = regex(r"^[A-Za-z_\"'][^\n:]*:(?:\s|$)", re.M)


def split_front_matter(text: str) -> tuple[str, int]:
    """Return the YAML at the top of the text, "" for none, and where the text goes on after it."""
    match = _FRONT_MATTER.match(text[: MAX_YAML_CHARACTERS + 100]) if "---" in text[:4] else None
    if match is None or (match[1].strip() and not _KEY.search(match[1])):
        return "", 0
    return match[1], match.end()


def parse_yaml_mapping(text: str) -> Mapping[str, object]:
    """Return the YAML mapping, {} for empty YAML; raise `Invalid` if it is broken, hostile or not a mapping.

    PyYAML's constructors do not check numbers and dates, so any error that they raise becomes `Invalid`, too.
    """
    if len(text) > MAX_YAML_CHARACTERS:
        raise Invalid(f"the YAML is longer than {MAX_YAML_CHARACTERS:,} characters; shorten it")
    try:
        _reject_hostile(text)
        loaded = cast("object", yaml.load(text, Loader=_LOADER))  # noqa: S506 - it is a safe loader
        _reject_long_numbers(loaded)
    except Invalid:
        raise
    except Exception as error:
        raise Invalid(f"the YAML cannot be read: {_describe_error(error)}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise Invalid("the YAML must consist of `key: value` lines")
    return {str(key): value for key, value in cast("dict[object, object]", loaded).items()}


def parse_unique_mapping(text: str) -> Mapping[str, object]:
    """Return the mapping as `parse_yaml_mapping` does; raise `Invalid` also if any nested mapping repeats a key.

    PyYAML would keep the last value silently, although the author may have meant the first.
    """
    mapping = parse_yaml_mapping(text)
    for key in _repeated_keys(text):
        raise Invalid(f"the key {key!r} occurs twice; keep one")
    return mapping


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Its composer recurses in C without a limit: `_reject_hostile` has to run before it."""


def _reject_hostile(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise Invalid("the YAML uses aliases (`*name`); write the value out")
        if isinstance(event, yaml.ScalarEvent):
            require_text(event.value, "the YAML")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise Invalid(f"the YAML is nested more than {_MAX_DEPTH} levels deep; flatten it")
    if _ACCESS_KEY in _repeated_keys(text):
        raise Invalid(f"the YAML says {_ACCESS_KEY} more than once; keep one")


def _repeated_keys(text: str) -> Iterator[str]:
    """Yield each key that a mapping at any depth repeats."""
    levels: list[tuple[set[str], itertools.count[int]] | None] = []
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            levels.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        level = levels[-1] if levels else None
        if level is not None:
            keys, position = level
            is_key = next(position) % 2 == 0  # a mapping's events are key, value, key, value
            if is_key and isinstance(event, yaml.ScalarEvent):
                if event.value in keys:
                    yield event.value
                keys.add(event.value)
        if isinstance(event, yaml.CollectionStartEvent):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            levels.append((set(), itertools.count()) if is_mapping else None)


def _reject_long_numbers(value: object) -> None:
    """Raise `Invalid` for a number that Python would not write out; the value is at most `_MAX_DEPTH` levels deep."""
    if isinstance(value, int) and value.bit_length() > _MAX_NUMBER_BITS:
        raise Invalid("the YAML holds a number of more than 300 digits; quote it")
    if isinstance(value, dict):
        for key, inner in cast("dict[object, object]", value).items():
            _reject_long_numbers(key)
            _reject_long_numbers(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in cast("Iterable[object]", value):
            _reject_long_numbers(inner)


def _describe_error(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        is_type = isinstance(error, yaml.constructor.ConstructorError)
        what = "a value has a type that is not allowed; remove it" if is_type else error.problem
        return f"line {error.problem_mark.line + 1}: {what}"
    if isinstance(error, yaml.reader.ReaderError):
        return "it holds a character that YAML does not allow; remove it"
    return "a date or a number in it is out of range; put it in quotes"
