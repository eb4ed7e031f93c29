"""The messages that ask a chat model to extract from a chunk; `reply_parser` parses the replies."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from lightwell.domain.graph import Extraction, Mention, MentionType, normalize_name
from lightwell.domain.prompt_fencing import fence
from lightwell.ingest.extract import rule_extractor
from lightwell.ingest.extract.reply_parser import ParsedReply, Problem
from lightwell.ports import ExtractionInput, Message
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, words

DEFAULT_KINDS = ("person", "organization", "place", "event", "product", "work", "concept")
MAX_KNOWN_NAMES = 80
"""At most so many known names, and so many missed names, go into a gleaning request, in order of discovery."""

MIN_MISSED_NAMES, MIN_MISSED_SHARE = 3, 0.15
"""Gleaning is worth its cost when rules find this many further names, and this share of all names that they find."""

_SECTION = regex(r"^# (\w+)\n", re.MULTILINE)
_ROWS = {"type": "array", "items": {"type": "string"}}


class OutputForm(StrEnum):
    """The form of replies: lines cost the fewest tokens; JSON suits endpoints that enforce a schema."""

    LINES = "lines"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSpec:
    """The entity kinds to extract and the form of the reply; `language` "" means the passage's own."""

    kinds: tuple[str, ...] = DEFAULT_KINDS
    language: str = ""
    form: OutputForm = OutputForm.LINES


def extraction_messages(chunk: ExtractionInput, spec: ExtractionSpec) -> list[Message]:
    """Return the messages of the first pass: instructions, equal for all chunks, and the chunk as fenced data."""
    return _messages(_passage(chunk), "first", spec)


def gleaning_messages(
    chunk: ExtractionInput, names: Sequence[str], spec: ExtractionSpec
) -> list[Message]:
    """Return the messages of gleaning: instructions, the chunk, the names found so far, and names that only rules found.

    The earlier messages are not repeated, which saves tokens.
    """
    text = f"{_passage(chunk)}\n\nKnown: {_joined_names(names)}"
    if missed := _missed_names(names, rule_extractor.extract_by_rules(chunk)):
        text += f"\nPerhaps missing: {_joined_names(missed)}"
    return _messages(text, "again", spec)


def repair_messages(chunk: ExtractionInput, spec: ExtractionSpec) -> list[Message]:
    """Return the first pass with a reminder of the form, sent once after an unusable reply; without earlier messages."""
    return _messages(_passage(chunk), "repair", spec)


def reply_schema() -> Mapping[str, object]:
    """Return the JSON schema of `OutputForm.JSON`: rows of strings, in the order of the prompt's fields."""
    return {
        "type": "object",
        "properties": {
            "E": {"type": "array", "items": {**_ROWS, "minItems": 3, "maxItems": 7}},
            "R": {"type": "array", "items": {**_ROWS, "minItems": 5, "maxItems": 9}},
        },
        "required": ["E", "R"],
        "additionalProperties": False,
    }


def should_glean(parsed: ParsedReply, by_rules: Extraction) -> bool:
    """Return whether gleaning is likely to be worth its cost: the reply was cut off, or lacks names that rules find.

    A name is missing if its words neither include nor belong to those of any found name.
    """
    if Problem.TRUNCATED in parsed.problems:
        return True
    names = [mention.name for mention in parsed.extraction.mentions]
    rule_count = sum(_is_comparable(mention) for mention in by_rules.mentions)
    return len(_missed_names(names, by_rules)) >= max(
        MIN_MISSED_NAMES, MIN_MISSED_SHARE * rule_count
    )


def _missed_names(names: Sequence[str], by_rules: Extraction) -> list[str]:
    found_words = [_distinctive_words(name) for name in names]
    rule_names = [mention.name for mention in by_rules.mentions if _is_comparable(mention)]
    return [
        name
        for name in rule_names
        if not any(
            _distinctive_words(name) <= other or other <= _distinctive_words(name)
            for other in found_words
        )
    ]


def _joined_names(names: Sequence[str]) -> str:
    return "; ".join(" ".join(name.split()) for name in names[:MAX_KNOWN_NAMES])


def _is_comparable(mention: Mention) -> bool:
    return mention.type is MentionType.EXPLICIT and mention.kind != "domain"


def _distinctive_words(name: str) -> frozenset[str]:
    return frozenset(words(normalize_name(name))) - STOP_WORDS


def _messages(text: str, request: str, spec: ExtractionSpec) -> list[Message]:
    """Return the instructions, and the fenced text with the section of the prompt that asks for something of it."""
    language = "in " + (spec.language or "the passage's language")
    task = _prompt_section("task").replace("{kinds}", ", ".join(spec.kinds))
    task = task.replace("{language}", language)
    return [
        Message(role="system", content=f"{task}\n{_prompt_section(spec.form)}"),
        Message(role="user", content=f"{fence(text)}\n{_prompt_section(request)}"),
    ]


def _passage(chunk: ExtractionInput) -> str:
    heads = [chunk.document_title, *chunk.draft.section_path]
    head = " > ".join(" ".join(part.split()) for part in heads if part.strip())
    return f"{head}\n\n{chunk.draft.text.strip()}" if head else chunk.draft.text.strip()


@cache
def _prompt_sections() -> Mapping[str, str]:
    page = resources.files("lightwell.ingest.extract").joinpath("prompts", "extract.md")
    sections = _SECTION.split(page.read_text(encoding="utf-8"))
    return dict(zip(sections[1::2], map(str.strip, sections[2::2]), strict=True))


def _prompt_section(name: str) -> str:
    return _prompt_sections()[name]
