"""What a map for people shows: names as one types, what is around a name, its profile with places, and the way to another name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lightwell.curate.context import CurationContext
from lightwell.domain.access import Reader
from lightwell.domain.documents import Chunk
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Relation, normalize_name
from lightwell.domain.graph_map import (
    MAX_PATH_TIES,
    DescriptionPart,
    Fact,
    MapName,
    NameMap,
    NamePath,
    NameProfile,
    PathStep,
    Place,
    Tie,
    strongest_ties,
    validate_map_limit,
)
from lightwell.domain.graph_views import validate_depth
from lightwell.domain.ids import EntityId
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.documents import published_chunks
from lightwell.records.graph import entities, name_map
from lightwell.text.markup import strip_bullet, strip_markup
from lightwell.text.units import unit_spans

_MAX_FACTS = 60
_SOURCES_OF_FACT = 3
"""Of a fact's chunks, so many of the latest are looked through for the sentence that names both ends."""
_MAX_TEXT = 400
_MAX_FRONTIER = 1000
"""Of the names that are the same number of ties away, a search for a way goes on from so many, those with the strongest ties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of a project and the ties between them, for one reader at a time."""

    context: CurationContext

    @property
    def _database(self) -> Database:
        return self.context.database

    async def search(
        self, reader: Reader, words: str, *, kind: str = "", limit: int = 10
    ) -> list[MapName]:
        """Return up to `limit` names with these words in them, the best fit first; without words the most mentioned."""
        return await name_map.find_names(
            self._database, reader, words, kind=kind.strip(), limit=limit
        )

    async def around(
        self, reader: Reader, name: str, *, depth: int = 1, limit: int = 300
    ) -> NameMap:
        """Return the names that up to `depth` ties lead to, the nearest and the most tied first; raise `NotFound`, `Invalid`."""
        validate_depth(depth)
        validate_map_limit(limit)
        centre = (await entities.resolve_name(self._database, reader, name)).entity_id
        names = await name_map.get_names(self._database, reader, [centre])
        reached, frontier, is_cut = dict.fromkeys(names, 0), [*names], False
        for distance in range(1, depth + 1):
            ties, ends = await name_map.ties_from(self._database, reader, frontier)
            new = [end for end in _ends_in_order(ties) if end not in reached]
            frontier = new[: limit - len(reached)]
            is_cut = is_cut or len(frontier) < len(new)
            reached.update(dict.fromkeys(frontier, distance))
            names.update((end, ends[end]) for end in frontier)
        ties = await name_map.ties_among(self._database, reader, [*reached])
        kept = strongest_ties(ties, len(reached))
        return NameMap(
            names=tuple((names[end], reached[end]) for end in reached),
            ties=kept,
            is_cut=is_cut or len(kept) < len(ties),
        )

    async def profile(self, reader: Reader, name: str) -> NameProfile:
        """Return what the reader's documents say of a name, each with its place; raise `NotFound`, `Invalid`."""
        resolved = await entities.resolve_name(self._database, reader, name)
        entity = await entities.get(self._database, reader, resolved.entity_id)
        aliases = await entities.list_aliases(self._database, reader, entity)
        ties, ends = await name_map.ties_from(self._database, reader, [entity.id])
        wanted = [tie.relation_id for tie in ties if tie.relation_id][:_MAX_FACTS]
        relations = await entities.get_relations(self._database, reader, wanted) if wanted else []
        refs = [ref for relation in relations for ref in relation.sources[-_SOURCES_OF_FACT:]]
        chunks = await self._chunks(reader, [*entity.sources, *refs])
        latest = [chunks[ref] for ref in reversed(entity.sources) if ref in chunks]
        called = (entity.name, *aliases)
        return NameProfile(
            entity=entity,
            aliases=aliases,
            descriptions=tuple(
                DescriptionPart(text=text, place=_place_of_words(latest, text))
                for text in entity.description.split(DESCRIPTION_SEPARATOR)
                if text.strip()
            ),
            facts=tuple(
                _fact(relation, entity.id, ends, _latest(relation, chunks), called)
                for relation in relations
                if {*relation.ends} <= ends.keys()
            ),
            places=tuple(_place(chunk, [called]) for chunk in latest),
        )

    async def path(self, reader: Reader, source: str, target: str) -> NamePath:
        """Return a shortest way of at most six ties from one name to another; of several the one that the strongest ties lead to.

        Raises `NotFound`, `Invalid`.
        """
        first = (await entities.resolve_name(self._database, reader, source)).entity_id
        last = (await entities.resolve_name(self._database, reader, target)).entity_id
        there, back = _Side(start=first), _Side(start=last)
        meeting, is_cut = first if first == last else None, False
        for _ in range(MAX_PATH_TIES):
            if meeting is not None or not (there.frontier and back.frontier):
                break
            side, other = (
                (there, back) if len(there.frontier) <= len(back.frontier) else (back, there)
            )
            ties, ends = await name_map.ties_from(self._database, reader, side.frontier)
            new = side.advance(ties)
            meeting = min(
                (end for end in new if end in other.ties),
                key=lambda end: len(other.way(end)),
                default=None,
            )
            side.names.update(ends)
            is_cut = is_cut or side.limit_frontier()
        if meeting is None:
            is_cut = is_cut or bool(there.frontier and back.frontier)
            return NamePath(names=(), steps=(), is_cut=is_cut)
        ties = [*reversed(there.way(meeting)), *back.way(meeting)]
        return await self._path(reader, first, ties)

    async def _path(self, reader: Reader, first: EntityId, ties: Sequence[Tie]) -> NamePath:
        ids = [first]
        for tie in ties:
            ids.append(tie.other_end(ids[-1]))
        names = await name_map.get_names(self._database, reader, ids)
        wanted = [tie.relation_id for tie in ties if tie.relation_id]
        relations = await entities.get_relations(self._database, reader, wanted) if wanted else []
        stated = {(relation.ends, relation.predicate.value): relation for relation in relations}
        chunks = await self._chunks(
            reader, [ref for relation in relations for ref in relation.sources[-_SOURCES_OF_FACT:]]
        )
        steps: list[PathStep] = []
        for tie in ties:
            relation = None if tie.is_link else stated.get((tie.ends, tie.predicate))
            steps.append(
                PathStep(
                    tie=tie,
                    description=relation.description if relation else "",
                    place=_place_of_relation(relation, _latest(relation, chunks), ())
                    if relation
                    else None,
                )
            )
        return NamePath(names=tuple(names[end] for end in ids), steps=tuple(steps), is_cut=False)

    async def _chunks(self, reader: Reader, refs: Iterable[str]) -> dict[str, Chunk]:
        """Return by reference those of the chunks that are still there."""
        ids = await published_chunks.find_ids(self._database, reader, list(dict.fromkeys(refs)))
        chunks = await search.get_chunks(self._database, reader, list(ids))
        return {ref: chunks[chunk_id] for chunk_id, ref in ids.items() if chunk_id in chunks}


