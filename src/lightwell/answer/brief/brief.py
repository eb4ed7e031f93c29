"""A brief on an entity: what it is, what happened lately, what is open, and who and what is related to it.

a name ─ which entities match? ─ none ─► not found
                               ├ several, similar ones only, or several people ─► candidates, with what tells them apart
                               └ one ─► passages ─► lines, extracted or written by the model and verified ─► citations ─► brief
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from lightwell.answer.brief import namesakes, related, selection
from lightwell.answer.brief.items import NO_LINES, ItemLines, item_lines
from lightwell.answer.brief.selection import CandidateSentence, Part
from lightwell.answer.brief.subjects import (
    Subject,
    collect_passages,
    drop_restated,
    list_candidates,
    possible_subjects,
)
from lightwell.answer.pipeline import note_of_fallback
from lightwell.domain.access import Reader
from lightwell.domain.answers import (
    EXTRACTS,
    MOST_DOUBTFUL,
    Citation,
    agreeing_relevance,
    confidence,
)
from lightwell.domain.briefs import Brief, BriefLine, validate_name
from lightwell.domain.errors import ModelFailed, NotFound
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph_views import MAX_CANDIDATES, Candidates
from lightwell.ports import ChatModel
from lightwell.records.database import Database
from lightwell.records.graph import entity_lookup, entity_passages

READ = 10
"""Passages that the search for a name returns."""

Search = Callable[[str], Awaitable[Retrieval]]
"""Searches the passages that the reader may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What a brief is made from, for one reader. `model` may be None; it is shown at most `max_tokens`."""

    database: Database
    reader: Reader
    search: Search
    model: ChatModel | None
    max_tokens: int


async def brief(library: Library, name: str) -> Brief | Candidates:
    """Return a brief on the entity that the name means, or the candidates where it may mean several; raise `NotFound`.

    Nobody is mistaken for somebody else: a name that entities only nearly have leads to candidates, and so does one that
    several people have, as their e-mail addresses show. `NAME <ADDRESS>` picks one of them; a reference may stand for the name.
    """
    meant, is_certain = await _find_subjects(library.database, library.reader, name)
    if not meant:
        raise NotFound(f"There is no entity {name!r} that you may see")
    if len(meant) == 1 and is_certain:
        return await _brief(library, meant[0])
    several = await list_candidates(library.database, library.reader, meant[:MAX_CANDIDATES])
    return Candidates(name=name, candidates=several)


async def candidates(database: Database, reader: Reader, name: str) -> Candidates:
    """Return whom or what the name may mean, the likeliest first; none where no entity matches."""
    meant, _ = await _find_subjects(database, reader, name)
    several = await list_candidates(database, reader, meant[:MAX_CANDIDATES]) if meant else ()
    return Candidates(name=name, candidates=several)


async def _find_subjects(
    database: Database, reader: Reader, name: str
) -> tuple[list[Subject], bool]:
    """Return the subjects that match the name, and whether they match exactly or by an address."""
    bare_name, address = namesakes.parse_name_with_address(validate_name(name))
    matches = await entity_lookup.match_entities(database, reader, bare_name)
    distinct = await entity_passages.drop_same(database, reader, matches.entities)
    distinct = await drop_restated(database, reader, distinct)
    meant = await possible_subjects(database, reader, distinct, address)
    return meant, matches.is_exact or address is not None


async def _brief(library: Library, subject: Subject) -> Brief:
    address = subject.namesake.address if subject.namesake else ""
    retrieval = await library.search(f"{subject.entity.name} {address}".strip())
    model = None
    if subject.namesake is None:  # else a passage may be about the others, too
        subject = await collect_passages(
            library.database, library.reader, subject.entity, retrieval
        )
        model = library.model
    subject = _with_relevance(subject, retrieval)
    drafts = selection.extract_lines(subject.entity, subject.sentences, _item_lines(subject))
    notes: tuple[str, ...] = ()
    if model is not None and drafts:
        try:
            drafts = await selection.generate_lines(
                model, subject.entity, subject.passages, drafts, max_tokens=library.max_tokens
            )
        except ModelFailed as error:
            model, notes = None, (note_of_fallback(error),)
    kept, marks = selection.limit_citations(drafts)
    lines: dict[Part, tuple[BriefLine, ...]] = {}
    for draft in kept:
        line = marks.line(draft.text, draft.quotes, draft.said_at)
        lines[draft.part] = (*lines.get(draft.part, ()), line)
    close = await _related_entities(library, subject) if lines else related.NONE
    people = tuple(
        related.add_evidence(person, subject.sentences, marks) for person in close.people
    )
    links = tuple(related.add_evidence(link, subject.sentences, marks) for link in close.links)
    relevance = _relevance(subject, marks.citations, is_answered=bool(lines))
    return Brief(
        entity=subject.entity,
        about=lines.get(Part.ABOUT, ()),
        lately=lines.get(Part.LATELY, ()),
        open_points=lines.get(Part.OPEN, ()),
        people=people,
        links=links,
        citations=tuple(marks.citations),
        confidence=confidence(relevance),
        relevance=relevance,
        model=EXTRACTS if model is None else model.model,
        notes=notes,
    )


def _item_lines(subject: Subject) -> ItemLines:
    """Return what items say; none for one of several people of a name, whom they do not tell apart."""
    if subject.namesake is not None:
        return NO_LINES
    return item_lines(subject.passages, subject.refs)


def _relevance(subject: Subject, citations: Iterable[Citation], *, is_answered: bool) -> float:
    """Return the best score; of lines at least low, since each names the entity or belongs to it, and no more where no address says which person is meant."""
    best = max((citation.score for citation in citations), default=0.0)
    is_of_unknown_person = subject.namesake is not None and not subject.namesake.addresses
    relevance = min(best, MOST_DOUBTFUL) if is_of_unknown_person else best
    return agreeing_relevance(relevance, is_answered=is_answered)


def _with_relevance(subject: Subject, retrieval: Retrieval) -> Subject:
    """Return the subject with the relevance that the search gave each passage, 0 for those that it did not return."""
    relevance_of = {
        chunk.id: entry.relevance
        for entry in retrieval.evidence
        for chunk in entry.published_chunks
    }

    def with_relevance(sentence: CandidateSentence) -> CandidateSentence:
        evidence = sentence.quote.evidence
        evidence = replace(evidence, relevance=relevance_of.get(evidence.chunk.id, 0.0))
        return replace(sentence, quote=replace(sentence.quote, evidence=evidence))

    passages = (
        replace(passage, relevance=relevance_of.get(passage.chunk.id, 0.0))
        for passage in subject.passages
    )
    return replace(
        subject,
        passages=tuple(passages),
        sentences=tuple(with_relevance(sentence) for sentence in subject.sentences),
    )


async def _related_entities(library: Library, subject: Subject) -> related.RelatedEntities:
    """Return the related entities; for one of several people of a name, only those that the sentences about this person name."""
    related_entities = await related.find_related(
        library.database, library.reader, subject.entity, subject.passages, subject.sentences
    )
    if subject.namesake is None:
        return related_entities
    return related.RelatedEntities(
        people=tuple(
            person
            for person in related_entities.people
            if related.sentences_naming(person, subject.sentences)
        ),
        links=tuple(
            link
            for link in related_entities.links
            if related.sentences_naming(link, subject.sentences)
        ),
    )
