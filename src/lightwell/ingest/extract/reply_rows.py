"""Parses a model's reply, lines or JSON, into rows of strings; tolerates code fences, chatter and cut-off replies."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from lightwell.domain.graph import Predicate
from lightwell.text.regex import regex


class Problem(StrEnum):
    """A problem of a reply; the value is the message, partly prescribed by the specification."""

    EMPTY_NAME = "Entity name cannot be empty"
    EMPTY_SUBJECT = "Subject cannot be empty"
    EMPTY_OBJECT = "Object cannot be empty"
    INVALID_PREDICATE = "Invalid predicate type"
    LOW_CONFIDENCE = "Triple confidence too low"
    SELF_LOOP = "Subject and object are the same"
    UNDECLARED = "Subject or object was not among the entities"
    UNSUPPORTED = "Entity shares no word with the passage"
    ECHOED = "Repeats the example of the instructions"
    TOO_LONG = "Name too long"
    NOT_A_NUMBER = "Weight or confidence is not a number"
    REPEATED = "Said before"
    MALFORMED = "Cannot be read"
    CHATTER = "Text around the rows"
    FENCED = "Rows inside a code fence"
    TRUNCATED = "Reply was cut short"
    REFUSED = "Reply is a refusal"
    EMPTY = "Reply is empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Entity and relation rows with fields in the prompt's order, "" for absent fields, and counts of problems."""

    entities: tuple[tuple[str, ...], ...]
    relations: tuple[tuple[str, ...], ...]
    problems: Counter[Problem]


ENTITY_FIELDS = ("name", "type", "description", "aliases", "category", "difficulty", "tags")
RELATION_FIELDS = (
    "subject", "object", "predicate", "keywords", "description", "weight", "confidence", "comparison", "use_case",
)  # fmt: skip

_MIN_ENTITY_FIELDS, _MIN_RELATION_FIELDS, _FIELDS_WITHOUT_DESCRIPTION = 2, 3, 6
_END = "END"
_ROW = regex(
    r"^[\s\-*•(\"'`]*+(?:\d++[.)]\s*+)?[\"'(]*+(E|R|entity|relation(?:ship)?)[\"']?\s*(?:\||\t)",
    re.IGNORECASE,
)
_NUMBER = regex(r"\d+(?:\.\d+)?")
_GAPS = regex(r"[\s\-]+")
_FENCE = regex(r"^[^\S\n]*(?:```|~~~)\w*[^\S\n]*$", re.MULTILINE)
_EMPTY_JSON = regex(r"[\[{][\s\"\[\]{}ERentitisrlao:,]*[\]}]")
_CELL_END = regex(r"[|\t]")
_STRING = r'"(?:[^"\\]|\\.)*+"'
_ITEM = regex(
    rf'"(?P<list>\w+)"\s*:\s*\[(?=\s*[\[{{\]])'
    rf"|\[\s*{_STRING}(?:\s*,\s*(?:{_STRING}|[-\d.]+|null))*+\s*\]"
    rf"|\{{(?:[^{{}}\"\[]|\[(?!\s*[\[{{])|{_STRING})*+\}}",
    re.DOTALL,
)
_REASONING = regex(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_REFUSAL = regex(
    r"\b(?:i['’]?m sorry|i am sorry|i apologi[sz]e|i can(?:no|['’])t|i am (?:un|not )able|i['’]m (?:un|not )able"
    r"|i won['’]t|as an ai)\b",
    re.IGNORECASE,
)
_KEY_ALIASES = {
    "entity": "name", "entity_name": "name", "n": "name", "kind": "type", "entity_type": "type", "t": "type",
    "d": "description", "entity_description": "description", "relationship_description": "description",
    "source": "subject", "source_entity": "subject", "src": "subject", "s": "subject", "from": "subject", "head": "subject",
    "target": "object", "target_entity": "object", "tgt": "object", "o": "object", "to": "object", "tail": "object",
    "relation": "predicate", "p": "predicate", "relationship_keywords": "keywords", "k": "keywords",
    "strength": "weight", "relationship_strength": "weight", "w": "weight", "c": "confidence", "useCase": "use_case",
}  # fmt: skip
_ENTITY_LISTS = ("E", "e", "entities", "nodes", "concepts")
_RELATION_LISTS = ("R", "r", "relations", "relationships", "triples", "edges")


def parse_rows(text: str, *, complete: bool = True) -> Rows:
    """Return the rows of a reply; `complete` is false when the endpoint cut it at its token limit."""
    bare = _REASONING.sub("", text).replace("<|#|>", "|").replace("<|COMPLETE|>", _END)
    problems: Counter[Problem] = Counter()
    if _FENCE.search(bare):
        problems[Problem.FENCED] += 1
        bare = _FENCE.sub("", bare)
    bare = bare.strip()
    if any(_ROW.match(line) for line in bare.splitlines()) or bare.endswith(_END):
        rows = _parse_lines(bare, problems, complete=complete)
    else:
        rows = _parse_json(bare, problems, complete=complete)
    is_empty_reply = bare == _END or _EMPTY_JSON.fullmatch(bare) is not None
    if not any(rows) and not (complete and is_empty_reply):
        problems[_reason_for_no_rows(bare)] += 1
    return Rows(entities=tuple(rows[0]), relations=tuple(rows[1]), problems=problems)


_RowLists = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]