@dataclass(slots=True)
class _Side:
    """One end of a search for a way: the names that it has reached, each by the strongest tie of those nearest to the start."""

    start: EntityId
    frontier: list[EntityId] = field(init=False)
    ties: dict[EntityId, tuple[Tie, EntityId] | None] = field(init=False)
    names: dict[EntityId, MapName] = field(default_factory=dict[EntityId, MapName])

    def __post_init__(self) -> None:
        self.frontier, self.ties = [self.start], {self.start: None}

    def advance(self, ties: Iterable[Tie]) -> list[EntityId]:
        """Go on along the ties, the strongest first; return the names that are new."""
        before, new = {*self.frontier}, list[EntityId]()
        for tie in ties:
            for near in tie.ends:
                far = tie.other_end(near)
                if near in before and far not in self.ties:
                    self.ties[far] = tie, near
                    new.append(far)
        self.frontier = new
        return new

    def limit_frontier(self) -> bool:
        """Go on from the first names only; return whether there are more."""
        is_cut = len(self.frontier) > _MAX_FRONTIER
        self.frontier = self.frontier[:_MAX_FRONTIER]
        return is_cut

    def way(self, end: EntityId) -> list[Tie]:
        """Return the ties from here to the start."""
        ties: list[Tie] = []
        while step := self.ties[end]:
            tie, end = step
            ties.append(tie)
        return ties


def _ends_in_order(ties: Iterable[Tie]) -> list[EntityId]:
    return list(dict.fromkeys(end for tie in ties for end in tie.ends))


def _latest(relation: Relation, chunks: Mapping[str, Chunk]) -> list[Chunk]:
    refs = reversed(relation.sources[-_SOURCES_OF_FACT:])
    return [chunks[ref] for ref in refs if ref in chunks]


def _fact(
    relation: Relation,
    centre: EntityId,
    names: Mapping[EntityId, MapName],
    chunks: Sequence[Chunk],
    called: Sequence[str],
) -> Fact:
    is_outgoing = relation.ends[0] == centre
    return Fact(
        relation=relation,
        other=names[relation.ends[1 if is_outgoing else 0]],
        is_outgoing=is_outgoing,
        place=_place_of_relation(relation, chunks, called),
    )


def _place_of_relation(
    relation: Relation, chunks: Sequence[Chunk], called: Sequence[str]
) -> Place | None:
    """Return the latest sentence that names both ends, else the latest that names one."""
    wanted = [(relation.source,), (relation.target,)]
    if called:
        wanted = [called, (relation.target if relation.source in called else relation.source,)]
    places = [_place(chunk, wanted) for chunk in chunks]
    for place in places:
        text = normalize_name(place.text)
        if all(any(normalize_name(name) in text for name in names) for names in wanted):
            return place
    return places[0] if places else None


def _place(chunk: Chunk, wanted: Sequence[Sequence[str]]) -> Place:
    """Return the sentence that has most of the wanted, each by one of its names; of several the first that is not just the title."""
    normalized = [[normalize_name(name) for name in names] for names in wanted]
    spans = unit_spans(chunk.text)

    def fit(span: tuple[int, int]) -> tuple[int, bool]:
        sentence = _as_read(chunk.text[slice(*span)])
        named = normalize_name(sentence)
        return (
            sum(any(name in named for name in names) for names in normalized),
            sentence != chunk.title,
        )

    start, end = max(spans, key=fit, default=(0, len(chunk.text)))
    return _make_place(chunk, start, end)


def _place_of_words(chunks: Sequence[Chunk], text: str) -> Place | None:
    """Return the first place that has the text word for word."""
    words = " ".join(text.split())
    for chunk in chunks:
        for start, end in unit_spans(chunk.text):
            if words in " ".join(chunk.text[start:end].split()):
                return _make_place(chunk, start, end)
    return None


def _make_place(chunk: Chunk, start: int, end: int) -> Place:
    text = _as_read(chunk.text[start:end])
    return Place(
        document_id=chunk.document_id,
        title=chunk.title,
        system=chunk.system,
        dated_at=chunk.dated_at,
        start=chunk.locator.start + start,
        end=chunk.locator.start + end,
        text=text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…",
    )


def _as_read(text: str) -> str:
    """Return a sentence, an item or a row in one line, without marks of Markdown and HTML."""
    if text.lstrip().startswith("|"):
        text = " · ".join(cell.strip() for cell in text.strip().strip("|").split("|"))
    return " ".join(strip_bullet(strip_markup(text)).split())
