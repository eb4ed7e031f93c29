"""Tokens that extraction costs for 1,000 tokens of source, beside LightRAG's defaults by its own published prompts.

    uv run --with lightrag-hku python -m benchmarks.extraction_tokens

LightRAG is no dependency of the project: `--with` puts it into an environment of its own for this run; without it only
our half is printed. No model is asked. Both are given the example world's documents, each cut as each cuts by
default, and a reply of equal content in each one's form: what the rules find in the chunk. So the tables compare what
is sent around a passage and what its form costs, and nothing else. LightRAG takes a second look at every chunk with
the whole history replayed; ours is shown for none, for three chunks in ten, and for every one.
"""

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast
from uuid import UUID

from lightwell.domain.documents import ChunkDraft, Format
from lightwell.domain.graph import Extraction
from lightwell.domain.ids import ChunkId
from lightwell.ingest.chunking import split_into_chunks
from lightwell.ingest.extract import rule_extractor
from lightwell.ingest.extract.extraction_prompt import (
    ExtractionSpec,
    OutputForm,
    extraction_messages,
    gleaning_messages,
)
from lightwell.ingest.parse import parse
from lightwell.ports import ExtractionInput, Message
from lightwell.text.tokens import token_count
from lightwell.world import DOCUMENTS

OVERLAP, SIZE = 100, 1200
"""LightRAG's default chunks, in tokens."""

DESCRIPTION = (
    "What the passage says of it, in about as many words as a model writes on the average here"
)
LINKS = "How the one has to do with the other, said in some ten words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Tokens of a whole corpus."""

    calls: int = 0
    sent: int = 0
    written: int = 0

    def plus(self, messages: Sequence[Message], reply: str) -> "Cost":
        """Return the cost with one more call."""
        return Cost(
            calls=self.calls + 1,
            sent=self.sent + sum(token_count(message.content) for message in messages),
            written=self.written + token_count(reply),
        )

    def mixed(self, other: "Cost", share: float) -> "Cost":
        """Return this cost and a share of the other."""
        return Cost(
            calls=self.calls + round(other.calls * share),
            sent=self.sent + round(other.sent * share),
            written=self.written + round(other.written * share),
        )


def sources() -> list[tuple[str, str]]:
    """Return the title and text of every markdown document of the example world."""
    return [(path.stem, path.read_text("utf-8")) for path in sorted(Path(DOCUMENTS).rglob("*.md"))]


def to_read(title: str, draft: ChunkDraft) -> ExtractionInput:
    return ExtractionInput(
        id=ChunkId(UUID(int=1)), document_title=title, draft=draft, is_first=draft.index == 0
    )


# ── ours ─────────────────────────────────────────────────────────────────────────────────────────────


def our_reply(said: Extraction, form: OutputForm) -> str:
    entities = [[one.name, one.kind, DESCRIPTION] for one in said.mentions]
    relations = [
        [one.subject, one.object, one.predicate.value, "works with", LINKS, "8", "0.9"]
        for one in said.relation_mentions
    ]
    if form is OutputForm.JSON:
        return json.dumps({"E": entities, "R": relations}, separators=(",", ":"))
    rows = [("E", entities), ("R", relations)]
    return "\n".join([*("|".join([sign, *row]) for sign, of in rows for row in of), "END"])


def ours(wanted: ExtractionSpec) -> tuple[Cost, Cost]:
    """Return the cost of the first passes and of a second look at every chunk."""
    first, second = Cost(), Cost()
    for title, text in sources():
        for draft in split_into_chunks(parse(text.encode(), Format.MARKDOWN, name=f"{title}.md")):
            chunk = to_read(title, draft)
            said = rule_extractor.extract_by_rules(chunk)
            first = first.plus(extraction_messages(chunk, wanted), our_reply(said, wanted.form))
            known = [mention.name for mention in said.mentions]
            nothing = our_reply(Extraction(mentions=(), relation_mentions=()), wanted.form)
            second = second.plus(gleaning_messages(chunk, known, wanted), nothing)
    return first, second


