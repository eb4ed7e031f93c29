"""Links across systems: what is proposed with which evidence, and what people confirm, reject, add and remove."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from uuid import UUID

from lightwell.curate.context import CurationContext
from lightwell.domain.access import Reader, not_own
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import Entity
from lightwell.domain.ids import EntityId
from lightwell.domain.item_structure import LinkType
from lightwell.domain.link_scoring import score_links
from lightwell.domain.link_subjects import LinkSubject
from lightwell.domain.links import (
    EntityLink,
    LinkCursor,
    LinkEvidence,
    LinkFilter,
    LinkId,
    LinkQuotation,
    LinkStatus,
)
from lightwell.records.database import Database
from lightwell.records.graph import entities, entity_passages, link_proposals, links
from lightwell.records.graph.link_proposals import SubjectKey
from lightwell.records.graph.links import LinkPair, LinkQuery, StoredLink

_LONGEST_QUOTE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The links of a project, for one reader at a time.

    Proposals are never applied. A decision applies to readers who share with its author a class of each side.
    """

    context: CurationContext

    @property
    def _database(self) -> Database:
        return self.context.database

    async def list_links(
        self,
        reader: Reader,
        wanted: LinkFilter,
        *,
        after: LinkCursor | None = None,
        limit: int = 100,
    ) -> list[EntityLink]:
        """Return up to `limit` links by descending usefulness, those after the cursor; raise `NotFound` for `about`.

        Links that documents state are included only with `about`.
        """
        about = await self._members(reader, wanted.about) if wanted.about else None
        query = LinkQuery(
            status=wanted.status, type=wanted.type, about=about, after=after, limit=limit
        )
        return await self._complete(reader, await links.list_links(self._database, reader, query))

    async def get(self, reader: Reader, link: UUID) -> EntityLink:
        """Return the link with this id, with quotations of its evidence; raise `NotFound`."""
        details = await self._find(reader, link)
        quotations = [
            quotation
            for evidence in details.evidence
            for entity, value in (
                (details.source, evidence.source),
                (details.target, evidence.target),
            )
            if (quotation := await self._quote(reader, entity, evidence.name, value))
        ]
        return replace(details, quotations=tuple(dict.fromkeys(quotations)))

    async def decided(self, reader: Reader, *, limit: int) -> list[EntityLink]:
        """Return up to `limit` links that somebody confirmed or rejected, the latest decision first."""
        ids = await links.list_decided(self._database, reader, limit=limit)
        by_id = {link.id: link for link in await self._of_ids(reader, ids)} if ids else {}
        return [by_id[link] for link in map(LinkId, ids) if link in by_id]

    async def propose(self, reader: Reader, *, about: str = "") -> None:
        """Propose links anew for an entity, "" for all of business systems that the reader sees; raise `NotFound`."""
        members = await self._members(reader, about) if about else None
        async with self.context.finish_derived_after(reader):
            await links.request_proposals(self._database, reader, members)

    async def confirm(self, reader: Reader, link: UUID) -> EntityLink:
        """Confirm a link: retrieval, briefs and statements follow it from now on; raise `NotFound`."""
        return await self._decide(reader, await self._find(reader, link), LinkStatus.CONFIRMED)

    async def reject(self, reader: Reader, link: UUID) -> EntityLink:
        """Reject a link for good: it is not proposed again, and not followed if a document states it; raise `NotFound`."""
        return await self._decide(reader, await self._find(reader, link), LinkStatus.REJECTED)

    async def add(self, reader: Reader, source: str, target: str, type_: LinkType) -> EntityLink:
        """Add a confirmed link between two entities; raise `NotFound`, or `Invalid` when they are one."""
        first = (await entities.resolve_name(self._database, reader, source)).entity_id
        other = (await entities.resolve_name(self._database, reader, target)).entity_id
        if first == other:
            raise Invalid(f"{source!r} and {target!r} are one entity; name two")
        pair = LinkPair(source=first, target=other, type=type_)
        made = await links.decide(self._database, reader, pair, LinkStatus.CONFIRMED)
        if made is None:
            raise not_own()
        return await self._find(reader, made)

    async def remove(self, reader: Reader, link: UUID) -> EntityLink:
        """Take back a decision, as far as the reader sees it; the link may be proposed again.

        Raises `NotFound`, and `Invalid` for a link that nobody decided.
        """
        decided = await self._find(reader, link)
        async with self.context.finish_derived_after(reader):
            was_decided = await links.remove_decision(self._database, reader, decided.id)
        if not was_decided:
            raise Invalid(
                "Nobody has decided this link, or only for people without your access tags, too: reject it so that it does not apply"
            )
        return decided

    async def _decide(self, reader: Reader, link: EntityLink, status: LinkStatus) -> EntityLink:
        pair = LinkPair(source=link.source.id, target=link.target.id, type=link.type)
        made = await links.decide(self._database, reader, pair, status)
        if made is None:
            raise not_own()
        return await self._find(reader, made)

    async def _find(self, reader: Reader, link: UUID) -> EntityLink:
        links_of_id = await self._of_ids(reader, [link])
        if not links_of_id:
            raise NotFound(f"There is no link {str(link)!r} that you may see")
        return links_of_id[0]

    async def _of_ids(self, reader: Reader, ids: Sequence[UUID]) -> list[EntityLink]:
        query = LinkQuery(only=ids, limit=len(ids))
        return await self._complete(reader, await links.list_links(self._database, reader, query))

    async def _members(self, reader: Reader, name: str) -> Sequence[EntityId]:
        resolved = await entities.resolve_name(self._database, reader, name)
        return await links.list_members(self._database, reader, resolved.entity_id)

    async def _complete(self, reader: Reader, stored: Sequence[StoredLink]) -> list[EntityLink]:
        """Return the links with their ends and with what each end says, as the reader sees them."""
        ends = {end for link in stored for end in (link.source, link.target)}
        entities_by_id = await entities.get_many(self._database, reader, sorted(ends))
        keys = await links.list_subject_keys(self._database, reader, sorted(ends))
        subjects = await link_proposals.read_subjects(self._database, reader.project_id, keys)
        attributes = await entity_passages.get_attributes(self._database, reader, sorted(ends))
        return [
            replace(
                _link(
                    link,
                    entities_by_id[link.source],
                    entities_by_id[link.target],
                    _values(link, subjects),
                ),
                attributes=(attributes.get(link.source, {}), attributes.get(link.target, {})),
            )
            for link in stored
            if link.source in entities_by_id and link.target in entities_by_id
        ]

    async def _quote(
        self, reader: Reader, entity: Entity, evidence: str, value: str
    ) -> LinkQuotation | None:
        if not value:
            return None
        passage = await links.find_passage(self._database, reader, entity.id, value)
        if passage is None:
            return None
        start, line = passage.start, ""
        for line in passage.text.splitlines(keepends=True):
            if value.lower() in line.lower():
                break
            start += len(line)
        start += len(line) - len(line.lstrip())
        return LinkQuotation(
            evidence=evidence,
            text=_shorten_around(line.strip(), value),
            url=passage.url,
            title=passage.title,
            document_id=passage.document_id,
            start=start,
            end=start + len(line.strip()),
        )


