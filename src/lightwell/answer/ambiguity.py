"""Which names in a question may mean several entities of the reader's: a pick list for each."""

from collections.abc import Iterable, Sequence

from lightwell.answer.brief.namesakes import address_matches_name, likely_address_prefixes
from lightwell.answer.brief.subjects import Subject, list_candidates, possible_subjects
from lightwell.domain.access import Reader
from lightwell.domain.candidates import MAX_CANDIDATES, Candidates
from lightwell.domain.graph import Entity, normalize_name
from lightwell.domain.query_analysis import QueryAnalysis
from lightwell.records.database import Database
from lightwell.records.graph import entity_lookup, entity_passages

MAX_NAMES = 4
"""Names of one question that are looked up."""


async def ambiguous_names(
    database: Database, reader: Reader, query: QueryAnalysis
) -> tuple[Candidates, ...]:
    """Return the candidates for each name in the question that may mean several of the reader's entities.

    A name is ambiguous when several entities have it, when it is short for several names, or when people of that name have
    different e-mail addresses. The question settles it by naming one of them in full, or an address.
    """
    found: list[Candidates] = []
    for name in query.capitalized_names[:MAX_NAMES]:
        meant = await _possible_entities(database, reader, name)
        if len(meant) > 1 and not _says_which(query.text, name, meant):
            several = await list_candidates(database, reader, meant[:MAX_CANDIDATES])
            found.append(Candidates(name=name, candidates=several))
    return tuple(found)


async def _possible_entities(database: Database, reader: Reader, name: str) -> list[Subject]:
    found = await entity_lookup.match_entities(database, reader, name)
    fits = found.entities if found.is_exact else _named_by_part(name, found.entities)
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
