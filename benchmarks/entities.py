"""What the rules make of a folder, as tables for a person to judge: `python -m benchmarks entities FOLDER`.

Prints the entities that most passages mention and a random sample of all, each with its kind and its description, then a
sample of the relations. Whoever reads them says for each line whether it belongs into a graph; the share is the result.
"""

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lightwell.domain.errors import Unreadable
from lightwell.domain.graph import Extraction, Mention, RelationMention, normalize_name
from lightwell.domain.ids import ChunkId, new_id
from lightwell.ingest.chunking import split_into_chunks
from lightwell.ingest.extract.descriptions import best
from lightwell.ingest.extract.rule_extractor import extract_by_rules
from lightwell.ingest.parse import parse
from lightwell.ingest.parse.formats import detect_format, has_known_extension
from lightwell.ingest.titles import title_from_url
from lightwell.ports import ExtractionInput

SHOWN = 100
_SEED = 1
_WIDTH = 170


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """The mentions of one name, in the order of the passages."""

    mentions: tuple[Mention, ...]

    def __str__(self) -> str:
        name = Counter(mention.name for mention in self.mentions).most_common(1)[0][0]
        kind = Counter(mention.kind for mention in self.mentions).most_common(1)[0][0]
        quote = best(mention.quote for mention in self.mentions)
        return f"{len(self.mentions):4} {kind:12} {name:40} {quote.text}"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks entities", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shown", type=int, default=SHOWN, help="lines of each table")
    parser.add_argument("--seed", type=int, default=_SEED, help="of the random samples")
    options = parser.parse_args(arguments)
    chunks = [chunk for path in _files(options.folder) for chunk in _read(path)]
    began = time.process_time()
    extractions = [extract_by_rules(chunk) for chunk in chunks]
    spent = time.process_time() - began
    size = sum(len(chunk.draft.text.encode()) for chunk in chunks) / 1e6
    entities = _entities(extractions)
    relations = [one for each in extractions for one in each.relation_mentions]
    print(
        f"{len(chunks)} passages of {size:.2f} MB, {len(entities)} entities, {len(relations)} relation mentions,"
        f" {spent / max(size, 0.001):.2f} CPU s per MB"
    )
    draw = random.Random(options.seed)
    frequent = sorted(entities, key=lambda entity: -len(entity.mentions))[: options.shown]
    _print("in most passages", frequent)
    _print("at random", draw.sample(entities, min(options.shown, len(entities))))
    _print("relations at random", map(_line, draw.sample(relations, min(50, len(relations)))))


def _files(folder: Path) -> Iterator[Path]:
    return (
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and has_known_extension(path.name)
    )


def _read(path: Path) -> list[ExtractionInput]:
    content = path.read_bytes()
    try:
        document = parse(content, detect_format(path.name, content), name=path.name)
    except Unreadable:
        return []
    title = document.title or title_from_url(path.as_posix())
    return [
        ExtractionInput(
            id=ChunkId(new_id()), document_title=title, draft=draft, is_first=draft.index == 0
        )
        for draft in split_into_chunks(document)
    ]


def _entities(extractions: Sequence[Extraction]) -> list[Entity]:
    mentions: defaultdict[str, list[Mention]] = defaultdict(list)
    for extraction in extractions:
        for mention in extraction.mentions:
            mentions[normalize_name(mention.name)].append(mention)
    return [Entity(mentions=tuple(each)) for each in mentions.values()]


def _line(relation: RelationMention) -> str:
    return (
        f"{relation.subject} {relation.predicate} {relation.object} [{relation.keywords}]:"
        f" {relation.quote.text}"
    )


def _print(title: str, lines: Iterator[object] | Sequence[object]) -> None:
    print(f"\n{title}")
    for line in lines:
        print(str(line)[:_WIDTH])
