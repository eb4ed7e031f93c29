"""What a map for people is made of: names as one types, a light neighbourhood, profiles with places to open, and ways between names."""

from typing import Annotated
from uuid import UUID

from pydantic import AliasChoices, AliasPath, Field

from lightwell.domain import graph_map
from lightwell.domain.graph_map import MAX_MAP_NAMES, MapName
from lightwell.domain.graph_views import MAX_DEPTH
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import EntityName, Moment, Reply, Rounded, read_from

names = Subject(prefix="/v1/graph", tag="graph")


class Name(Reply):
    """An entity without its sources; `chunkCount` counts the passages that mention it."""

    entity_id: Annotated[UUID, read_from("entityId", "id")]
    entity_ref: Annotated[
        str, read_from("entityRef", "ref"), Field(examples=["kg:organization:nordwind-energie"])
    ]
    entity_name: Annotated[
        str, read_from("entityName", "name"), Field(examples=["Nordwind Energie"])
    ]
    entity_type: Annotated[str, read_from("entityType", "kind"), Field(examples=["organization"])]
    chunk_count: int


class NameList(Reply):
    """Names, the best fit first."""

    names: list[Name]


class MappedName(Name):
    """A name at a distance of `depth` ties, 0 for the one that was asked for."""

    depth: int


class Tie(Reply):
    """A relation between two names by their ids, or with `isLink` a confirmed link, whose ends are in no order."""

    source_entity_id: Annotated[
        UUID, Field(validation_alias=AliasChoices("sourceEntityId", AliasPath("ends", 0)))
    ]
    target_entity_id: Annotated[
        UUID, Field(validation_alias=AliasChoices("targetEntityId", AliasPath("ends", 1)))
    ]
    predicate: Annotated[str, Field(examples=["RELATED_TO"])]
    weight: Rounded
    is_link: bool


class NameMap(Reply):
    """The names around one, the nearest and the most tied first, and the strongest ties between them, at most four for each name.

    With `isCut` there are more names or ties.
    """

    names: list[MappedName]
    ties: list[Tie]
    is_cut: bool


class QuotedPlace(Reply):
    """A sentence of a document, as people read it, and where it stands: `start` and `end` are characters of the document's text.

    `datedAt` is null for a document without a date.
    """

    document_id: UUID
    document_title: Annotated[str, read_from("documentTitle", "title")]
    source_system: Annotated[str, read_from("sourceSystem", "system")]
    dated_at: Moment | None
    start: int
    end: int
    text: str


class SaidOf(Reply):
    """A part of a description; `place` is null where a person or a model wrote it."""

    text: str
    place: QuotedPlace | None


class Fact(Reply):
    """A relation to another name, with the sentence that names both, else one of them."""

    other: Name
    is_outgoing: bool
    relation: Annotated[str, Field(description="Its key, which hides it.")]
    predicate: str
    description: str
    chunk_count: int
    place: QuotedPlace | None


class NameProfile(Name):
    """What documents say of a name: the weightiest facts (up to 60) and the latest places (up to 50), each to be opened."""

    aliases: list[str]
    described_by_hand: bool
    descriptions: list[SaidOf]
    facts: list[Fact]
    places: list[QuotedPlace]


class PathStep(Tie):
    """A tie of the way, with what the relation says and the sentence that says it."""

    description: str
    place: QuotedPlace | None


class NamePath(Reply):
    """The names on a way, and the steps between them; without names there is none, unless `isCut`: then not all was looked at."""

    names: list[Name]
    steps: list[PathStep]
    is_cut: bool


@names.operation("GET", "/names")
async def find_names(
    caller: Caller,
    query: Annotated[
        str, Field(max_length=400, description="What was typed; empty for the most mentioned.")
    ] = "",
    kind: Annotated[str, Field(max_length=100, description="Only this kind.")] = "",
    limit: Annotated[int, Field(ge=1, le=50, description="How many, at most.")] = 10,
) -> NameList:
    """Find names as one types: the whole name first, then its beginning, then the beginning of a word in it, then the rest."""
    fitting = await caller.knowledge_base.graph.names.search(
        caller.reader, query, kind=kind, limit=limit
    )
    return NameList(names=list(map(_name, fitting)))


@names.operation("GET", "/map")
async def get_map(
    caller: Caller,
    entity: EntityName,
    depth: Annotated[
        int,
        Field(
            description="How many ties away.",
            json_schema_extra={"minimum": 1, "maximum": MAX_DEPTH},
        ),
    ] = 1,
    limit: Annotated[
        int,
        Field(
            description="How many names, at most, itself included.",
            json_schema_extra={"minimum": 1, "maximum": MAX_MAP_NAMES},
        ),
    ] = 300,
) -> NameMap:
    """Return the names that relations and confirmed links lead to from one name, with their sizes, and the strongest ties between them."""
    around = await caller.knowledge_base.graph.names.around(
        caller.reader, entity, depth=depth, limit=limit
    )
    return NameMap(
        names=[MappedName.of(_name(name), depth=distance) for name, distance in around.names],
        ties=[Tie.model_validate(tie) for tie in around.ties],
        is_cut=around.is_cut,
    )


@names.operation("GET", "/path")
async def find_path(
    caller: Caller,
    source: EntityName,
    target: Annotated[EntityName, Field(examples=["Tarn Valley"])],
) -> NamePath:
    """Find a shortest way from one name to another, of at most six relations and confirmed links, each with its place."""
    path = await caller.knowledge_base.graph.names.path(caller.reader, source, target)
    return NamePath(
        names=list(map(_name, path.names)),
        steps=[
            PathStep.of(
                Tie.model_validate(step.tie),
                description=step.description,
                place=_place(step.place),
            )
            for step in path.steps
        ],
        is_cut=path.is_cut,
    )


@names.operation("GET", "/profiles/{name:path}")
async def get_name_profile(caller: Caller, name: EntityName) -> NameProfile:
    """Return what documents say of a name: other names, descriptions, facts and places, each with the sentence that says it."""
    profile = await caller.knowledge_base.graph.names.profile(caller.reader, name)
    entity = profile.entity
    return NameProfile(
        entity_id=entity.id,
        entity_ref=entity.ref,
        entity_name=entity.name,
        entity_type=entity.kind,
        chunk_count=entity.chunk_count,
        aliases=list(profile.aliases),
        described_by_hand=entity.described_by_hand,
        descriptions=[
            SaidOf(text=part.text, place=_place(part.place)) for part in profile.descriptions
        ],
        facts=list(map(_fact, profile.facts)),
        places=[QuotedPlace.model_validate(place) for place in profile.places],
    )


def _name(name: MapName) -> Name:
    return Name.model_validate(name)


def _place(place: graph_map.Place | None) -> QuotedPlace | None:
    return QuotedPlace.model_validate(place) if place else None


def _fact(fact: graph_map.Fact) -> Fact:
    relation = fact.relation
    return Fact(
        other=_name(fact.other),
        is_outgoing=fact.is_outgoing,
        relation=str(fact.key),
        predicate=relation.predicate.value,
        description=relation.description,
        chunk_count=relation.chunk_count,
        place=_place(fact.place),
    )
