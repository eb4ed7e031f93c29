"""`/brief`, `/promises` and `/search`: what documents say of a name or of words, outside of a conversation."""

from uuid import UUID

from lightwell.domain.briefs import Brief
from lightwell.domain.errors import NotFound
from lightwell.domain.evidence import Evidence
from lightwell.domain.graph_views import Candidates
from lightwell.domain.links import LinkFilter
from lightwell.entrypoints.channels.actions import ReviewLink, ShowPlace
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Button, Message, in_rows, plain
from lightwell.entrypoints.channels.picks import UNKNOWN_NAME, pick_rows
from lightwell.entrypoints.channels.rendering import (
    render_brief,
    render_candidates,
    render_passages,
    render_statements,
)
from lightwell.entrypoints.channels.source_pictures import place_buttons

_PASSAGES = 10
_NO_NAME = "Say about whom or what: {}"
_NO_WORDS = "Say what to look for: {}"
_OWED = "What do we owe?"


async def brief(asker: Asker, words: str) -> Message:
    """Return a brief on the entity of this name or reference, or what the name may mean; raise `Invalid`."""
    if not words.strip():
        return plain(_NO_NAME.format(asker.chat.typed("/brief NAME")))
    try:
        made = await asker.knowledge_base.questions.brief(words, asker.reader)
    except NotFound:
        return plain(UNKNOWN_NAME)
    if isinstance(made, Candidates):
        rows = tuple(pick_rows([made], "brief", words.strip()))
        return Message(blocks=render_candidates(made), buttons=rows)
    rows = place_buttons(made.citations)
    if await _has_proposals(asker, made):
        review = Button(label="Links to review", action=ReviewLink(about=str(made.entity.id)))
        rows = (*rows, (review,))
    return Message(blocks=render_brief(made, asker.server).blocks, buttons=rows)


async def promises(asker: Asker, words: str) -> Message:
    """Return what we promised about these words, without words what we owe: statements with citations alone; raise `Invalid`."""
    about = " ".join(words.split()).rstrip("?.! ")
    question = f"What did we promise about {about}?" if about else _OWED
    answer = await asker.knowledge_base.questions.statements(question, asker.reader)
    picks = pick_rows(answer.ambiguous_names, "promises", about)
    return Message(
        blocks=render_statements(answer, asker.server).blocks,
        buttons=(*place_buttons(answer.citations), *picks),
    )


async def search(asker: Asker, words: str) -> Message:
    """Return the passages that are most relevant, with a button for each that shows where it stands; raise `Invalid`."""
    if not words.strip():
        return plain(_NO_WORDS.format(asker.chat.typed("/search WORDS")))
    retrieval = await asker.knowledge_base.questions.search(words, asker.reader, limit=_PASSAGES)
    buttons = [
        Button(label=str(rank), action=_place_of(passage))
        for rank, passage in enumerate(retrieval.evidence, start=1)
    ]
    picks = pick_rows(retrieval.ambiguous_names, "search", words)
    return Message(
        blocks=render_passages(retrieval, asker.server).blocks, buttons=(*in_rows(buttons), *picks)
    )


async def _has_proposals(asker: Asker, made: Brief) -> bool:
    about = LinkFilter(about=str(made.entity.id))
    links = asker.knowledge_base.graph.links
    return bool(await links.list_links(asker.reader, about, limit=1))


def _place_of(passage: Evidence) -> ShowPlace:
    place = passage.snippet_locator
    chunk = passage.member_at(place.start - passage.chunk.locator.start)
    return ShowPlace(
        document=UUID(str(chunk.document_id)), chunk=chunk.id, start=place.start, end=place.end
    )
