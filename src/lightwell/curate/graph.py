"""Reading and correcting the graph; `kb.graph` is an instance of `Graph`."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lightwell.curate import (
    decisions,
    editing,
    merge_proposals,
    merging,
    neighbourhood,
    splitting,
)
from lightwell.curate.context import CurationContext
from lightwell.curate.links import Links
from lightwell.curate.names import Names
from lightwell.domain.access import Reader
from lightwell.domain.decisions import Decision
from lightwell.domain.descriptions import with_separator
from lightwell.domain.exports import ExportedRelation
from lightwell.domain.graph import (
    Entity,
    EntityDetails,
    ManualEdit,
    MergeStrategy,
    Relation,
    RelationKey,
    RelationMention,
)
from lightwell.domain.graph_views import (
    MAX_DEPTH,
    EntityFilter,
    EntityNeighbourhood,
    EntitySource,
    validate_bounds,
)
from lightwell.domain.ids import MergeId, SplitId
from lightwell.domain.merges import (
    ActiveMerge,
    ActiveSplit,
    MergeProposal,
    MergeResult,
    SplitResult,
)
from lightwell.records import export_snapshot
from lightwell.records.database import Database
from lightwell.records.documents import published_chunks
from lightwell.records.graph import entities, entity_lists, merges, splits

_MAX_PAGE = 1000

_Described = TypeVar("_Described", Entity, Relation, ExportedRelation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The entities and relations of a project.

    Methods take an entity's name, reference or id. What the reader may not see raises `NotFound` like a missing entity.
    """

    context: CurationContext

    @property
    def _database(self) -> Database:
        return self.context.database

    @property
    def links(self) -> Links:
        """Links across systems: proposals and decisions."""
        return Links(context=self.context)

    @property
    def names(self) -> Names:
        """Names for a map: search, surroundings, profiles and ways."""
        return Names(context=self.context)

    async def list_entities(
        self, reader: Reader, wanted: EntityFilter, *, after: str = "", limit: int = 100
    ) -> list[tuple[Entity, str]]:
        """Return up to `limit` of the reader's entities that pass the filter, each with its cursor.

        `after` is the cursor of the last entity of the page before. Raises `Invalid` for another text.
        """
        page = await entity_lists.list_page(
            self._database, reader, wanted, after=after, limit=limit
        )
        return [(self._with_separator(entity), cursor) for entity, cursor in page]

    async def sources(self, reader: Reader, details: EntityDetails) -> list[EntitySource]:
        """Return the passages that mention the entity, the latest fifty in order of arrival."""
        names = (details.entity.name, *details.aliases)
        return await neighbourhood.list_sources(self._database, reader, details.entity, names)

    async def neighbourhood(
        self, reader: Reader, name: str, *, depth: int = 1, limit: int = 100
    ) -> EntityNeighbourhood:
        """Return the entities that up to `depth` relations lead to; raise `NotFound`, `Invalid`."""
        validate_bounds(depth, limit)
        resolved = await entities.resolve_name(self._database, reader, name)
        return self._separated(
            await neighbourhood.explore(
                self._database, reader, resolved.entity_id, depth=depth, limit=limit
            )
        )

    async def overview(self, reader: Reader, *, limit: int = 100) -> EntityNeighbourhood:
        """Return the entities that most of the reader's passages mention, and the relations between them; raise `Invalid`."""
        validate_bounds(MAX_DEPTH, limit)
        return self._separated(await neighbourhood.overview(self._database, reader, limit=limit))

    def _separated(self, around: EntityNeighbourhood) -> EntityNeighbourhood:
        return replace(
            around,
            neighbours=tuple(
                replace(neighbour, entity=self._with_separator(neighbour.entity))
                for neighbour in around.neighbours
            ),
            relations=tuple(map(self._with_separator, around.relations)),
        )

    async def entity(self, reader: Reader, name: str) -> EntityDetails:
        """Return the entity with its aliases and relations; raise `NotFound`."""
        resolved = await entities.resolve_name(self._database, reader, name)
        entity = await entities.get(self._database, reader, resolved.entity_id)
        relations = await entities.list_relations(self._database, reader, entity.id)
        return EntityDetails(
            entity=self._with_separator(entity),
            aliases=await entities.list_aliases(self._database, reader, entity),
            relations=tuple(map(self._with_separator, relations)),
        )

    async def relations(
        self, reader: Reader, *, after: RelationKey | None = None, limit: int = 100
    ) -> AsyncIterator[ExportedRelation]:
        """Yield up to `limit` of the reader's relations by the references of their ends, those after the key `after`."""
        while limit > 0:
            page_size = min(limit, _MAX_PAGE)
            page = await export_snapshot.relations_page(
                self._database, reader, after, limit=page_size
            )
            for relation in page:
                yield self._with_separator(relation)
            if len(page) < page_size:
                return
            after, limit = page[-1].key, limit - len(page)

    async def entities_of(self, reader: Reader, chunks: Sequence[str]) -> list[Entity]:
        """Return the entities that have one of these passages, by reference or id, as a source; raise `NotFound`."""
        chunk_ids = await published_chunks.resolve_ids(self._database, reader, chunks)
        entity_ids = await self.context.graph.entities_of(reader, chunk_ids)
        by_id = await entities.get_many(self._database, reader, entity_ids)
        distinct = {entity.id: self._with_separator(entity) for entity in by_id.values()}
        return sorted(distinct.values(), key=lambda entity: (entity.ref, entity.name))

    async def relations_of(self, reader: Reader, chunks: Sequence[str]) -> list[Relation]:
        """Return the relations that have one of these passages as a source, the weightiest first; raise `NotFound`."""
        chunk_ids = await published_chunks.resolve_ids(self._database, reader, chunks)
        relation_ids = await self.context.graph.relations_of(reader, chunk_ids)
        relations = await entities.get_relations(self._database, reader, relation_ids)
        return [self._with_separator(relation) for relation in relations]

    async def merge(
        self,
        reader: Reader,
        sources: Sequence[str],
        target: str,
        *,
        strategy: MergeStrategy = MergeStrategy.CONCATENATE,
    ) -> MergeResult:
        """Merge the sources into the target; raise `NotFound`, `Invalid`, or `ModelFailed` with nothing changed."""
        result = await merging.merge(self.context, reader, sources, target, strategy=strategy)
        return replace(result, target_entity=self._with_separator(result.target_entity))

    async def unmerge(self, reader: Reader, name: str) -> tuple[Entity, ...]:
        """Undo the merge of this entity, or with this id; return the separated entities."""
        return tuple(map(self._with_separator, await merging.unmerge(self.context, reader, name)))

    async def merges(
        self, reader: Reader, *, after: MergeId | None = None, limit: int = 100
    ) -> list[ActiveMerge]:
        """Return up to `limit` active merges of which the reader sees both sides, the latest first.

        `after` continues after this merge.
        """
        return await merges.list_active(self._database, reader, after=after, limit=limit)

    async def split(
        self,
        reader: Reader,
        name: str,
        into: str,
        *,
        documents: Sequence[str] = (),
        passages: Sequence[str] = (),
    ) -> SplitResult:
        """Move what these documents and passages say of an entity to the one called `into`; raise `NotFound`, `Invalid`.

        Re-ingestion keeps the split. It applies to readers who share the documents' present access tags.
        """
        result = await splitting.split(
            self.context, reader, name, into, documents=documents, passages=passages
        )
        rest = self._with_separator(result.rest) if result.rest else None
        return replace(result, part=self._with_separator(result.part), rest=rest)

    async def unsplit(self, reader: Reader, name: str) -> tuple[Entity, ...]:
        """Undo the splits that made this part, or the split with this id; return what has the mentions again."""
        return tuple(map(self._with_separator, await splitting.unsplit(self.context, reader, name)))

    async def splits(
        self, reader: Reader, *, after: SplitId | None = None, limit: int = 100
    ) -> list[ActiveSplit]:
        """Return up to `limit` active splits that the reader sees, the latest first; `after` continues after this split."""
        return await splits.list_active(self._database, reader, after=after, limit=limit)

    async def proposals(
        self, reader: Reader, *, about: str = "", limit: int = 20
    ) -> list[MergeProposal]:
        """Return merge proposals, the most confident first: for the entity `about`, or for those mentioned last."""
        proposals = await merge_proposals.propose_merges(
            self._database, reader, about=about, limit=limit
        )
        return [
            replace(
                proposal,
                one=self._with_separator(proposal.one),
                other=self._with_separator(proposal.other),
            )
            for proposal in proposals
        ]

    async def confirm(
        self,
        reader: Reader,
        name: str,
        other: str,
        *,
        strategy: MergeStrategy = MergeStrategy.CONCATENATE,
    ) -> MergeResult:
        """Merge `other` into this entity as a proposal suggests; raise `NotFound` where it is not proposed, or not any more."""
        await merge_proposals.require_proposed(self._database, reader, name, other)
        return await self.merge(reader, [other], name, strategy=strategy)

    async def reject(self, reader: Reader, name: str, other: str) -> tuple[Entity, Entity]:
        """Reject a merge proposal, so that it is not proposed again; raise `NotFound`."""
        first, second = await merge_proposals.reject(self._database, reader, name, other)
        return self._with_separator(first), self._with_separator(second)

    async def reopen(self, reader: Reader, name: str, other: str) -> tuple[Entity, Entity]:
        """Take back the rejection of a merge, so that it may be proposed again; raise `NotFound`, `Invalid`."""
        first, second = await merge_proposals.reopen(self._database, reader, name, other)
        return self._with_separator(first), self._with_separator(second)

    async def decisions(self, reader: Reader, *, limit: int = 100) -> list[Decision]:
        """Return up to `limit` decisions about links and merges that are in effect, the latest first."""
        return await decisions.list_decisions(self._database, reader, self.links, limit=limit)

    async def create(
        self, reader: Reader, manual_edit: ManualEdit, *, tags: Iterable[str] = ()
    ) -> Entity:
        """Create an entity for people who share one of the tags; the default is the reader's only tag.

        Raises `Invalid` if the entity exists, or if the reader has several tags and none is given. A `Reader` that was
        resolved earlier may see the edit only after it is resolved again.
        """
        return self._with_separator(await editing.create(self.context, reader, manual_edit, tags))

    async def edit(
        self, reader: Reader, name: str, manual_edit: ManualEdit, *, tags: Iterable[str] = ()
    ) -> Entity:
        """Change an entity's name, kind, description, sources or concept; re-ingestion keeps it. Raises `NotFound`, `Invalid`.

        Without tags the edit goes to the reader's access classes that mention the entity. Sources in the edit replace
        those from documents while at least one of these passages exists.
        """
        return self._with_separator(
            await editing.edit(self.context, reader, name, manual_edit, tags)
        )

    async def delete(self, reader: Reader, name: str) -> Entity:
        """Hide an entity from all who share a tag with the reader, and remove its manual edits there."""
        return self._with_separator(await editing.delete(self.context, reader, name))

    async def delete_entities(self, reader: Reader, names: Sequence[str]) -> tuple[Entity, ...]:
        """Delete several entities as `delete` does, with one rebuild; raise `NotFound`, with none deleted."""
        return tuple(
            map(self._with_separator, await editing.delete_entities(self.context, reader, names))
        )

    async def restore(self, reader: Reader, name: str) -> Entity:
        """Undo the manual deletion of an entity; raise `NotFound`."""
        return self._with_separator(await editing.restore(self.context, reader, name))

    async def relate(
        self, reader: Reader, relation_mention: RelationMention, *, tags: Iterable[str] = ()
    ) -> Relation:
        """Create or replace a relation of two entities by hand; raise `NotFound` or `Invalid`.

        Without tags it goes to the reader's access classes that mention both entities.
        """
        return self._with_separator(
            await editing.relate(self.context, reader, relation_mention, tags)
        )

    async def delete_relations(
        self, reader: Reader, keys: Sequence[RelationKey]
    ) -> tuple[Relation, ...]:
        """Hide relations in documents of which the reader has all access tags; raise `NotFound`, `Invalid`, with none hidden."""
        return tuple(
            map(self._with_separator, await editing.delete_relations(self.context, reader, keys))
        )

    def _with_separator(self, described: _Described) -> _Described:
        """Return the value with the configured separator in its descriptions."""
        return with_separator(described, self.context.separator)
