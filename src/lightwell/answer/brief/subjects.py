"""Which entities a name may mean, and what tells them apart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.brief import namesakes, selection
from lightwell.answer.brief.cues import entity_names, is_plausible_name
from lightwell.answer.brief.namesakes import (
    Namesake,
    address_matches_name,
    likely_address_prefixes,
)
from lightwell.answer.brief.selection import CandidateSentence
from lightwell.domain.access import Reader
from lightwell.domain.briefs import EntityPassage
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, UNKNOWN_KIND, Entity, normalize_name
from lightwell.domain.graph_views import MAX_CANDIDATES, Candidate, Candidates
from lightwell.domain.ids import ChunkId
from lightwell.domain.longer_names import count_for_itself, may_be_called_by_a_part
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.graph import entities, entity_lookup, entity_passages
from lightwell.text.open_cues import CUES
from lightwell.text.terms import terms

MAX_NAMES = 4
"""Names of one question that are looked up."""

_MAX_DEFINING_LINE = 200
_MAX_DOCUMENTS = 3
_DEAL = "deal"
"""The kind whose brief is about its company and its projects, too: alone, its record says little."""
_NOT_SAID = "not said"
_FROM_TEXTS = "kg:"
_COMPANIES = frozenset({"company", "organization"})
_SHORTEST_LOOKED_FOR = 3
"""Letters from which the trigram index finds part of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An entity that a name may mean, with the passages and sentences about it.

    `namesake` is the one person who is meant where several people have the name, else None.
    """

    entity: Entity
    names: tuple[str, ...]
    passages: tuple[EntityPassage, ...]
    sentences: Sequence[CandidateSentence]
    namesake: Namesake | None = None


async def possible_subjects(
    database: Database, reader: Reader, entities: Sequence[Entity], address: str | None = None
) -> list[Subject]:
    """Return the subjects that the entities stand for; an entity whose name several people have stands for each of them.

    With an address, only its owner is returned; "" means the person without an address.
    """
    return [
        each
        for entity in entities
        if entity.kind != UNKNOWN_KIND or is_plausible_name(entity.name)
        for each in split_by_person(await collect_passages(database, reader, entity), address)
    ]


async def collect_passages(
    database: Database, reader: Reader, entity: Entity, retrieval: Retrieval | None = None
) -> Subject:
    """Return the entity with the passages that name it, and those of the retrieval that do in a longer name or a title.

    Passages that name the company of a deal, or the projects and issues that carry it out, are about the deal, too.
    """
    same = await entity_passages.list_same(database, reader, entity.id)
    if entity.kind == _DEAL:
        for part in await entity_passages.list_parts(database, reader, entity.id):
            same += [part, *await entity_passages.list_same(database, reader, part.id)]
    aliases = await entities.list_aliases(database, reader, entity)
    names = tuple(dict.fromkeys((entity.name, *aliases, *(each.name for each in same))))
    short = await entity_lookup.find_longer_names(database, reader, entity)
    longer = [each.name for each in short.longer] if short.alone_count else []
    parts = {
        part for name in names for own in namesakes.ascii_spellings(name) for part in own[1:][-1:]
    }
    parts = {part for part in parts if len(part) >= _SHORTEST_LOOKED_FOR}
    also = (
        await entity_passages.list_passages_with_address(database, reader, entity.id, sorted(parts))
        if parts
        else []
    )
    also += _chunks(retrieval) if retrieval else []
    meant = [entity.id, *(each.id for each in same)]
    passages = await entity_passages.list_passages(database, reader, meant, CUES, also)
    sentences = selection.candidate_sentences(passages, entity_names(names, longer))
    quoted = {each.quote.evidence.chunk.id for each in sentences}
    return Subject(
        entity=entity,
        names=names,
        passages=tuple(each for each in passages if each.mention_count or each.chunk.id in quoted),
        sentences=sentences,
    )


def _chunks(retrieval: Retrieval) -> list[ChunkId]:
    return [one.id for each in retrieval.evidence for one in each.published_chunks]


def split_by_person(subject: Subject, address: str | None) -> list[Subject]:
    """Return the subject, split into one for each person where several people have its name.

    With an address, only its owner is returned; "" means the person without an address.
    """
    people = namesakes.split_by_address(subject.names, subject.passages, subject.sentences)
    if len([each for each in people if each.addresses]) <= 1:
        known = {one for each in people for one in each.addresses}
        return [subject] if address is None or address in known else []
    picked = [
        each
        for each in people
        if address is None or address in each.addresses or address == each.address
    ]
    return [_for_namesake(subject, each) for each in picked]


def _for_namesake(subject: Subject, namesake: Namesake) -> Subject:
    chunks = {each.quote.evidence.chunk.id for each in namesake.sentences}
    entity = replace(
        subject.entity,
        ref=f"{subject.entity.ref}<{namesake.address}>",
        description=", ".join(namesake.addresses),
        chunk_count=len(chunks),
    )
    passages = tuple(each for each in subject.passages if each.chunk.id in chunks)
    return replace(
        subject, entity=entity, passages=passages, sentences=namesake.sentences, namesake=namesake
    )


async def list_candidates(
    database: Database, reader: Reader, subjects: Sequence[Subject]
) -> tuple[Candidate, ...]:
    """Return a candidate for each, with the fields in which they differ."""
    entity_ids = [each.entity.id for each in subjects]
    known = await entity_passages.get_attributes(database, reader, entity_ids)
    apart = [_distinguishing_fields(each, known.get(each.entity.id, {})) for each in subjects]
    same = {
        field
        for field, value in apart[0].items()
        if len(subjects) > 1 and all(each.get(field) == value for each in apart)
    }
    return tuple(
        Candidate(
            entity=subject.entity,
            distinguishing={
                field: value for field, value in each.items() if value and field not in same
            },
        )
        for subject, each in zip(subjects, apart, strict=True)
    )


def _distinguishing_fields(subject: Subject, attributes: Mapping[str, str]) -> dict[str, str]:
    dates = (passage.chunk.dated_at for passage in subject.passages)
    latest = max(filter(None, dates), default=None)
    own = {"kind": subject.entity.kind}
    if subject.namesake is not None:
        email = subject.entity.description or _NOT_SAID
        attributes = {"email": email, "documents": _documents(subject)}
    return {
        **own,
        **{field: value for field, value in sorted(attributes.items()) if field not in own},
        "description": _defining_line(subject),
        "passages": str(subject.entity.chunk_count),
        "latest": "" if latest is None else f"{latest:%Y-%m-%d}",
    }


def _documents(subject: Subject) -> str:
    titles = dict.fromkeys(each.quote.evidence.chunk.title for each in subject.sentences)
    return "; ".join([*titles][:_MAX_DOCUMENTS]) + ("; …" if len(titles) > _MAX_DOCUMENTS else "")


def _defining_line(subject: Subject) -> str:
    """Return one line that says what the entity is."""
    described = subject.entity.description if subject.namesake is None else ""
    said = described.split(DESCRIPTION_SEPARATOR)[0] or selection.best_definition(subject.sentences)
    plain = " ".join(said.split())
    if len(plain) <= _MAX_DEFINING_LINE:
        return plain
    return plain[:_MAX_DEFINING_LINE].rsplit(" ", 1)[0] + "…"


async def drop_restated(
    database: Database, reader: Reader, entities: Sequence[Entity]
) -> list[Entity]:
    """Return the entities without those that only texts name, where a business system states one of that name.

    One with attributes of its own stays, since these may tell it from the stated one.
    """
    stated = [each for each in entities if not each.ref.startswith(_FROM_TEXTS)]
    restated = [
        each
        for each in entities
        if each.ref.startswith(_FROM_TEXTS) and any(_may_restate(each, one) for one in stated)
    ]
    if not restated:
        return list(entities)
    apart = await entity_passages.get_attributes(database, reader, [each.id for each in restated])
    gone = {each.id for each in restated if not apart.get(each.id)}
    return [each for each in entities if each.id not in gone]


def _may_restate(named: Entity, stated: Entity) -> bool:
    """Return whether a text that names the one may mean the other: by its name, or by a part of it that says no kind."""
    own, other = normalize_name(named.name).split(), normalize_name(stated.name).split()
    if named.kind == UNKNOWN_KIND:
        return {*own} <= {*other}
    return own == other and (named.kind == stated.kind or {named.kind, stated.kind} <= _COMPANIES)


# ── ambiguous names of a question ──────────────────────────────────────────────────────────────────


async def ambiguous_names(
    database: Database, reader: Reader, analysis: QuestionAnalysis
) -> tuple[Candidates, ...]:
    """Return the candidates for each name in the question that may mean several of the reader's entities.

    A name is ambiguous when several entities have it, when it is short for several names, or when people of that name have
    different e-mail addresses. The question settles it by naming one of them in full, or an address.
    """
    found: list[Candidates] = []
    for name in analysis.capitalized_names[:MAX_NAMES]:
        meant = await _possible_entities(database, reader, name)
        if len(meant) > 1 and not _says_which(analysis.text, name, meant):
            several = await list_candidates(database, reader, meant[:MAX_CANDIDATES])
            found.append(Candidates(name=name, candidates=several))
    return tuple(found)


async def _possible_entities(database: Database, reader: Reader, name: str) -> list[Subject]:
    found = await entity_lookup.match_entities(database, reader, name)
    fits = found.entities
    if not found.is_exact:
        fits = _named_by_part(name, found.entities)
        if fits and await _is_mostly_said_alone(database, reader, name, fits):
            return []
    fits = await entity_passages.drop_same(database, reader, fits)
    fits = await drop_restated(database, reader, fits)
    if len(fits) == 1 and not await _may_be_several_people(database, reader, fits[0]):
        return []
    return await possible_subjects(database, reader, fits)


def _named_by_part(name: str, entities: Sequence[Entity]) -> list[Entity]:
    """Return the entities whose names hold the name as whole words; names that are only similar are not meant."""
    words = {*normalize_name(name).split()}
    return [
        each
        for each in entities
        if each.kind not in entity_lookup.TITLE_KINDS
        and words <= {*normalize_name(each.name).split()}
    ]


async def _is_mostly_said_alone(
    database: Database, reader: Reader, name: str, longer: Sequence[Entity]
) -> bool:
    """Return whether the name is rather a word of its own, such as `PR`, than a part of these names: an estimate.

    Clearly more of the reader's passages have the word without any of them than have the most frequent one. `What` is no name.
    A person, a company or a project may be called by a part of its name; by rules a person may have no kind, and a rare first
    name no entity of its own.
    """
    own = terms(name)
    may_be_more = len(longer) >= MAX_CANDIDATES
    if len(own) > 1 or may_be_more or may_be_called_by_a_part(longer):
        return False
    if not own:
        return not name.isupper()
    statistics = await search.get_term_statistics(database, reader, own)
    alone_count = statistics.chunks_with.get(own[0], 0) - sum(each.chunk_count for each in longer)
    return alone_count >= count_for_itself(longer)


async def _may_be_several_people(database: Database, reader: Reader, entity: Entity) -> bool:
    """Return whether the reader's passages hold several e-mail addresses that are made of the entity's name."""
    likely = likely_address_prefixes(entity.name)
    known = (
        await entity_passages.find_addresses(database, reader, sorted(set(likely)))
        if likely
        else []
    )
    return len([each for each in known if address_matches_name(each, entity.name)]) > 1


def _says_which(question: str, name: str, subjects: Iterable[Subject]) -> bool:
    """Return whether the question names one of the candidates in full, or by an e-mail address."""
    whole, own = f" {normalize_name(question)} ", normalize_name(name)
    longer = {normalize_name(each.entity.name) for each in subjects} - {own}
    addresses = {
        one for each in subjects if each.namesake is not None for one in each.namesake.addresses
    }
    return any(f" {each} " in whole for each in longer) or any(one in whole for one in addresses)