def _reason_for_no_rows(bare: str) -> Problem:
    if not bare:
        return Problem.EMPTY
    return Problem.REFUSED if _REFUSAL.search(bare) else Problem.MALFORMED


def _parse_lines(bare: str, problems: Counter[Problem], *, complete: bool) -> _RowLists:
    rows: _RowLists = ([], [])
    lines = [line for line in bare.splitlines() if line.strip()]
    is_cut = not complete and lines[-1].strip() != _END
    if is_cut:
        problems[Problem.TRUNCATED] += 1
    for number, line in enumerate(lines):
        match = _ROW.match(line)
        if not match:
            problems[Problem.CHATTER] += line.strip() != _END
            continue
        values = [value.strip() for value in _CELL_END.split(line[match.end() :].strip())]
        if is_cut and number == len(lines) - 1:
            values = values[:-1]
        entity = _is_entity_line(match[1], values)
        if not entity and _is_predicate(values[1:2]) and not _is_predicate(values[2:3]):
            values = [values[0], *values[2:3], values[1], "", *values[3:]]
        _add_row(rows, values, problems, entity=entity)
    return rows


def _is_entity_line(marker: str, values: Sequence[str]) -> bool:
    """Return whether a line is an entity. Small models repeat the marker of earlier lines, so a predicate decides."""
    if marker[0] in "Ee":
        return len(values) <= _MIN_RELATION_FIELDS or not (
            _is_predicate(values[1:2]) or _is_predicate(values[2:3])
        )
    return (
        len(values) == _MIN_RELATION_FIELDS
        and not _is_predicate(values[1:3])
        and values[1].islower()
    )


def _is_predicate(values: Sequence[str]) -> bool:
    return any(_GAPS.sub("_", value).upper() in Predicate.__members__ for value in values)


def _parse_json(bare: str, problems: Counter[Problem], *, complete: bool) -> _RowLists:
    rows: _RowLists = ([], [])
    start = min((index for index in map(bare.find, "{[") if index >= 0), default=len(bare))
    end = max(bare.rfind("}"), bare.rfind("]")) + 1
    try:
        value = cast("object", json.loads(bare[start:end], strict=False))
    except ValueError:
        _parse_broken_json(rows, bare[start:], problems)
        is_cut = not complete or not bare.endswith(("}", "]"))
        problems[Problem.TRUNCATED if is_cut else Problem.MALFORMED] += any(rows)
    else:
        problems[Problem.CHATTER] += any(bare[:start]) + any(bare[end:])
        _collect_rows(rows, value, problems, entity=None)
    return rows


def _parse_broken_json(rows: _RowLists, broken: str, problems: Counter[Problem]) -> None:
    """Add the complete rows of JSON that is cut off or malformed."""
    entity: bool | None = None
    for match in _ITEM.finditer(broken):
        if match["list"]:
            entity = _is_entity_list(match["list"])
            continue
        try:
            value = cast("object", json.loads(match[0], strict=False))
        except ValueError:
            problems[Problem.MALFORMED] += 1
        else:
            _collect_rows(rows, value, problems, entity=entity)


def _collect_rows(
    rows: _RowLists, value: object, problems: Counter[Problem], *, entity: bool | None
) -> None:
    if isinstance(value, dict):
        keyed = cast("dict[str, object]", value)
        fields = {_KEY_ALIASES.get(key, key): _cell_text(inner) for key, inner in keyed.items()}
        if "name" in fields or "subject" in fields:
            names = RELATION_FIELDS if "subject" in fields else ENTITY_FIELDS
            values = [fields.get(name, "") for name in names]
            _add_row(rows, values, problems, entity=names is ENTITY_FIELDS)
            return
        for key, inner in keyed.items():
            _collect_rows(rows, inner, problems, entity=_is_entity_list(key))
    elif isinstance(value, list):
        listed = cast("list[object]", value)
        if listed and not any(isinstance(inner, dict | list) for inner in listed):
            row = [_cell_text(inner) for inner in listed]
            if entity is None:
                entity = len(row) < _MIN_RELATION_FIELDS or not row[2].isupper()
            _add_row(rows, row, problems, entity=entity)
            return
        for inner in listed:
            _collect_rows(rows, inner, problems, entity=entity)


def _add_row(
    rows: _RowLists, values: Sequence[str], problems: Counter[Problem], *, entity: bool
) -> None:
    fields, min_fields = (
        (ENTITY_FIELDS, _MIN_ENTITY_FIELDS) if entity else (RELATION_FIELDS, _MIN_RELATION_FIELDS)
    )
    if len(values) < min_fields:
        problems[Problem.MALFORMED] += 1
        return
    complete_values = values if entity else _with_description(values)
    padded = (*complete_values, *[""] * len(fields))[: len(fields)]
    if padded[:2] == fields[:2]:
        problems[Problem.CHATTER] += 1
        return
    rows[0 if entity else 1].append(padded)


def _with_description(values: Sequence[str]) -> Sequence[str]:
    """Return a relation's fields; if the model omitted the description, insert an empty one before the numbers."""
    if len(values) == _FIELDS_WITHOUT_DESCRIPTION and all(map(_NUMBER.fullmatch, values[4:])):
        return [*values[:4], "", *values[4:]]
    return values


def _is_entity_list(key: str) -> bool | None:
    if key in _ENTITY_LISTS:
        return True
    return False if key in _RELATION_LISTS else None


def _cell_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_cell_text(inner) for inner in cast("list[object]", value))
    return "" if value is None else str(value).strip()
