"""The best chunks as passages: neighbours that both rank high are one passage, and are read as one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.documents import Chunk, Layout, Locator
from lightwell.domain.ids import ChunkId

MAX_TOKENS = 2000
"""A passage of several chunks stays as small as the largest single chunk may be."""

Slice = Callable[[Chunk, int, int], Awaitable[str]]
"""Returns the document's text from one character to another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Neighbouring chunks of one document, in its order; `best` is the one that ranked first."""

    best: ChunkId
    members: tuple[Chunk, ...]


def group_chunks(
    ranked: Sequence[ChunkId], texts: Mapping[ChunkId, Chunk], *, limit: int
) -> list[Passage]:
    """Return up to `limit` passages in the order of their best chunks.

    A chunk that stands beside a passage above it joins it, as long as the whole stays within `MAX_TOKENS`.
    """
    passages: list[Passage] = []
    for id_ in ranked:
        chunk = texts.get(id_)
        if chunk is None:
            continue
        beside = next((at for at, each in enumerate(passages) if _fits(each, chunk)), None)
        if beside is not None:
            passages[beside] = _with(passages[beside], chunk)
        elif len(passages) < limit:
            passages.append(Passage(best=id_, members=(chunk,)))
        else:
            break
    return passages


async def join_passage(passage: Passage, text_of: Slice) -> tuple[Chunk, tuple[Chunk, ...]]:
    """Return the passage as one chunk, its best one's identity with the text and the layout of all, and the members.

    A single chunk has no members. Where the document has changed meanwhile, so that its text is no longer theirs,
    the best one stands alone.
    """
    best = next(each for each in passage.members if each.id == passage.best)
    if len(passage.members) == 1:
        return best, ()
    first, last = passage.members[0], passage.members[-1]
    start, end = first.locator.start, last.locator.end
    text = await text_of(best, start, end)
    if not text.startswith(first.text) or not text.endswith(last.text):
        return best, ()
    whole = replace(
        best,
        text=text,
        tokens=sum(each.tokens for each in passage.members),
        layout=_layout(passage.members),
        locator=Locator(
            page=first.locator.page,
            last_page=last.locator.last_page,
            section=first.locator.section,
            start=start,
            end=end,
        ),
    )
    return whole, passage.members


def _fits(passage: Passage, chunk: Chunk) -> bool:
    first, last = passage.members[0], passage.members[-1]
    return (
        chunk.document_id == first.document_id
        and chunk.index in (first.index - 1, last.index + 1)
        and sum(each.tokens for each in passage.members) + chunk.tokens <= MAX_TOKENS
    )


def _with(passage: Passage, chunk: Chunk) -> Passage:
    members = sorted((*passage.members, chunk), key=lambda each: each.index)
    return replace(passage, members=tuple(members))


def _layout(members: Sequence[Chunk]) -> Layout:
    sections = dict.fromkeys(section for each in members for section in each.layout.sections)
    pages = dict.fromkeys(page for each in members for page in each.layout.pages)
    return Layout(sections=tuple(sections), pages=tuple(pages))
