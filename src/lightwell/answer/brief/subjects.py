"""Which entities a name may mean, and what tells them apart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.brief import namesakes, selection
from lightwell.answer.brief.cues import entity_names
from lightwell.answer.brief.items import mark_parts
from lightwell.answer.brief.namesakes import (
    Namesake,
    address_matches_name,
    likely_address_prefixes,
)
from lightwell.answer.brief.selection import CandidateSentence
from lightwell.answer.open_points import CUES
from lightwell.domain.access import Reader
from lightwell.domain.briefs import EntityPassage
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, UNKNOWN_KIND, Entity, normalize_name
from lightwell.domain.graph_views import MAX_CANDIDATES, Candidate, Candidates
from lightwell.domain.ids import EntityId
from lightwell.domain.longer_names import count_for_itself, may_be_called_by_a_part
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.graph import entities, entity_lookup, entity_passages
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
_WITH_PARTS = _COMPANIES | {_DEAL, "project"}
_PERSON = "person"
_SHORTEST_LOOKED_FOR = 3
"""Letters from which the trigram index finds part of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An entity that a name may mean, with the passages and sentences about it.

    `refs` are the references of the entity and of what is the same. `namesake` is the one person who is meant where several people have the name, else None.
    """

    entity: Entity
    refs: frozenset[str]
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
        subject
        for entity in entities
        for subject in split_by_person(await collect_passages(database, reader, entity), address)
    ]


async def collect_passages(
    database: Database, reader: Reader, entity: Entity, retrieval: Retrieval | None = None
) -> Subject:
    """Return the entity with the passages that name it, and those of the retrieval that do in a longer name or a title.

    Passages that name the company of a deal, or the projects and issues that carry it out, are about the deal, too; of a company and of
    a project, those that mention what belongs to it.
    """
    same = await entity_passages.list_same(database, reader, entity.id)
    refs = frozenset((entity.ref, *(other.ref for other in same)))
    if entity.kind == _DEAL:
        for part in await entity_passages.list_parts(database, reader, entity.id):
            same += [part, *await entity_passages.list_same(database, reader, part.id)]
    aliases = await entities.list_aliases(database, reader, entity)
    names = tuple(dict.fromkeys((entity.name, *aliases, *(other.name for other in same))))
    short = await entity_lookup.find_longer_names(database, reader, entity)
    longer = [other.name for other in short.longer] if short.alone_count else []
    parts = {
        part
        for name in names
        for spelling in namesakes.ascii_spellings(name)
        for part in spelling[1:][-1:]
    }
    parts = {part for part in parts if len(part) >= _SHORTEST_LOOKED_FOR}
    also = (
        await entity_passages.list_passages_with_address(database, reader, entity.id, sorted(parts))
        if parts
        else []
    )
    for entry in retrieval.evidence if retrieval else ():
        also += [chunk.id for chunk in entry.published_chunks]
    meant = [entity.id, *(other.id for other in same)]
    passages = await entity_passages.list_passages(database, reader, meant, CUES, also)
    if retrieval is not None:
        passages = _join_passages(
            await _list_item_passages(database, reader, entity, same), passages
        )
    sentences = selection.candidate_sentences(passages, entity_names(names, longer))
    quoted = {sentence.quote.evidence.chunk.id for sentence in sentences}
    return Subject(
        entity=entity,
        refs=refs,
        names=names,
        passages=tuple(
            passage for passage in passages if passage.mention_count or passage.chunk.id in quoted
        ),
        sentences=sentences,
    )


async def _list_item_passages(
    database: Database, reader: Reader, entity: Entity, same: Sequence[Entity]
) -> list[EntityPassage]:
    """Return the passages of items about what belongs to a company, a project or a deal; the people of a deal are those of its company."""
    if entity.kind not in _WITH_PARTS or _is_from_texts(entity):
        return []
    ids = await entity_passages.list_belongings(database, reader, [entity.id])
    companies = [other.id for other in same if other.kind in _COMPANIES and other.id not in ids]
    if entity.kind == _DEAL and companies:
        of_company = await entity_passages.list_belongings(database, reader, companies)
        ids += [other.id for other in same if other.kind == _PERSON and other.id in of_company]
    passages = await entity_passages.list_passages(database, reader, ids, CUES)
    return mark_parts(passages)


def _join_passages(
    parts: Sequence[EntityPassage], passages: Sequence[EntityPassage]
) -> tuple[EntityPassage, ...]:
    """Return the passages, the newest first, each once."""
    joined = {passage.chunk.id: passage for passage in (*passages, *parts)}
    return tuple(sorted(joined.values(), key=_newest))


def _newest(passage: EntityPassage) -> tuple[float, str, int]:
    chunk = passage.chunk
    return -chunk.updated_at.timestamp(), chunk.url, chunk.index


def split_by_person(subject: Subject, address: str | None) -> list[Subject]:
    """Return the subject, split into one for each person where several people have its name.

    With an address, only its owner is returned; "" means the person without an address.
    """
    people = namesakes.split_by_address(subject.names, subject.passages, subject.sentences)
    if len([person for person in people if person.addresses]) <= 1:
        addresses = {own_address for person in people for own_address in person.addresses}
        return [subject] if address is None or address in addresses else []
    picked = [
        person
        for person in people
        if address is None or address in person.addresses or address == person.address
    ]
    return [_for_namesake(subject, person) for person in picked]


def _for_namesake(subject: Subject, namesake: Namesake) -> Subject:
    chunks = {sentence.quote.evidence.chunk.id for sentence in namesake.sentences}
    entity = replace(
        subject.entity,
        ref=f"{subject.entity.ref}<{namesake.address}>",
        description=", ".join(namesake.addresses),
        chunk_count=len(chunks),
    )
    passages = tuple(passage for passage in subject.passages if passage.chunk.id in chunks)
    return replace(
        subject, entity=entity, passages=passages, sentences=namesake.sentences, namesake=namesake
    )


async def list_candidates(
    database: Database, reader: Reader, subjects: Sequence[Subject]
) -> tuple[Candidate, ...]:
    """Return a candidate for each, with the fields in which they differ."""
    entity_ids = [subject.entity.id for subject in subjects]
    attributes = await entity_passages.get_attributes(database, reader, entity_ids)
    companies = await _companies_of_deals(database, reader, subjects)
    apart = [
        _distinguishing_fields(
            subject,
            attributes.get(subject.entity.id, {}) | companies.get(subject.entity.id, {}),
        )
        for subject in subjects
    ]
    same = {
        field
        for field, value in apart[0].items()
        if len(subjects) > 1 and all(fields.get(field) == value for fields in apart)
    }
    return tuple(
        Candidate(
            entity=subject.entity,
            distinguishing={
                field: value for field, value in fields.items() if value and field not in same
            },
        )
        for subject, fields in zip(subjects, apart, strict=True)
    )


async def _companies_of_deals(
    database: Database, reader: Reader, subjects: Sequence[Subject]
) -> dict[EntityId, dict[str, str]]:
    """Return the company of each deal: deals of one name are those of several customers."""
    companies: dict[EntityId, dict[str, str]] = {}
    for entity in (subject.entity for subject in subjects if subject.entity.kind == _DEAL):
        for part in await entity_passages.list_parts(database, reader, entity.id):
            if part.kind in _COMPANIES:
                companies.setdefault(entity.id, {"company": part.name})
    return companies


def _distinguishing_fields(subject: Subject, attributes: Mapping[str, str]) -> dict[str, str]:
    dates = (passage.chunk.dated_at for passage in subject.passages)
    latest = max(filter(None, dates), default=None)
    fields = {"kind": subject.entity.kind}
    if subject.namesake is not None:
        email = subject.entity.description or _NOT_SAID
        titles = [
            *dict.fromkeys(sentence.quote.evidence.chunk.title for sentence in subject.sentences)
        ]
        more = "; …" if len(titles) > _MAX_DOCUMENTS else ""
        attributes = {"email": email, "documents": "; ".join(titles[:_MAX_DOCUMENTS]) + more}
    return {
        **fields,
        **{field: value for field, value in sorted(attributes.items()) if field not in fields},
        "description": _defining_line(subject),
        "passages": str(subject.entity.chunk_count),
        "latest": "" if latest is None else f"{latest:%Y-%m-%d}",
    }


def _defining_line(subject: Subject) -> str:
    """Return one line that says what the entity is."""
    described = subject.entity.description if subject.namesake is None else ""
    definition = described.split(DESCRIPTION_SEPARATOR)[0] or selection.best_definition(
        subject.sentences
    )
    plain = " ".join(definition.split())
    if len(plain) <= _MAX_DEFINING_LINE:
        return plain
    return plain[:_MAX_DEFINING_LINE].rsplit(" ", 1)[0] + "…"


async def drop_restated(
    database: Database, reader: Reader, entities: Sequence[Entity]
) -> list[Entity]:
    """Return the entities without those that only texts name, where a business system states one of that name.

    One with attributes of its own stays, since these may tell it from the stated one.
    """
    stated = [entity for entity in entities if not _is_from_texts(entity)]
    restated = [
        entity
        for entity in entities
        if _is_from_texts(entity) and any(_may_restate(entity, other) for other in stated)
    ]
    if not restated:
        return list(entities)
    apart = await entity_passages.get_attributes(
        database, reader, [entity.id for entity in restated]
    )
    gone = {entity.id for entity in restated if not apart.get(entity.id)}
    return [entity for entity in entities if entity.id not in gone]


def _is_from_texts(entity: Entity) -> bool:
    return entity.ref.startswith(_FROM_TEXTS)


def _may_restate(named: Entity, stated: Entity) -> bool:
    """Return whether a text that names the one may mean the other: by its name, or by a part of it that says no kind."""
    name_words, other = normalize_name(named.name).split(), normalize_name(stated.name).split()
    if named.kind == UNKNOWN_KIND:
        return {*name_words} <= {*other}
    return name_words == other and (
        named.kind == stated.kind or {named.kind, stated.kind} <= _COMPANIES
    )


# ── ambiguous names of a question ──────────────────────────────────────────────────────────────────


async def ambiguous_names(
    database: Database, reader: Reader, analysis: QuestionAnalysis
) -> tuple[Candidates, ...]:
    """Return the candidates for each name in the question that may mean several of the reader's entities.

    A name is ambiguous when several entities have it, when it is short for several names, or when people of that name have
    different e-mail addresses. The question settles it by naming one of them in full, or an address.
    """
    ambiguous: list[Candidates] = []
    for name in analysis.capitalized_names[:MAX_NAMES]:
        meant = await _possible_entities(database, reader, name)
        if len(meant) > 1 and not _says_which(analysis.text, name, meant):
            several = await list_candidates(database, reader, meant[:MAX_CANDIDATES])
            ambiguous.append(Candidates(name=name, candidates=several))
    return tuple(ambiguous)


async def _possible_entities(database: Database, reader: Reader, name: str) -> list[Subject]:
    matches = await entity_lookup.match_entities(database, reader, name)
    fits = matches.entities
    if not matches.is_exact:
        fits = _named_by_part(name, matches.entities)
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
        entity
        for entity in entities
        if entity.kind not in entity_lookup.TITLE_KINDS
        and words <= {*normalize_name(entity.name).split()}
    ]


async def _is_mostly_said_alone(
    database: Database, reader: Reader, name: str, longer: Sequence[Entity]
) -> bool:
    """Return whether the name is rather a word of its own, such as `PR`, than a part of these names: an estimate.

    Clearly more of the reader's passages have the word without any of them than have the most frequent one. `What` is no name.
    A person, a company or a project may be called by a part of its name; by rules a person may have no kind, and a rare first
    name no entity of its own.
    """
    name_terms = terms(name)
    may_be_more = len(longer) >= MAX_CANDIDATES
    if len(name_terms) > 1 or may_be_more or may_be_called_by_a_part(longer):
        return False
    if not name_terms:
        return not name.isupper()
    statistics = await search.get_term_statistics(database, reader, name_terms)
    alone_count = statistics.chunks_with.get(name_terms[0], 0) - sum(
        entity.chunk_count for entity in longer
    )
    return alone_count >= count_for_itself(longer)


async def _may_be_several_people(database: Database, reader: Reader, entity: Entity) -> bool:
    """Return whether the reader's passages hold several e-mail addresses that are made of the entity's name."""
    likely = likely_address_prefixes(entity.name)
    addresses = (
        await entity_passages.find_addresses(database, reader, sorted(set(likely)))
        if likely
        else []
    )
    return len([address for address in addresses if address_matches_name(address, entity.name)]) > 1


def _says_which(question: str, name: str, subjects: Iterable[Subject]) -> bool:
    """Return whether the question names one of the candidates in full, or by an e-mail address."""
    whole, folded_name = f" {normalize_name(question)} ", normalize_name(name)
    longer = {normalize_name(subject.entity.name) for subject in subjects} - {folded_name}
    addresses = {
        address
        for subject in subjects
        if subject.namesake is not None
        for address in subject.namesake.addresses
    }
    return any(f" {longer_name} " in whole for longer_name in longer) or any(
        address in whole for address in addresses
    )
