"""What a model that looks twice is given: reads as the reader who asks, none of more than the reader sees.

What the reader may not see is not found, with the same words and at the same cost as what never existed.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.looking.actions import Action, ActionKind
from lightwell.domain.access import Reader
from lightwell.domain.documents import Chunk
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.evidence import Evidence, Highlight, Retrieval
from lightwell.domain.graph import Relation
from lightwell.domain.ids import ChunkId
from lightwell.domain.questions import GRAPH_CHANNELS, NO_FILTERS, Question
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.documents import published_chunks
from lightwell.records.graph import entities
from lightwell.text.terms import terms

_SHOWN = 3
"""Passages that one action brings, at most."""
_AROUND = 1
"""Chunks before and behind a passage that is opened."""
_MAX_SEARCHED = 1000
_MAX_TERMS = 16
_MAX_RELATIONS = 12

Search = Callable[[Question], Awaitable[Retrieval]]
"""Searches what the reader may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an action found: passages, the best first, or what the graph states."""

    passages: tuple[Evidence, ...] = ()
    relations: tuple[Relation, ...] = ()


NOTHING = Found()


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What one reader may look at for a question."""

    database: Database
    reader: Reader
    question: Question
    search: Search

    async def find(self, action: Action, shown: Sequence[Evidence]) -> Found:
        """Return what an action finds; `shown` are the passages that its number counts, from 1. Raise `ModelFailed`."""
        if action.kind is ActionKind.SEARCH:
            return await self._search(action)
        if action.kind is ActionKind.NEIGHBOURS:
            return await self._list_neighbours(action.query)
        if not 0 < action.passage <= len(shown):
            return NOTHING
        entry = shown[action.passage - 1]
        if action.kind is ActionKind.OPEN:
            return await self._open(entry)
        return await self._find_words(entry, action.query)

    async def _search(self, action: Action) -> Found:
        filters = action.narrow(self.question.filters)
        question = replace(self.question, text=action.query, filters=filters, limit=_SHOWN)
        retrieval = await self.search(question)
        return Found(passages=retrieval.evidence[:_SHOWN])

    async def _open(self, entry: Evidence) -> Found:
        """Return the chunks before and behind a passage."""
        members = entry.published_chunks
        first = max(0, members[0].index - _AROUND)
        count = members[-1].index + _AROUND - first + 1
        around = await published_chunks.list_by_document(
            self.database, self.reader, members[0].document_id, after=first, limit=count
        )
        member_ids = {chunk.id for chunk in members}
        chunks = await self._chunks([chunk for chunk in around if chunk not in member_ids])
        return Found(passages=tuple(_beside(entry, chunk) for chunk in chunks))

    async def _find_words(self, entry: Evidence, query: str) -> Found:
        """Return the chunks of a passage's document that have most of the words."""
        wanted = tuple(dict.fromkeys(terms(query)))[:_MAX_TERMS]
        document = entry.chunk.document_id
        ids = await published_chunks.list_by_document(
            self.database, self.reader, document, after=0, limit=_MAX_SEARCHED
        )
        if not wanted or not ids:
            return NOTHING
        hits = await search.get_term_frequencies(
            self.database, self.reader, ids, wanted, filters=NO_FILTERS
        )
        hits.sort(key=lambda hit: (-sum(map(bool, hit.frequencies)), hit.index))
        best = [hit.chunk_id for hit in hits[:_SHOWN] if any(hit.frequencies)]
        return Found(
            passages=tuple(
                _highlighted(_beside(entry, chunk), frozenset(wanted))
                for chunk in await self._chunks(best)
            )
        )

    async def _list_neighbours(self, name: str) -> Found:
        """Return what the graph states of the entity with this name, the weightiest first."""
        if not self.question.channels & GRAPH_CHANNELS:
            return NOTHING
        try:
            entity = await entities.resolve_name(self.database, self.reader, name)
        except (NotFound, Invalid):
            return NOTHING
        related = await entities.list_relations_of(self.database, self.reader, [entity.entity_id])
        return Found(relations=tuple(related[:_MAX_RELATIONS]))

    async def _chunks(self, ids: Sequence[ChunkId]) -> list[Chunk]:
        chunks = await search.get_chunks(self.database, self.reader, ids)
        return [chunks[chunk_id] for chunk_id in ids if chunk_id in chunks]


def _beside(entry: Evidence, chunk: Chunk) -> Evidence:
    """Return a chunk as evidence that is as relevant as the passage that led to it."""
    return Evidence(chunk=chunk, relevance=entry.relevance, score=0.0, cosine_distance=None)


def _highlighted(entry: Evidence, wanted: frozenset[str]) -> Evidence:
    """Return the passage with the unit as its highlight that has most of the words."""
    best = max(entry.analysis.units, key=lambda unit: len(wanted & unit.terms), default=None)
    if best is None or not wanted & best.terms:
        return entry
    share = len(wanted & best.terms) / len(wanted)
    highlight = Highlight(start=best.start, end=best.end, coverage=share, similarity=0.0)
    return replace(entry, highlights=(highlight,))
