"""The YAML at the top of a markdown file, and YAML from strangers in general."""

import re
from collections.abc import Mapping
from typing import cast

import yaml

from lightwell.domain.errors import Invalid

LONGEST_YAML = 64 * 1024
"""Characters."""

_DEEPEST = 20
_FRONT_MATTER = re.compile(
    r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M
)
_KEY = re.compile(r"^[A-Za-z_\"'][^\n:]*:(?:\s|$)", re.M)


def front_matter(text: str) -> tuple[str, int]:
    """Return the YAML at the top of the text, "" for none, and where the text goes on after it."""
    match = _FRONT_MATTER.match(text[: LONGEST_YAML + 100]) if "---" in text[:4] else None
    if match is None or (match[1].strip() and not _KEY.search(match[1])):
        return "", 0
    return match[1], match.end()


def yaml_mapping(text: str) -> Mapping[str, object]:
    """Return what the YAML says, {} for nothing; raise `Invalid` for what is broken, hostile or no mapping."""
    if len(text) > LONGEST_YAML:
        raise Invalid(f"the YAML is longer than {LONGEST_YAML:,} characters; shorten it")
    try:
        _refuse_bombs(text)
        loaded = cast("object", yaml.load(text, Loader=_LOADER))  # noqa: S506 - it is a safe loader
    except (yaml.YAMLError, ValueError) as error:
        raise Invalid(f"the YAML cannot be read; mend it: {_problem(error)}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise Invalid("the YAML is no list of `key: value` lines; write it so")
    return {str(key): value for key, value in cast("dict[object, object]", loaded).items()}


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Its composer recurses in C without a limit: `_refuse_bombs` has to run before it."""


def _refuse_bombs(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise Invalid("the YAML uses aliases (`*name`); write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise Invalid(f"the YAML is nested more than {_DEEPEST} deep; flatten it")


def _problem(error: Exception) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return str(error)
    return f"line {error.problem_mark.line + 1}: {error.problem}"