def _link(
    stored: StoredLink,
    source: Entity,
    target: Entity,
    values: Mapping[str, LinkEvidence],
) -> EntityLink:
    evidence = [
        replace(values.get(name) or LinkEvidence(name=name, points=points), points=points)
        for name, points in stored.points.items()
    ]
    evidence.sort(key=lambda item: (-abs(item.points), item.name))
    return EntityLink(
        id=stored.id,
        type=stored.type,
        source=source,
        target=target,
        status=stored.status,
        confidence=round(stored.confidence, 4),
        usefulness=stored.usefulness,
        evidence=tuple(evidence),
        learned=round(stored.learned, 4),
        relation=stored.relation,
        decided_by=stored.decided_by,
        decided_at=stored.decided_at,
        expires_at=stored.expires_at,
        stated_by=stored.stated_by,
    )


def _values(
    stored: StoredLink, subjects: Mapping[SubjectKey, LinkSubject]
) -> dict[str, LinkEvidence]:
    """Return what each end says, by the name of the evidence: compared again, as the reader's classes know the ends now."""
    values: dict[str, LinkEvidence] = {}
    sources = _of_entity(subjects, stored.source)
    targets = _of_entity(subjects, stored.target)
    for first, other in product(sources, targets):
        if values.keys() >= stored.points.keys():
            break
        for scored in score_links(first, other, least=0.0):
            if scored.type is stored.type and scored.source.id == stored.source:
                values = {item.name: item for item in scored.evidence} | values
    return values


def _of_entity(
    subjects: Mapping[SubjectKey, LinkSubject], entity: EntityId
) -> Iterable[LinkSubject]:
    return [subjects[key] for key in sorted(subjects) if key.entity_id == entity]


def _shorten_around(line: str, value: str) -> str:
    """Return the part of the line around the value."""
    if len(line) <= _LONGEST_QUOTE:
        return line
    start = max(0, line.lower().find(value.lower()) - _LONGEST_QUOTE // 3)
    return ("…" if start else "") + line[start : start + _LONGEST_QUOTE].strip() + "…"
