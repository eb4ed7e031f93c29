"""Which entities a name may mean, and what tells them apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.answer import bearers, lines
from lightwell.answer.bearers import Bearer
from lightwell.answer.lines import Told
from lightwell.answer.telling import CUES, may_be_named, names
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Spoken
from lightwell.domain.candidates import Candidate
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity
from lightwell.domain.ids import ChunkId
from lightwell.records import briefs, entities, fitting
from lightwell.records.database import Database

_LONGEST_SAYING = 200
_MOST_DOCUMENTS = 3
_NOT_SAID = "not said"
_SAID_BY_RULES = "name"
_SHORTEST_LOOKED_FOR = 3
"""Letters from which the trigram index finds part of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Who or what may be meant, with what is heard of it.

    `called` are the entity's names, `bearer` the one of several people with them who is meant, None where they are one.
    """

    entity: Entity
    called: tuple[str, ...]
    passages: tuple[Spoken, ...]
    told: Sequence[Told]
    bearer: Bearer | None = None


async def meant_by(
    database: Database, reader: Reader, found: Sequence[Entity], address: str | None = None
) -> list[Heard]:
    """Return whom or what the entities that fit a name stand for: an entity of several people is several.

    With an address, "" for none, it is the owner of that address alone.
    """
    return [
        each
        for entity in found
        if entity.kind != _SAID_BY_RULES or may_be_named(entity.name)
        for each in split_by_person(await heard_of(database, reader, entity), address)
    ]


async def heard_of(
    database: Database, reader: Reader, entity: Entity, found: Retrieval | None = None
) -> Heard:
    """Return what names the entity, with what was found for its name where that says it in a longer one or a title."""
    called = (entity.name, *await entities.aliases(database, reader, entity))
    short = await fitting.short_for(database, reader, entity)
    longer = [each.name for each in short.longer] if short.alone else []
    parts = {part for name in called for own in bearers.spellings(name) for part in own[1:][-1:]}
    parts = {part for part in parts if len(part) >= _SHORTEST_LOOKED_FOR}
    also = await briefs.addressed(database, reader, entity.id, sorted(parts)) if parts else []
    also += _chunks(found) if found else []
    passages = await briefs.passages(database, reader, entity.id, CUES, also)
    told = lines.told(passages, names(called, longer))
    spoken = {each.quote.evidence.chunk.id for each in told}
    return Heard(
        entity=entity,
        called=called,
        passages=tuple(each for each in passages if each.often or each.chunk.id in spoken),
        told=told,
    )


def _chunks(found: Retrieval) -> list[ChunkId]:
    return [one.id for each in found.evidence for one in each.published]


def split_by_person(heard: Heard, address: str | None) -> list[Heard]:
    """Return what is heard, apart for each of the people whose addresses come with the name where they are several.

    With an address, "" for none, it is that of its owner alone.
    """
    borne = bearers.parted(heard.called, heard.passages, heard.told)
    if len([each for each in borne if each.addresses]) <= 1:
        known = {one for each in borne for one in each.addresses}
        return [heard] if address is None or address in known else []
    picked = [
        each
        for each in borne
        if address is None or address in each.addresses or address == each.address
    ]
    return [_of_one(heard, each) for each in picked]


def _of_one(heard: Heard, bearer: Bearer) -> Heard:
    chunks = {each.quote.evidence.chunk.id for each in bearer.told}
    entity = replace(
        heard.entity,
        ref=f"{heard.entity.ref}<{bearer.address}>",
        description=", ".join(bearer.addresses),
        chunk_count=len(chunks),
    )
    passages = tuple(each for each in heard.passages if each.chunk.id in chunks)
    return replace(heard, entity=entity, passages=passages, told=bearer.told, bearer=bearer)


async def candidates(
    database: Database, reader: Reader, meant: Sequence[Heard]
) -> tuple[Candidate, ...]:
    """Return a candidate for each, with the fields in which they differ."""
    entity_ids = [each.entity.id for each in meant]
    known = await briefs.attributes(database, reader, entity_ids)
    apart = [_apart(each, known.get(each.entity.id, {})) for each in meant]
    same = {
        field
        for field, value in apart[0].items()
        if len(meant) > 1 and all(each.get(field) == value for each in apart)
    }
    return tuple(
        Candidate(
            entity=heard.entity,
            apart={field: value for field, value in each.items() if value and field not in same},
        )
        for heard, each in zip(meant, apart, strict=True)
    )


def _apart(heard: Heard, attributes: Mapping[str, str]) -> dict[str, str]:
    latest = max((each.said_at for each in heard.passages), default=None)
    own = {"kind": heard.entity.kind}
    if heard.bearer is not None:
        email = heard.entity.description or _NOT_SAID
        attributes = {"email": email, "documents": _documents(heard)}
    return {
        **own,
        **{field: value for field, value in sorted(attributes.items()) if field not in own},
        "description": _saying(heard),
        "passages": str(heard.entity.chunk_count),
        "latest": "" if latest is None else f"{latest:%Y-%m-%d}",
    }


def _documents(heard: Heard) -> str:
    titles = dict.fromkeys(each.quote.evidence.chunk.title for each in heard.told)
    return "; ".join([*titles][:_MOST_DOCUMENTS]) + ("; …" if len(titles) > _MOST_DOCUMENTS else "")


def _saying(heard: Heard) -> str:
    """Return one line that says what the entity is."""
    described = heard.entity.description if heard.bearer is None else ""
    said = described.split(DESCRIPTION_SEPARATOR)[0] or lines.best_saying(heard.told)
    plain = " ".join(said.split())
    if len(plain) <= _LONGEST_SAYING:
        return plain
    return plain[:_LONGEST_SAYING].rsplit(" ", 1)[0] + "…"
