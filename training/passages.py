"""Writes the passages that Lightwell finds for each question of a collection, for `training.evaluate`.

    uv run python -m training.passages DOCUMENTS questions.jsonl STORE out.jsonl.gz

Ingests the folder into a store of its own; a second run finds it there. Per question one line with the question, its
term weights, and under `five` and `twenty` the passages that a limit of 5 and of 20 gives, best first.
"""

import argparse
import asyncio
import gzip
import json
from pathlib import Path

from lightwell.connectors.files import Files
from lightwell.domain.access import parse_tags
from lightwell.domain.evidence import Evidence
from lightwell.settings import Settings
from lightwell.wiring import open_knowledge_base

TAGS = ("public",)


def _row(evidence: Evidence) -> dict[str, object]:
    chunk = evidence.chunk
    return {
        "doc": str(chunk.document_ref),
        "title": chunk.title,
        "url": chunk.url,
        "section": chunk.locator.section,
        "text": chunk.text,
        "relevance": evidence.relevance,
        "score": evidence.score,
        "cos": evidence.cosine_distance,
        "highlights": [
            (each.start, each.end, each.coverage, each.similarity) for each in evidence.highlights
        ],
    }


async def write(given: argparse.Namespace) -> None:
    async with open_knowledge_base(Settings(data=given.store)) as kb:
        await kb.ingest(Files(root=given.documents.resolve(), default_tags=parse_tags(TAGS)))
        reader = await kb.reader(TAGS)
        with gzip.open(given.out, "wt") as out:
            for line in given.questions.read_text().splitlines():
                asked = json.loads(line)
                found = {
                    name: await kb.search(asked["question"], reader, limit=limit)
                    for name, limit in (("five", 5), ("twenty", 20))
                }
                row = {"q": asked, "weights": dict(found["five"].weights)}
                row |= {
                    name: [_row(each) for each in some.evidence] for name, some in found.items()
                }
                out.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("out", type=Path)
    asyncio.run(write(parser.parse_args()))


if __name__ == "__main__":
    main()
