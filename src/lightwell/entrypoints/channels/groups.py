"""Answers in groups: one is posted only where everybody whom the group stands for sees each of its sources."""

from dataclasses import replace

from lightwell.domain.chat import ShownAnswer
from lightwell.domain.errors import Invalid, NotFound
from lightwell.entrypoints.channels.actions import Share
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Message, note
from lightwell.entrypoints.channels.rendering import render_answer
from lightwell.records import channel_groups

_UNBOUND = "This group is bound to no access tags yet, so I share nothing in it. An administrator can bind it with `lightwell channels bind`."
_NOT_FOR_ALL = (
    "Not everybody in this group may see all sources of this answer, so I do not share it."
)
_NOTHING = "There is nothing to share: no source supports it."
_CHANGED = "A source of this answer has changed since. Ask again, and share the new answer."


async def share(asker: Asker, action: Share) -> Message:
    """Return an answer as it is posted to the group in which its question was asked.

    Raises `NotFound` where the asker may not read it any more, and `Invalid` with what to tell the asker alone where the group may not. Its
    notes, and what was nearest, are no part of it; nor is the question: what was picked for a name stands in it, as documents of the asker call it.
    """
    turn = await asker.read_turn(action.conversation, action.place)
    bound = await channel_groups.find_tags(
        asker.knowledge_base.conversations.database,
        asker.reader.project_id,
        asker.chat.platform,
        action.chat,
    )
    if bound is None:
        raise Invalid(_UNBOUND)
    answer = _require_supported(turn.answer)
    group = await asker.knowledge_base.reader(bound)
    try:
        for document in {citation.document_id for citation in answer.citations}:
            await asker.knowledge_base.documents.get(group, document)
    except NotFound:
        raise Invalid(_NOT_FOR_ALL) from None
    shown = render_answer(replace(answer, notes=(), confidence=None), asker.server)
    return Message(blocks=(note(f"Shared by {_name(asker)}"), *shown.blocks))


def _require_supported(answer: ShownAnswer | None) -> ShownAnswer:
    """Return the answer; raise `Invalid` unless citations that stand support each of its sentences."""
    if answer is None or not answer.sentences:
        raise Invalid(_NOTHING)
    if answer.is_changed or not all(sentence.citations for sentence in answer.sentences):
        raise Invalid(_CHANGED)
    return answer


def _name(asker: Asker) -> str:
    person = asker.person
    return " ".join(person.display_name.split()) or person.email.partition("@")[0] or "somebody"
