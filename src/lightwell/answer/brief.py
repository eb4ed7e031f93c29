"""A brief on an entity: what it is, what happened lately, what is open, who and what is tied to it.

a name ─ which entities fit? ─ none ─► not found
                             ├ several, only nearly, or of several people ─► candidates, with what tells them apart
                             └ one ─► passages ─► chosen lines, or written by the model and checked ─► marks ─► brief
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.answer import bearers, lines, ties
from lightwell.answer.bearers import Bearer
from lightwell.answer.compose import EXTRACTS, quoted_instead_of
from lightwell.answer.lines import Draft, Marks, Part, Told
from lightwell.answer.telling import CUES, may_be_named, names
from lightwell.domain.access import Reader
from lightwell.domain.briefs import (
    MOST_CANDIDATES,
    Brief,
    Candidate,
    Candidates,
    Line,
    Spoken,
    named,
)
from lightwell.domain.errors import ModelFailed, NotFound
from lightwell.domain.evidence import ENOUGH, Confidence, Retrieval, confidence
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity
from lightwell.domain.ids import ChunkId
from lightwell.ports import ChatModel
from lightwell.records import briefs, entities, fitting
from lightwell.records.database import Database

READ = 10
"""Passages that are looked at for a name."""

_LONGEST_SAYING = 200
_MOST_DOCUMENTS = 3
_NOT_SAID = "not said"
_SAID_BY_RULES = "name"
_SHORTEST_LOOKED_FOR = 3
"""Letters from which the trigram index finds part of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """Who or what may be meant, with what is heard of it.

    `called` are the entity's names, `bearer` the one of several people with them who is meant, None where they are one.
    """

    entity: Entity
    called: tuple[str, ...]
    passages: tuple[Spoken, ...]
    told: Sequence[Told]
    bearer: Bearer | None = None


Search = Callable[[str], Awaitable[Retrieval]]
"""Finds what of the reader's bears on a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What a brief is made from, for one reader; `model`, where there is one, is shown at most so many tokens."""

    database: Database
    reader: Reader
    search: Search
    model: ChatModel | None
    most_tokens: int


async def brief(library: Library, name: str) -> Brief | Candidates:
    """Return a brief on the entity that fits the name, or the several that do; raise `NotFound`.

    Nobody is taken for somebody else: a name that no entity has exactly, but some nearly, leads to candidates, and so does
    one whose bearers have different e-mail addresses. `NAME <ADDRESS>`, also of a reference, picks one of these.
    """
    asked, address = bearers.picked(named(name))
    found = await fitting.fitting(library.database, library.reader, asked)
    meant = [
        each
        for entity in found.entities
        if entity.kind != _SAID_BY_RULES or may_be_named(entity.name)
        for each in _meant(await _heard(library, entity), address)
    ]
    if not meant:
        raise NotFound(f"There is no entity {name!r} that you may see")
    if len(meant) == 1 and (found.exactly or address is not None):
        return await _brief(library, meant[0])
    return Candidates(name=name, candidates=await _candidates(library, meant[:MOST_CANDIDATES]))


async def _brief(library: Library, meant: _Heard) -> Brief:
    address = meant.bearer.address if meant.bearer else ""
    found = await library.search(f"{meant.entity.name} {address}".strip())
    heard, model = meant, None
    if meant.bearer is None:  # else a passage may speak of the others, too
        heard, model = await _heard(library, meant.entity, found), library.model
    heard = _judged(heard, found)
    drafts = lines.chosen(heard.entity, heard.told)
    notes: tuple[str, ...] = ()
    if model is not None and drafts:
        try:
            drafts = await lines.written(
                model, heard.entity, heard.passages, drafts, most_tokens=library.most_tokens
            )
        except ModelFailed as error:
            model, notes = None, (quoted_instead_of(error),)
    kept, marks = lines.within(drafts)
    made = _lines(kept, marks)
    tied = await _tied(library, heard) if made else ties.NONE
    people = tuple(ties.with_how(each, heard.told, marks) for each in tied.people)
    links = tuple(ties.with_how(each, heard.told, marks) for each in tied.links)
    relevance = max((each.score for each in marks.citations), default=0.0)
    return Brief(
        entity=heard.entity,
        about=made.get(Part.ABOUT, ()),
        lately=made.get(Part.LATELY, ()),
        open_points=made.get(Part.OPEN, ()),
        people=people,
        links=links,
        citations=tuple(marks.citations),
        confidence=_confidence(heard, relevance) if made else Confidence.INSUFFICIENT,
        relevance=relevance,
        model=EXTRACTS if model is None else model.model,
        notes=notes,
    )


