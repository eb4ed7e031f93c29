"""The best chunks as passages: neighbouring chunks that both rank high are one passage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lightwell.domain.documents import Chunk, Layout, Locator, text_between_chunks
from lightwell.domain.ids import ChunkId
from lightwell.domain.reranking import EncodedChunk, WindowMatch
from lightwell.retrieve.late_interaction import ChunkMatch, ChunkMatches
from lightwell.text.analysis.passage import PassageAnalysis
from lightwell.text.analysis.stored import StoredAnalysis

MAX_TOKENS = 2000
"""A passage of several chunks stays as small as the largest single chunk may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Neighbouring chunks of one document, in its order; `best` is the one that ranked first."""

    best: ChunkId
    members: tuple[Chunk, ...]


def group_chunks(
    ranked: Sequence[ChunkId], texts: Mapping[ChunkId, Chunk], *, limit: int
) -> list[Passage]:
    """Return up to `limit` passages in the order of their best chunks.

    A chunk that is next to a better passage joins it, as long as the whole stays within `MAX_TOKENS`. Chunks of two versions
    of a document, which was published again in between, never join.
    """
    passages: list[Passage] = []
    for id_ in ranked:
        chunk = texts.get(id_)
        if chunk is None:
            continue
        neighbour = next(
            (place for place, passage in enumerate(passages) if _fits(passage, chunk)), None
        )
        if neighbour is not None:
            joined = passages[neighbour]
            members = sorted((*joined.members, chunk), key=lambda member: member.index)
            passages[neighbour] = replace(joined, members=tuple(members))
        elif len(passages) < limit:
            passages.append(Passage(best=id_, members=(chunk,)))
        else:
            break
    return passages


def join_passage(passage: Passage) -> Chunk:
    """Return the passage as one chunk: the best one's identity, with the text and the layout of all."""
    best = next(member for member in passage.members if member.id == passage.best)
    if len(passage.members) == 1:
        return best
    first, last = passage.members[0], passage.members[-1]
    return replace(
        best,
        text=_join_texts(passage.members),
        tokens=sum(member.tokens for member in passage.members),
        layout=_layout(passage.members),
        locator=Locator(
            page=first.locator.page,
            last_page=last.locator.last_page,
            section=first.locator.section,
            start=first.locator.start,
            end=last.locator.end,
        ),
        has_code=any(chunk.has_code for chunk in passage.members),
        has_formula=any(chunk.has_formula for chunk in passage.members),
        has_table=any(chunk.has_table for chunk in passage.members),
        llm_cache_ids=tuple(
            cache_id for chunk in passage.members for cache_id in chunk.llm_cache_ids
        ),
    )


def windows_of(passage: Passage, matches: ChunkMatches) -> tuple[WindowMatch, ...]:
    """Return how the windows of the passage match, in their order, with their places in its joined text."""
    return tuple(
        replace(window, start=offset + window.start, end=offset + window.end)
        for offset, match in _placed_matches(passage, matches)
        for window in match.windows
    )


def encoded_chunks(passage: Passage, matches: ChunkMatches) -> tuple[EncodedChunk, ...]:
    """Return those chunks of the passage that are encoded, in their order, with their places in its joined text."""
    return tuple(
        EncodedChunk(start=offset, vectors=match.vectors)
        for offset, match in _placed_matches(passage, matches)
    )


def _placed_matches(passage: Passage, matches: ChunkMatches) -> list[tuple[int, ChunkMatch]]:
    return [
        (offset, matches[member.id])
        for offset, member in zip(_offsets(passage.members), passage.members, strict=True)
        if member.id in matches
    ]


def analysis_of(members: Sequence[Chunk], text: str) -> PassageAnalysis:
    """Return what was read in the chunks of a passage, at their places in its joined text."""
    stored = [member.analysis or StoredAnalysis(text=member.text) for member in members]
    return PassageAnalysis(text=text, chunks=tuple(zip(_offsets(members), stored, strict=True)))


def _offsets(members: Sequence[Chunk]) -> list[int]:
    """Return where each chunk begins in the joined text."""
    offsets = [0]
    for before, member in pairwise(members):
        offsets.append(offsets[-1] + len(before.text) + len(_text_between(before, member)))
    return offsets


def _join_texts(members: Sequence[Chunk]) -> str:
    parts = [members[0].text]
    for before, member in pairwise(members):
        parts += [_text_between(before, member), member.text]
    return "".join(parts)


def _text_between(before: Chunk, after: Chunk) -> str:
    return text_between_chunks(after.locator.start - before.locator.end)


def _fits(passage: Passage, chunk: Chunk) -> bool:
    first, last = passage.members[0], passage.members[-1]
    return (
        chunk.document_id == first.document_id
        and chunk.ingested_at == first.ingested_at
        and chunk.index in (first.index - 1, last.index + 1)
        and sum(member.tokens for member in passage.members) + chunk.tokens <= MAX_TOKENS
    )


def _layout(members: Sequence[Chunk]) -> Layout:
    sections = dict.fromkeys(section for member in members for section in member.layout.sections)
    pages = dict.fromkeys(page for member in members for page in member.layout.pages)
    return Layout(sections=tuple(sections), pages=tuple(pages))
