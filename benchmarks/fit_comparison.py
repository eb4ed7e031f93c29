"""Fits what a passage that late interaction compared is judged by, on the development questions, and says how well it does.

python benchmarks/fit_comparison.py            # report what the shipped weights reach
python benchmarks/fit_comparison.py --write    # fit, write weights.toml, report

Fitted on the questions of the two handbooks and on our own about packaged documentation: with the passages that are found, without
the documents that answer, and the ones that no document answers. A question whose answer is in no passage that was found is left
out. Reported, too, for the questions of `fit_reading`. Only `split: dev` is used here.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from fit_reading import SETS, SHOWN, Case, Kept, fitted, found_passages, kept, report
from fit_retrieval import WEIGHTS, page, parse_fit_options
from retrieval_sets import EMBEDDER, HANDBOOKS, PACKAGED, load, open_collection
from retrieval_store import Store

from lightwell.connectors.files import Files
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.reranking import EncodedChunk, HeadedPassage
from lightwell.evaluation.collection import (
    TAGS,
    CollectionQuestion,
    PublicDocuments,
)
from lightwell.evaluation.correctness import holds_answer
from lightwell.models.late_interaction import LocalLateInteraction
from lightwell.ports import Embedder
from lightwell.retrieve import local_reranker
from lightwell.retrieve import weights as learned
from lightwell.retrieve.local_reranker import RerankQuery
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.retrieve.weights import COMPARED
from lightwell.settings import Settings
from lightwell.wiring import open_project, open_resources

ASKED = 50
"""Development questions of a set, at most."""
ANSWERABLE = 0.61
"""The share of questions that is taken to be answerable: with it 90 % (dev) and 92 % (test) of the unanswerable ones
are refused, and 19 of the 21 of the example world (`tests/flow/test_example_world.py` allows no fewer)."""
DEV = "dev"
LATE = LocalLateInteraction()
DEEP = 20


async def measured(embedder: Embedder, query: RerankQuery, found: Sequence[Evidence]) -> Floats:
    """Return the measures of these passages, (passages, `COMPARED`)."""
    rows = await local_reranker.measure_passages(embedder, query, found, LATE)
    return np.array(rows).reshape(len(rows), len(COMPARED))


async def with_windows(query: RerankQuery, found: Sequence[Evidence]) -> list[Evidence]:
    """Return the passages with how their windows match, as if they had been encoded when they were ingested."""
    passages = [HeadedPassage(head=each.chunk.heading_path, text=each.chunk.text) for each in found]
    encoded = await LATE.encode(passages)
    matches = await LATE.match(query.text, encoded)
    return [
        replace(each, windows=some, encoded=(EncodedChunk(start=0, vectors=vectors),))
        for each, some, vectors in zip(found, matches, encoded, strict=True)
    ]


async def set_cases(name: str, store: Store, embedder: Kept) -> list[Case]:
    """Return development questions of a set, with the passages that answer them and without."""
    made: list[Case] = []
    for question in [each for each in store.questions if each.split == DEV and each.gold][:ASKED]:
        for without in ((), question.gold):
            query, found = found_passages(store, question, without)
            seen = await with_windows(query, found)
            table = await measured(embedder, query, seen)
            made.append(Case(name=name, split=DEV, is_answerable=not without, table=table))
    return made


async def collection_cases(name: str, data: Path, embedder: Kept) -> list[Case]:
    """Return the development questions of a collection: as they are, and without the documents that answer them."""
    collection = open_collection(name, data)
    made: list[Case] = []
    async with open_resources(Settings(data=data), around=lambda _: EMBEDDER) as resources:
        unjudged = resources.settings.with_values({"questions.rerank": "none"})
        kb = await open_project(replace(resources, settings=unjudged))
        files = Files(root=collection.root, default_tags=TAGS)
        await kb.ingestion.ingest(PublicDocuments(files))
        everybody = await kb.reader(TAGS)
        for question in [each for each in collection.questions if each.split == DEV]:
            retrieval = await kb.questions.search(question.text, everybody, limit=DEEP)
            vector = await embedder.embed_query(question.text)
            query = RerankQuery(
                text=question.text,
                vector=vector[0],
                weights=retrieval.weights,
                names=retrieval.analysis.proper_name_terms,
                expected=retrieval.analysis.expected,
            )
            for is_answerable, found in _asked(question, retrieval):
                table = await measured(embedder, query, found)
                made.append(Case(name=name, split=DEV, is_answerable=is_answerable, table=table))
    return made


def _asked(
    question: CollectionQuestion, retrieval: Retrieval
) -> list[tuple[bool, Sequence[Evidence]]]:
    found = retrieval.evidence
    if not question.is_answerable:
        return [(False, found[:SHOWN])]
    without = [entry for entry in found if entry.chunk.url not in question.gold]
    told = "\n".join(entry.chunk.text for entry in found[:SHOWN])
    is_held = holds_answer(question.groups, told)
    return [*([(True, found[:SHOWN])] if is_held else []), (False, without[:SHOWN])]


async def all_cases(stores: Mapping[str, Store], cache: Path) -> list[Case]:
    """Return the cases of all collections and of these sets."""
    embedder = kept(cache)
    made: list[Case] = []
    for name in (*HANDBOOKS, *PACKAGED):
        made += await collection_cases(name, cache / name, embedder)
    for name, store in stores.items():
        made += await set_cases(name, store, embedder)
    return made


def main() -> None:
    options = parse_fit_options(__doc__)
    stores = {name: load(name, options.cache) for name in SETS}
    asked = asyncio.run(all_cases(stores, options.cache))
    if options.write:
        used = [each for each in asked if each.name in (*HANDBOOKS, *PACKAGED)]
        weights = replace(learned.load_weights(), compared=fitted(used, COMPARED, ANSWERABLE))
        WEIGHTS.write_text(page(weights), encoding="utf-8")
        learned.load_weights.cache_clear()
    report(asked, learned.load_weights().compared)


if __name__ == "__main__":
    main()
