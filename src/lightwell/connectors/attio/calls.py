"""Attio's meetings, with the transcripts of their calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lightwell.connectors.attio.documents import CALL_TAGS, ItemMaker
from lightwell.connectors.attio.models import Call, Meeting, Segment, parse_time
from lightwell.connectors.attio.values import time_text
from lightwell.connectors.attio.workspace import SYSTEM
from lightwell.connectors.item_documents import (
    ItemText,
    clean,
    field_lines,
    make_item_document,
    one_line,
    plain_paragraphs,
)
from lightwell.connectors.rows import Json
from lightwell.domain.ids import global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink
from lightwell.domain.source_items import SourceItem


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call with all segments of its transcript; `text` is Attio's own transcript, where there are no segments."""

    call: Call
    raw: Json
    segments: tuple[Segment, ...]
    text: str


def make_meeting(
    maker: ItemMaker, meeting: Meeting, raw: Json, calls: Sequence[RecordedCall]
) -> SourceItem:
    """Return a meeting as a document, and each of its transcripts as another."""
    title = one_line(meeting.title) or "Meeting"
    structure = _structure(maker, meeting, title)
    entity, *records = structure.entities
    began = parse_time(meeting.start.datetime or meeting.start.date)
    people = ", ".join(
        one_line(participant.name or participant.email_address or "")
        for participant in meeting.participants
    )
    head = [
        ("Meeting", entity.name),
        ("Start", time_text(began)),
        ("End", time_text(parse_time(meeting.end.datetime or meeting.end.date))),
        ("Participants", people),
        ("About", ", ".join(record.name for record in records if record.kind != "person")),
    ]
    document = ItemText(
        system=SYSTEM,
        kind="meeting",
        source_id=meeting.key,
        item_ref=entity.ref,
        url=entity.url,
        title=f"Meeting: {title}",
        text=f"{field_lines(head)}\n\n{clean(meeting.description).strip()}".strip(),
        tags=CALL_TAGS,
        structure=structure,
        author=maker.workspace.actor_name(meeting.created_by_actor),
        author_ref=maker.workspace.actor_ref(meeting.created_by_actor),
        created_at=parse_time(meeting.created_at),
        updated_at=began or parse_time(meeting.created_at),
        payload=raw,
    )
    transcripts = (
        replace(
            document,
            kind="call",
            source_id=call.call.key,
            url=call.call.web_url,
            title=f"Call: {title}",
            text=f"{field_lines([('Call', title), *head[1:]])}\n\n{_transcript(call)}",
            created_at=parse_time(call.call.created_at),
            updated_at=parse_time(call.call.created_at),
            payload=call.raw,
        )
        for call in calls
    )
    documents = tuple(make_item_document(text) for text in (document, *transcripts))
    return SourceItem(ref=entity.ref, documents=documents)


def _structure(maker: ItemMaker, meeting: Meeting, title: str) -> ItemStructure:
    entity = StatedEntity(
        ref=global_ref(SYSTEM, "meeting", meeting.key),
        kind="meeting",
        name=title,
        url=f"https://app.attio.com/{maker.workspace.slug}/calls/{meeting.key}",
    )
    records = maker.about(linked.record for linked in meeting.linked_records)
    links = tuple(
        StatedLink(
            source=entity.ref,
            target=record.ref,
            type=LinkType.RELATED_TO,
            relation="linked_records",
        )
        for record in records
    )
    return ItemStructure(entities=(entity, *records), links=links)


def _transcript(recorded: RecordedCall) -> str:
    """Return the transcript with a paragraph for each turn: who speaks, when, and what."""
    if not recorded.segments:
        return clean(recorded.text).strip()
    turns: list[str] = []
    speaker = None
    for segment in recorded.segments:
        speech = one_line(plain_paragraphs(segment.speech))
        if segment.speaker.name == speaker:
            turns[-1] += f" {speech}"
        else:
            speaker = segment.speaker.name
            minutes, seconds = divmod(int(segment.start_time), 60)
            turns.append(f"{one_line(speaker) or 'Somebody'} ({minutes}:{seconds:02}): {speech}")
    return "\n\n".join(turns)
