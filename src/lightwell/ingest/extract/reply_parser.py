"""Turns a model's reply to `extraction_messages` into an extraction, and counts its problems."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lightwell.domain.graph import (
    MIN_CONFIDENCE,
    UNKNOWN_KIND,
    Extraction,
    Mention,
    MentionType,
    Predicate,
    RelationMention,
    join_descriptions,
    normalize_name,
)
from lightwell.ingest.extract import rule_extractor
from lightwell.ingest.extract.reply_rows import ENTITY_FIELDS, RELATION_FIELDS, Problem, parse_rows
from lightwell.ports import ExtractionInput
from lightwell.text.markup import strip_active_markup
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, words

INFERRED_CONFIDENCE = 0.5
"""The confidence of an entity that the passage does not name."""

UNDECLARED_CONFIDENCE = 0.8
"""The confidence of an entity that only a relation names, in the passage's own words."""

MAX_WEIGHT = 10.0
EXAMPLE_NAMES = frozenset({"ada lovelace", "analytical engine", "charles babbage", "london"})
"""The names of the example in `prompts/extract.md`: small models repeat them for any passage."""

EXAMPLE_DESCRIPTIONS = frozenset(
    {
        "wrote a program for the analytical engine",
        "machine that charles babbage designed",
        "designed the analytical engine",
        "where the analytical engine was designed",
        "she wrote a program for it",
        "he designed it",
        "it was designed there",
    }
)
"""The descriptions of that example, which small models repeat for other entities."""

