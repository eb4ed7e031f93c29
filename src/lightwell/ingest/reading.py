"""What a chat model is told and sent so that it reads a chunk; `replies` reads its answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from lightwell.domain.fences import fenced
from lightwell.domain.graph import Extraction, Mention, MentionType, normalized
from lightwell.domain.terms import STOP_WORDS, words
from lightwell.ingest import rules
from lightwell.ingest.replies import Parsed, Problem
from lightwell.ports import ChunkToRead, Message

DEFAULT_KINDS = ("person", "organization", "place", "event", "product", "work", "concept")
MOST_KNOWN = 80
"""Names of each sort told in a second look, in the order in which they were found."""

LEAST_MISSED, LEAST_SHARE = 3, 0.15
"""A second look pays from this many missed names on, when they are this share of all the rules found."""

_SECTION = re.compile(r"^# (\w+)\n", re.MULTILINE)
_ROWS = {"type": "array", "items": {"type": "string"}}


class Form(StrEnum):
    """How the model writes: lines cost least; JSON is for endpoints that hold a model to a schema."""

    LINES = "lines"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look for and how to write it; `language` "" means the passage's own."""

    kinds: tuple[str, ...] = DEFAULT_KINDS
    language: str = ""
    form: Form = Form.LINES


def reading_messages(chunk: ChunkToRead, wanted: Wanted) -> list[Message]:
    """Return the first pass: the instructions, equal for all chunks, and the chunk as fenced data."""
    passage = fenced(_passage(chunk))
    return [
        _instructions(wanted),
        Message(role="user", content=f"{passage}\n{_part('first')}"),
    ]


def gleaning_messages(chunk: ChunkToRead, known: Sequence[str], wanted: Wanted) -> list[Message]:
    """Return the second pass: the same instructions, the chunk, the names found and those that rules miss; no history."""
    told = f"{_passage(chunk)}\n\nKnown: {_listed(known)}"
    if missed := _missed(known, rules.read(chunk)):
        told += f"\nPerhaps missing: {_listed(missed)}"
    passage = fenced(told)
    return [
        _instructions(wanted),
        Message(role="user", content=f"{passage}\n{_part('again')}"),
    ]


def repair_messages(chunk: ChunkToRead, wanted: Wanted) -> list[Message]:
    """Return the first pass with a word on its form, for when the reply to it could not be used; no history."""
    passage = fenced(_passage(chunk))
    return [
        _instructions(wanted),
        Message(role="user", content=f"{passage}\n{_part('repair')}"),
    ]


def reply_schema() -> Mapping[str, object]:
    """Return the JSON schema of `Form.JSON`: rows of strings, in the order of the prompt's fields."""
    return {
        "type": "object",
        "properties": {
            "E": {"type": "array", "items": {**_ROWS, "minItems": 3, "maxItems": 7}},
            "R": {"type": "array", "items": {**_ROWS, "minItems": 5, "maxItems": 9}},
        },
        "required": ["E", "R"],
        "additionalProperties": False,
    }


def worth_gleaning(parsed: Parsed, by_rules: Extraction) -> bool:
    """Say whether a second look is likely to pay: the reply was cut, or names that rules see there are missing.

    Names count as missing when no found name shares all their words or is contained in them.
    """
    if Problem.TRUNCATED in parsed.problems:
        return True
    found = [mention.name for mention in parsed.extraction.mentions]
    seen = sum(_counts(mention) for mention in by_rules.mentions)
    return len(_missed(found, by_rules)) >= max(LEAST_MISSED, LEAST_SHARE * seen)


def _missed(found: Sequence[str], by_rules: Extraction) -> list[str]:
    told = [_telling(name) for name in found]
    seen = [mention.name for mention in by_rules.mentions if _counts(mention)]
    return [
        name
        for name in seen
        if not any(_telling(name) <= other or other <= _telling(name) for other in told)
    ]


def _listed(names: Sequence[str]) -> str:
    return "; ".join(" ".join(name.split()) for name in names[:MOST_KNOWN])


def _counts(mention: Mention) -> bool:
    return mention.type is MentionType.EXPLICIT and mention.kind != "domain"


def _telling(name: str) -> frozenset[str]:
    return frozenset(words(normalized(name))) - STOP_WORDS


def _instructions(wanted: Wanted) -> Message:
    language = "in " + (wanted.language or "the passage's language")
    task = _part("task").replace("{kinds}", ", ".join(wanted.kinds))
    task = task.replace("{language}", language)
    return Message(role="system", content=f"{task}\n{_part(wanted.form)}")


def _passage(chunk: ChunkToRead) -> str:
    heads = [chunk.document_title, *chunk.draft.section_path]
    head = " > ".join(" ".join(part.split()) for part in heads if part.strip())
    return f"{head}\n\n{chunk.draft.text.strip()}" if head else chunk.draft.text.strip()


@cache
def _parts() -> Mapping[str, str]:
    page = resources.files("lightwell.ingest").joinpath("prompts", "extract.md")
    sections = _SECTION.split(page.read_text(encoding="utf-8"))
    return dict(zip(sections[1::2], map(str.strip, sections[2::2]), strict=True))


def _part(name: str) -> str:
    return _parts()[name]