# ── LightRAG's ───────────────────────────────────────────────────────────────────────────────────────


def lightrag() -> ModuleType | None:
    try:
        return importlib.import_module("lightrag.prompt")
    except ImportError as missing:
        print(f"LightRAG is not here ({missing}); its half is left out.\n")
        return None


def windows(text: str) -> Iterator[str]:
    """Yield chunks of LightRAG's default size and overlap, by words, which is near enough to tokens."""
    words = text.split(" ")
    per_word = token_count(text) / len(words)
    size, step = int(SIZE / per_word), int((SIZE - OVERLAP) / per_word)
    for start in range(0, max(1, len(words) - int(OVERLAP / per_word)), step):
        yield " ".join(words[start : start + size])


def its_reply(said: Extraction, mark: str, end: str) -> str:
    entities = [
        f"entity{mark}{one.name}{mark}{one.kind}{mark}{DESCRIPTION}" for one in said.mentions
    ]
    relations = [
        f"relation{mark}{one.subject}{mark}{one.object}{mark}works with{mark}{LINKS}"
        for one in said.relation_mentions
    ]
    return "\n".join([*entities, *relations, end])


def its(module: ModuleType) -> tuple[Cost, Cost]:
    """Return the cost of the first passes and of the second looks, one for every chunk, by its defaults."""
    prompts = cast("Mapping[str, str]", module.PROMPTS)
    mark, end = prompts["DEFAULT_TUPLE_DELIMITER"], prompts["DEFAULT_COMPLETION_DELIMITER"]
    filled = {
        "tuple_delimiter": mark,
        "completion_delimiter": end,
        "entity_types_guidance": prompts["default_entity_types_guidance"],
        "language": "English",
        "max_total_records": 100,
        "max_entity_records": 40,
    }
    examples = "\n".join(prompts["entity_extraction_examples"]).format(**filled)
    system = prompts["entity_extraction_system_prompt"].format(**filled, examples=examples)
    first, second = Cost(), Cost()
    for title, text in sources():
        for window in windows(text):
            chunk = to_read(
                title, split_into_chunks(parse(window.encode(), Format.TEXT, name="x.txt"))[0]
            )
            reply = its_reply(rule_extractor.extract_by_rules(chunk), mark, end)
            asked = prompts["entity_extraction_user_prompt"].format(
                **filled, examples=examples, input_text=window, heading_context_block=""
            )
            again = prompts["entity_continue_extraction_user_prompt"].format(
                **filled, examples=examples, input_text=window
            )
            sent = [Message(role="system", content=system), Message(role="user", content=asked)]
            first = first.plus(sent, reply)
            history = [
                Message(role="assistant", content=reply),
                Message(role="user", content=again),
            ]
            second = second.plus([*sent, *history], end)
    return first, second


def main() -> None:
    total = sum(token_count(text) for _, text in sources())
    print(f"{len(sources())} documents, {total:,} tokens (cl100k)\n")
    print("| | calls | sent per 1,000 | written per 1,000 | together |")
    print("|---|--:|--:|--:|--:|")

    def row(name: str, cost: Cost) -> None:
        sent, written = cost.sent / total * 1000, cost.written / total * 1000
        print(f"| {name} | {cost.calls} | {sent:,.0f} | {written:,.0f} | {sent + written:,.0f} |")

    for form in OutputForm:
        first, second = ours(ExtractionSpec(form=form))
        row(f"Lightwell, {form.value}, no second look", first)
        row(f"Lightwell, {form.value}, a second look at 3 of 10", first.mixed(second, 0.3))
        row(f"Lightwell, {form.value}, a second look at every chunk", first.mixed(second, 1))
    module = lightrag()
    if module is not None:
        first, second = its(module)
        row("LightRAG, gleaning off", first)
        row("LightRAG, its defaults (a second look at every chunk)", first.mixed(second, 1))


if __name__ == "__main__":
    main()
