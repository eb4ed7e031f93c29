"""`/links`: proposed links between business systems, one after the other, and what the asker decides about them."""

from collections.abc import Iterator

from lightwell.domain.documents import document_address
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import (
    EntityLink,
    LinkCursor,
    LinkEvidence,
    LinkFilter,
    LinkStatus,
    parse_link_cursor,
)
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.actions import DecideLink, ReviewLink
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import (
    Block,
    Button,
    Kind,
    Message,
    Span,
    Style,
    heading,
    note,
    plain,
)
from lightwell.entrypoints.channels.picks import UNKNOWN_NAME
from lightwell.entrypoints.channels.rendering import candidate_label, render_candidates
from lightwell.text.pieces import shorten

_LONGEST_NAME, _LONGEST_WORDS = 80, 150
_MOST_COMPARED, _MOST_QUOTED = 5, 2
"""So that it fits into one message of any platform, whatever its letters count there."""

_QUESTIONS = {
    LinkType.SAME_AS: "Are these two the same?",
    LinkType.BELONGS_TO: "Does the first belong to the second?",
    LinkType.MAPPED_TO: "Is the second the work for the first?",
    LinkType.THREAD_OF: "Is the first part of the second?",
    LinkType.MENTIONS: "Does the first speak of the second?",
    LinkType.RELATED_TO: "Do these two belong together?",
}
_DECIDED = {LinkStatus.CONFIRMED: "Confirmed", LinkStatus.REJECTED: "Rejected"}
_ALREADY = {
    LinkStatus.CONFIRMED: "This was confirmed already",
    LinkStatus.REJECTED: "This was rejected already",
    LinkStatus.EXPIRED: "This proposal has expired",
}


async def links(asker: Asker, words: str) -> Message:
    """Show the first link to review, of what has this name if one is named; raise `Invalid`."""
    if not words.strip():
        return await review(asker, ReviewLink(about=""))
    named = await asker.knowledge_base.questions.candidates(words, asker.reader)
    if not named.candidates:
        return plain(UNKNOWN_NAME)
    actions = [ReviewLink(about=str(candidate.entity.id)) for candidate in named.candidates]
    if len(actions) == 1:
        return await review(asker, actions[0])
    rows = tuple(
        (Button(label=candidate_label(candidate), action=action),)
        for candidate, action in zip(named.candidates, actions, strict=True)
    )
    return Message(blocks=render_candidates(named), buttons=rows)


async def review(asker: Asker, action: ReviewLink) -> Message:
    """Show the next proposed link, with what speaks for and against it; whoever may decide gets buttons.

    Raises `NotFound` where `about` names nothing that the asker sees.
    """
    stored = asker.knowledge_base.graph.links
    following = await stored.list_links(
        asker.reader,
        LinkFilter(status=LinkStatus.PROPOSED, about=action.about),
        after=parse_link_cursor(action.after),
        limit=2,
    )
    if not following:
        return plain(_none_left(action))
    link = await stored.get(asker.reader, following[0].id)
    buttons = list(_decisions(asker, link, action))
    if len(following) > 1:
        cursor = str(LinkCursor(usefulness=following[0].usefulness, id=following[0].id))
        buttons.append(Button(label="Later", action=ReviewLink(about=action.about, after=cursor)))
    return Message(
        blocks=tuple(_shown(link, asker.server)), buttons=(tuple(buttons),) if buttons else ()
    )


async def decide(asker: Asker, action: DecideLink) -> Message:
    """Confirm or reject a proposed link, unless somebody has decided it meanwhile, and show the next one.

    Raises `NotFound` where the asker does not see the link, or may not decide any more.
    """
    if not asker.allows(Scope.CURATE):
        raise NotFound("There is no link that you may decide")
    stored = asker.knowledge_base.graph.links
    link = await stored.get(asker.reader, action.link)
    outcome = _ALREADY.get(link.status, "")
    if not outcome:
        try:
            act = stored.confirm if action.confirms else stored.reject
            outcome = _DECIDED[(await act(asker.reader, link.id)).status]
        except Invalid as error:  # others see an end, in whose name nobody decides
            outcome = str(error)
    names = f"{_name(link.source.name)} and {_name(link.target.name)}"
    following = await review(asker, ReviewLink(about=action.about, after=action.after))
    return Message(
        blocks=(note(f"{outcome}: {names}"), *following.blocks), buttons=following.buttons
    )


def _none_left(action: ReviewLink) -> str:
    return "Nothing else is left to decide." if action.after else "Nothing is left to decide."


def _decisions(asker: Asker, link: EntityLink, action: ReviewLink) -> Iterator[Button]:
    if not asker.allows(Scope.CURATE):
        return
    same = link.type is LinkType.SAME_AS
    labels = ("Yes, the same", "No, different") if same else ("Yes", "No")
    for label, confirms in zip(labels, (True, False), strict=True):
        decision = DecideLink(
            link=link.id, confirms=confirms, about=action.about, after=action.after
        )
        yield Button(label=label, action=decision)


def _shown(link: EntityLink, server: str) -> Iterator[Block]:
    """Yield what is asked, both ends, what speaks for and against it, and what documents say."""
    yield heading(_QUESTIONS[link.type])
    for end, stated in zip((link.source, link.target), link.attributes, strict=True):
        system = end.ref.partition(":")[0]
        values = (_name(value) for name, value in stated.items() if name != "url")
        details = ", ".join((f"{end.kind} in {system}", *values))
        spans = (Span(_name(end.name), Style.BOLD), Span(f" ({shorten(details, _LONGEST_WORDS)})"))
        yield Block(spans, Kind.ITEM)
    for evidence in link.evidence[:_MOST_COMPARED]:
        yield note(_evidence(evidence))
    quoted = {(quotation.document_id, quotation.start): quotation for quotation in link.quotations}
    for quotation in list(quoted.values())[:_MOST_QUOTED]:
        path = document_address(quotation.document_id, quotation.start, quotation.end)
        title = Span(_name(quotation.title), url=server + path if server else "")
        yield Block((title, Span(f": {_name(quotation.text, _LONGEST_WORDS)}")), Kind.QUOTE)


def _evidence(evidence: LinkEvidence) -> str:
    """Return what is compared, as `+ same domain: nordwind.example, nordwind.example`."""
    sign = "+" if evidence.points > 0 else "−"
    values = dict.fromkeys(map(_name, filter(None, (evidence.source, evidence.target))))
    return ": ".join(filter(None, (f"{sign} {evidence.name.replace('_', ' ')}", ", ".join(values))))


def _name(words: str, most: int = _LONGEST_NAME) -> str:
    """Return words of a document or a system on one line, and not without end."""
    return shorten(" ".join(words.split()), most)