def _confidence(heard: _Heard, relevance: float) -> Confidence:
    """Return the word for the relevance, low at least, since each line names the entity; low for what says not whom it is of."""
    is_said_of_nobody = heard.bearer is not None and not heard.bearer.addresses
    if relevance < ENOUGH or is_said_of_nobody:
        return Confidence.LOW
    return confidence(relevance)


def _judged(heard: _Heard, found: Retrieval) -> _Heard:
    """Return what is heard with the relevance that each passage was found to have, 0 for those that were not found."""
    known = {one.id: each.relevance for each in found.evidence for one in each.published}

    def judged(each: Told) -> Told:
        evidence = each.quote.evidence
        evidence = replace(evidence, relevance=known.get(evidence.chunk.id, 0.0))
        return replace(each, quote=replace(each.quote, evidence=evidence))

    passages = (replace(each, relevance=known.get(each.chunk.id, 0.0)) for each in heard.passages)
    return replace(heard, passages=tuple(passages), told=tuple(judged(each) for each in heard.told))


def _lines(drafts: Sequence[Draft], marks: Marks) -> dict[Part, tuple[Line, ...]]:
    made: dict[Part, tuple[Line, ...]] = {}
    for draft in drafts:
        line = marks.line(draft.text, draft.quotes, draft.said_at)
        made[draft.part] = (*made.get(draft.part, ()), line)
    return made


async def _tied(library: Library, heard: _Heard) -> ties.Ties:
    """Return the ties; of one bearer of a name, only those that what is said of him names."""
    tied = await ties.ties(
        library.database, library.reader, heard.entity, heard.passages, heard.told
    )
    if heard.bearer is None:
        return tied
    return ties.Ties(
        people=tuple(each for each in tied.people if ties.naming(each, heard.told)),
        links=tuple(each for each in tied.links if ties.naming(each, heard.told)),
    )


# ── what is heard of it, and of whom? ─────────────────────────────────────────────────────────────────


async def _heard(library: Library, entity: Entity, found: Retrieval | None = None) -> _Heard:
    """Return what names the entity, with what was found for its name where that says it in a longer one or a title."""
    database, reader = library.database, library.reader
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
    return _Heard(
        entity=entity,
        called=called,
        passages=tuple(each for each in passages if each.often or each.chunk.id in spoken),
        told=told,
    )


def _chunks(found: Retrieval) -> list[ChunkId]:
    return [one.id for each in found.evidence for one in each.published]


def _meant(heard: _Heard, address: str | None) -> list[_Heard]:
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


def _of_one(heard: _Heard, bearer: Bearer) -> _Heard:
    chunks = {each.quote.evidence.chunk.id for each in bearer.told}
    entity = replace(
        heard.entity,
        ref=f"{heard.entity.ref}<{bearer.address}>",
        description=", ".join(bearer.addresses),
        chunk_count=len(chunks),
    )
    passages = tuple(each for each in heard.passages if each.chunk.id in chunks)
    return replace(heard, entity=entity, passages=passages, told=bearer.told, bearer=bearer)


# ── which one is meant? ───────────────────────────────────────────────────────────────────────────────


async def _candidates(library: Library, meant: Sequence[_Heard]) -> tuple[Candidate, ...]:
    entity_ids = [each.entity.id for each in meant]
    known = await briefs.attributes(library.database, library.reader, entity_ids)
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


def _apart(heard: _Heard, attributes: Mapping[str, str]) -> dict[str, str]:
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


def _documents(heard: _Heard) -> str:
    titles = dict.fromkeys(each.quote.evidence.chunk.title for each in heard.told)
    return "; ".join([*titles][:_MOST_DOCUMENTS]) + ("; …" if len(titles) > _MOST_DOCUMENTS else "")


def _saying(heard: _Heard) -> str:
    """Return one line that says what the entity is."""
    described = heard.entity.description if heard.bearer is None else ""
    said = described.split(DESCRIPTION_SEPARATOR)[0] or lines.best_saying(heard.told)
    plain = " ".join(said.split())
    if len(plain) <= _LONGEST_SAYING:
        return plain
    return plain[:_LONGEST_SAYING].rsplit(" ", 1)[0] + "…"
