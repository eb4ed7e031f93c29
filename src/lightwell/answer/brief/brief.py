"""A brief on an entity: what it is, what happened lately, what is open, who and what is tied to it.

a name ─ which entities fit? ─ none ─► not found
                             ├ several, only nearly, or of several people ─► candidates, with what tells them apart
                             └ one ─► passages ─► chosen lines, or written by the model and checked ─► marks ─► brief
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.brief import namesakes, related, selection
from lightwell.answer.brief.citation_marks import CitationMarks
from lightwell.answer.brief.selection import CandidateSentence, DraftLine, Part
from lightwell.answer.brief.subjects import (
    Subject,
    collect_passages,
    drop_restated,
    list_candidates,
    possible_subjects,
)
from lightwell.answer.pipeline import note_of_fallback
from lightwell.domain.access import Reader
from lightwell.domain.answers import EXTRACTS, Confidence, confidence
from lightwell.domain.briefs import Brief, BriefLine, validate_name
from lightwell.domain.candidates import MAX_CANDIDATES, Candidates
from lightwell.domain.errors import ModelFailed, NotFound
from lightwell.domain.evidence import SUFFICIENT_RELEVANCE, Retrieval
from lightwell.ports import ChatModel
from lightwell.records.database import Database
from lightwell.records.graph import entity_lookup, entity_passages

READ = 10
"""Passages that are looked at for a name."""

Search = Callable[[str], Awaitable[Retrieval]]
"""Finds what of the reader's bears on a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What a brief is made from, for one reader; `model`, where there is one, is shown at most so many tokens."""

    database: Database
    reader: Reader
    search: Search
    model: ChatModel | None
    max_tokens: int


async def brief(library: Library, name: str) -> Brief | Candidates:
    """Return a brief on the entity that fits the name, or the several that do; raise `NotFound`.

    Nobody is taken for somebody else: a name that no entity has exactly, but some nearly, leads to candidates, and so does
    one whose bearers have different e-mail addresses. `NAME <ADDRESS>`, also of a reference, picks one of these.
    """
    meant, is_certain = await _find_subjects(library.database, library.reader, name)
    if not meant:
        raise NotFound(f"There is no entity {name!r} that you may see")
    if len(meant) == 1 and is_certain:
        return await _brief(library, meant[0])
    several = await list_candidates(library.database, library.reader, meant[:MAX_CANDIDATES])
    return Candidates(name=name, candidates=several)


async def candidates(database: Database, reader: Reader, name: str) -> Candidates:
    """Return whom or what the name may mean, the likeliest first; no candidates where it means nothing."""
    meant, _ = await _find_subjects(database, reader, name)
    found = await list_candidates(database, reader, meant[:MAX_CANDIDATES]) if meant else ()
    return Candidates(name=name, candidates=found)


async def _find_subjects(
    database: Database, reader: Reader, name: str
) -> tuple[list[Subject], bool]:
    """Return who or what fits the name, and whether the name is theirs exactly or settled by an address."""
    asked, address = namesakes.parse_name_with_address(validate_name(name))
    found = await entity_lookup.match_entities(database, reader, asked)
    distinct = await entity_passages.drop_same(database, reader, found.entities)
    distinct = await drop_restated(database, reader, distinct)
    meant = await possible_subjects(database, reader, distinct, address)
    return meant, found.is_exact or address is not None


async def _brief(library: Library, subject: Subject) -> Brief:
    address = subject.namesake.address if subject.namesake else ""
    found = await library.search(f"{subject.entity.name} {address}".strip())
    heard, model = subject, None
    if subject.namesake is None:  # else a passage may speak of the others, too
        heard = await collect_passages(library.database, library.reader, subject.entity, found)
        model = library.model
    heard = _with_relevance(heard, found)
    drafts = selection.extract_lines(heard.entity, heard.sentences)
    notes: tuple[str, ...] = ()
    if model is not None and drafts:
        try:
            drafts = await selection.generate_lines(
                model, heard.entity, heard.passages, drafts, max_tokens=library.max_tokens
            )
        except ModelFailed as error:
            model, notes = None, (note_of_fallback(error),)
    kept, marks = selection.limit_citations(drafts)
    made = _lines(kept, marks)
    tied = await _related_entities(library, heard) if made else related.NONE
    people = tuple(related.add_evidence(each, heard.sentences, marks) for each in tied.people)
    links = tuple(related.add_evidence(each, heard.sentences, marks) for each in tied.links)
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


def _confidence(subject: Subject, relevance: float) -> Confidence:
    """Return the word for the relevance, low at least, since each line names the entity; low for what says not whom it is of."""
    is_said_of_nobody = subject.namesake is not None and not subject.namesake.addresses
    if relevance < SUFFICIENT_RELEVANCE or is_said_of_nobody:
        return Confidence.LOW
    return confidence(relevance)


def _with_relevance(subject: Subject, retrieval: Retrieval) -> Subject:
    """Return what is heard with the relevance that each passage was found to have, 0 for those that were not found."""
    known = {one.id: each.relevance for each in retrieval.evidence for one in each.published_chunks}

    def judged(each: CandidateSentence) -> CandidateSentence:
        evidence = each.quote.evidence
        evidence = replace(evidence, relevance=known.get(evidence.chunk.id, 0.0))
        return replace(each, quote=replace(each.quote, evidence=evidence))

    passages = (replace(each, relevance=known.get(each.chunk.id, 0.0)) for each in subject.passages)
    return replace(
        subject,
        passages=tuple(passages),
        sentences=tuple(judged(each) for each in subject.sentences),
    )


def _lines(drafts: Sequence[DraftLine], marks: CitationMarks) -> dict[Part, tuple[BriefLine, ...]]:
    made: dict[Part, tuple[BriefLine, ...]] = {}
    for draft in drafts:
        line = marks.line(draft.text, draft.quotes, draft.said_at)
        made[draft.part] = (*made.get(draft.part, ()), line)
    return made


async def _related_entities(library: Library, subject: Subject) -> related.RelatedEntities:
    """Return the ties; of one bearer of a name, only those that what is said of him names."""
    tied = await related.find_related(
        library.database, library.reader, subject.entity, subject.passages, subject.sentences
    )
    if subject.namesake is None:
        return tied
    return related.RelatedEntities(
        people=tuple(
            each for each in tied.people if related.sentences_naming(each, subject.sentences)
        ),
        links=tuple(
            each for each in tied.links if related.sentences_naming(each, subject.sentences)
        ),
    )