_MAX_NAME, _MAX_KIND, _MAX_FIELD, _MAX_DESCRIPTION = 120, 40, 200, 1000
_MAX_KEYWORD_COUNT = 4
_PLACEHOLDERS = frozenset({"unknown", "none", "n/a", "not specified", "not mentioned", "not given"})
_DEFAULT_KIND = "other"
_CONCEPT_FIELDS = ("aliases", "category", "difficulty", "tags")
_WRAPPING = " \t\"'“”‘’`*<>[]{},;:"
_KIND = regex(r"[^\w\- ]+")
_GAPS = regex(r"[\s\-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReply:
    """The extraction of a reply, and how often each problem occurred in it."""

    extraction: Extraction
    problems: Mapping[Problem, int]


def parse_reply(text: str, chunk: ExtractionInput, *, complete: bool = True) -> ParsedReply:
    """Return the extraction in the reply's order, as far as the reply can be parsed; never raises.

    `complete` is false when the endpoint cut the reply at its token limit.
    """
    rows = parse_rows(text, complete=complete)
    parser = _ReplyParser(chunk, Counter(rows.problems))
    for row in rows.entities:
        parser.add_entity_row(dict(zip(ENTITY_FIELDS, row, strict=True)))
    for row in rows.relations:
        parser.add_relation_row(dict(zip(RELATION_FIELDS, row, strict=True)))
    extraction = Extraction(
        mentions=tuple(parser.mentions.values()),
        relation_mentions=tuple(parser.statements.values()),
        unknown_predicates=parser.problems[Problem.INVALID_PREDICATE],
    )
    return ParsedReply(
        extraction=extraction, problems={p: n for p, n in parser.problems.items() if n}
    )


class _ReplyParser:
    """Turns rows into mentions and relation mentions, one after another."""

    def __init__(self, chunk: ExtractionInput, problems: Counter[Problem]) -> None:
        self.problems = problems
        self.mentions: dict[str, Mention] = {}
        self.statements: dict[tuple[str, str, Predicate], RelationMention] = {}
        self._chunk = chunk
        heads = " ".join([chunk.document_title, *chunk.draft.section_path])
        self._text = normalize_name(chunk.draft.text)
        self._words = frozenset(words(f"{heads} {chunk.draft.text}"))

    def add_entity_row(self, row: Mapping[str, str]) -> None:
        name = self._clean_name(row["name"], Problem.EMPTY_NAME)
        if not name:
            return
        bare = " ".join(_KIND.sub(" ", row["type"]).casefold().split())
        mention = Mention(
            name=name,
            kind=bare if 0 < len(bare) <= _MAX_KIND else _DEFAULT_KIND,
            description=self._clean_description(row["description"]),
            count=self._occurrences(name),
            attributes={
                field: _shorten(row[field], _MAX_FIELD) for field in _CONCEPT_FIELDS if row[field]
            },
        )
        if not self._is_supported(name):
            self.problems[Problem.UNSUPPORTED] += 1
            mention = replace(mention, type=MentionType.INFERRED, confidence=INFERRED_CONFIDENCE)
        self._add_mention(mention)

    def add_relation_row(self, row: Mapping[str, str]) -> None:
        subject = self._clean_name(row["subject"], Problem.EMPTY_SUBJECT)
        target = self._clean_name(row["object"], Problem.EMPTY_OBJECT)
        confidence = self._parse_number(row["confidence"], 1.0)
        if not subject or not target:
            return
        if normalize_name(subject) == normalize_name(target):
            self.problems[Problem.SELF_LOOP] += 1
        elif confidence < MIN_CONFIDENCE:
            self.problems[Problem.LOW_CONFIDENCE] += 1
        else:
            self._add_relation(
                row, self._resolve_name(subject), self._resolve_name(target), confidence
            )

    def _add_relation(
        self, row: Mapping[str, str], subject: str, target: str, confidence: float
    ) -> None:
        predicate = self._parse_predicate(row["predicate"])
        keywords, description = _keywords_and_description(row)
        weight = self._parse_number(row["weight"], 1.0)
        compared = predicate is Predicate.COMPARED_TO
        relation = RelationMention(
            subject=subject,
            object=target,
            predicate=predicate,
            keywords=_shorten(keywords, _MAX_FIELD),
            description=self._clean_description(description),
            weight=min(weight, MAX_WEIGHT) if weight > 0 else 1.0,
            confidence=min(confidence, 1.0),
            comparison=_shorten(row["comparison"], _MAX_DESCRIPTION) if compared else "",
            use_case=_shorten(row["use_case"], _MAX_DESCRIPTION) if compared else "",
        )
        key = (subject, target, predicate)
        before = self.statements.get(key)
        if before:
            self.problems[Problem.REPEATED] += before.description == relation.description
            relation = replace(
                before, description=join_descriptions([before.description, relation.description])
            )
        self.statements[key] = relation

    def _add_mention(self, mention: Mention) -> None:
        key = normalize_name(mention.name)
        before = self.mentions.get(key)
        if before:
            self.problems[Problem.REPEATED] += before.description == mention.description
            mention = replace(
                before,
                description=join_descriptions([before.description, mention.description]),
                attributes={**mention.attributes, **before.attributes},
            )
        self.mentions[key] = mention

    def _resolve_name(self, name: str) -> str:
        """Return the name as the entity rows write it; add a mention if no row declares it."""
        key = normalize_name(name)
        if key not in self.mentions:
            self.problems[Problem.UNDECLARED] += 1
            supported = self._is_supported(name)
            self.mentions[key] = Mention(
                name=name,
                kind=self._kinds_by_rule().get(key, _DEFAULT_KIND),
                type=MentionType.INFERRED,
                confidence=UNDECLARED_CONFIDENCE if supported else INFERRED_CONFIDENCE,
                count=self._occurrences(name),
            )
        return self.mentions[key].name

    def _kinds_by_rule(self) -> Mapping[str, str]:
        extraction = rule_extractor.extract_by_rules(self._chunk)
        return {
            normalize_name(mention.name): mention.kind
            for mention in extraction.mentions
            if mention.kind != UNKNOWN_KIND
        }

    def _clean_name(self, text: str, empty: Problem) -> str:
        name = " ".join(text.split()).strip(_WRAPPING)
        if not normalize_name(name):
            self.problems[empty] += 1
            return ""
        if len(name) > _MAX_NAME:
            self.problems[Problem.TOO_LONG] += 1
            return ""
        if normalize_name(name) in EXAMPLE_NAMES and not self._is_supported(name):
            self.problems[Problem.ECHOED] += 1
            return ""
        return name

    def _clean_description(self, text: str) -> str:
        line = _shorten(strip_active_markup(text), _MAX_DESCRIPTION)
        if normalize_name(line) in EXAMPLE_DESCRIPTIONS and "engine" not in self._words:
            self.problems[Problem.ECHOED] += 1
            return ""
        return "" if normalize_name(line) in _PLACEHOLDERS else line

    def _parse_predicate(self, text: str) -> Predicate:
        word = _GAPS.sub("_", text.strip(_WRAPPING)).upper()
        if word in Predicate.__members__:
            return Predicate(word)
        self.problems[Problem.INVALID_PREDICATE] += 1
        return Predicate.RELATED_TO

    def _parse_number(self, text: str, default: float) -> float:
        bare = text.strip(_WRAPPING)
        try:
            number = float(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
        except ValueError:
            self.problems[Problem.NOT_A_NUMBER] += bool(bare)
            return default
        return number if math.isfinite(number) else default

    def _occurrences(self, name: str) -> int:
        whole = rf"(?<!\w){re.escape(normalize_name(name))}(?!\w)"
        return max(1, len(re.findall(whole, self._text)))

    def _is_supported(self, name: str) -> bool:
        content_words = frozenset(words(name)) - STOP_WORDS
        return not self._words.isdisjoint(content_words) or (
            not content_words and normalize_name(name) in self._text
        )


def _keywords_and_description(row: Mapping[str, str]) -> tuple[str, str]:
    """Return both fields; small models often omit the keywords and put the description in their place."""
    keywords, description = row["keywords"], row["description"]
    if description or len(keywords.split()) <= _MAX_KEYWORD_COUNT:
        return keywords, description
    return "", keywords


def _shorten(text: str, longest: int) -> str:
    """Return the text on one line; if it is too long, cut it after a whole word."""
    line = " ".join(text.split()).strip("\"'")
    return line if len(line) <= longest else line[:longest].rpartition(" ")[0] or line[:longest]
