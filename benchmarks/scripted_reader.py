"""A scripted model of fixed quality: it knows what is to be noted of a document and writes a seeded share of it.

It writes in whichever form it is asked, ours or LightRAG's. So prompts are not compared by it (it does not read them),
but what the forms cost, what the parsers make of careless rows, and when a second look is taken.
"""

import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.extraction_gold import Document
from lightwell.ports import Message, Reply, Usage
from lightwell.text.tokens import token_count

DESCRIPTION = "What the passage says of it, in about as many words as a model writes on the average"
LINKS = "How the one has to do with the other, said in some ten words"
SECOND_LOOKS = ("A second look", "last extraction task")
MARK, COMPLETE = "<|#|>", "<|COMPLETE|>"

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Shares: of what there is, noted at first; of what was missed, noted at a second look; of rows, written carelessly."""

    first: float
    second: float = 0.5
    careless: float = 0.0


class ScriptedReader:
    """A `ChatModel` that knows the documents; equal seeds miss the same in every form."""

    model = "scripted"

    def __init__(self, documents: Sequence[Document], quality: Quality, seed: int) -> None:
        self._documents = documents
        self._quality = quality
        self._seed = seed

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        asked = "\n".join(message.content for message in messages)
        document = next(one for one in self._documents if one.text in asked)
        again = any(sign in messages[-1].content for sign in SECOND_LOOKS)
        entities, relations = self._noted(document, again=again)
        text = self._written(messages[0].content, entities, relations, schema is not None)
        usage = Usage(
            model=self.model,
            input_tokens=sum(token_count(message.content) for message in messages),
            output_tokens=token_count(text),
        )
        return Reply(text=text, complete=True, usage=usage)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        raise NotImplementedError

    def _noted(self, document: Document, *, again: bool) -> tuple[list[str], list[tuple[str, str]]]:
        first, second = self._quality.first, self._quality.second
        early = {name for name in document.names if self._luck(document, name) < first}
        late = {
            name
            for name in document.names
            if name not in early and self._luck(document, f"{name} again") < second
        }
        told = [
            pair
            for pair in document.relations
            if early.issuperset(pair) and self._luck(document, *pair) < first
        ]
        if not again:
            return [name for name in document.names if name in early], told
        more = [
            pair
            for pair in document.relations
            if pair not in told
            and (early | late).issuperset(pair)
            and self._luck(document, *pair, "again") < second
        ]
        return [name for name in document.names if name in late], more

    def _written(
        self,
        system: str,
        entities: Sequence[str],
        relations: Sequence[tuple[str, str]],
        as_json: bool,  # noqa: FBT001 - private
    ) -> str:
        if '"entities"' in system:
            return _their_json(entities, relations)
        if as_json:
            return _our_json(entities, relations)
        theirs = MARK in system
        mark, end = (MARK, COMPLETE) if theirs else ("|", "END")
        rows: list[Row]
        if theirs:
            rows = [("entity", name, "concept", DESCRIPTION) for name in entities]
            rows += [("relation", one, two, "works with", LINKS) for one, two in relations]
        else:
            rows = [("E", *_our_entity(name)) for name in entities]
            rows += [("R", *_our_relation(one, two)) for one, two in relations]
        return "\n".join([*(self._spoilt(row, mark, rows[0][0]) for row in rows), end])

    def _spoilt(self, row: Row, mark: str, entity: str) -> str:
        """Return the row, now and then as small models write it; the same rows and ways in every form."""
        what = "/".join(row[1 : 2 if row[0] == entity else 3])
        if self._luck(None, what, "careless") >= self._quality.careless:
            return mark.join(row)
        match int(self._luck(None, what, "way") * 5):
            case 0:
                return "- " + mark.join(row)
            case 1:
                return mark.join([entity, *row[1:]])
            case 2:
                return mark.join(row[:-1] if row[0] == entity else row[:5][: len(row) - 1])
            case 3:
                return mark.join([*row, "a field too many"])
            case _:
                return mark.join([row[0], f'"{row[1]}"', *row[2:]])

    def _luck(self, document: Document | None, *what: str) -> float:
        title = document.title if document else ""
        return random.Random("/".join([str(self._seed), title, *what])).random()


def _our_entity(name: str) -> Row:
    return (name, "concept", DESCRIPTION)


def _our_relation(one: str, two: str) -> Row:
    return (one, two, "RELATED_TO", "works with", LINKS, "8", "0.9")


def _our_json(entities: Sequence[str], relations: Sequence[tuple[str, str]]) -> str:
    rows = {
        "E": [_our_entity(name) for name in entities],
        "R": [_our_relation(one, two) for one, two in relations],
    }
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def _their_json(entities: Sequence[str], relations: Sequence[tuple[str, str]]) -> str:
    told = {
        "entities": [
            {"name": name, "type": "Concept", "description": DESCRIPTION} for name in entities
        ],
        "relationships": [
            {"source": one, "target": two, "keywords": "works with", "description": LINKS}
            for one, two in relations
        ],
    }
    return json.dumps(told, ensure_ascii=False, indent=2)
