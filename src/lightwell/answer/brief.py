"""A brief on an entity: what it is, what happened lately, what is open, who and what is tied to it.

a name ─ which entities fit? ─ none ─► not found
                             ├ several, only nearly, or of several people ─► candidates, with what tells them apart
                             └ one ─► passages ─► chosen lines, or written by the model and checked ─► marks ─► brief
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from lightwell.answer import bearers, lines, ties
from lightwell.answer.candidates import Heard, candidates, heard_of, meant_by
from lightwell.answer.compose import EXTRACTS, quoted_instead_of
from lightwell.answer.lines import Draft, Marks, Part, Told
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief, Line, named
from lightwell.domain.candidates import MOST_CANDIDATES, Candidates
from lightwell.domain.errors import ModelFailed, NotFound
from lightwell.domain.evidence import ENOUGH, Confidence, Retrieval, confidence
from lightwell.ports import ChatModel
from lightwell.records import fitting
from lightwell.records.database import Database

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
    most_tokens: int


async def brief(library: Library, name: str) -> Brief | Candidates:
    """Return a brief on the entity that fits the name, or the several that do; raise `NotFound`.

    Nobody is taken for somebody else: a name that no entity has exactly, but some nearly, leads to candidates, and so does
    one whose bearers have different e-mail addresses. `NAME <ADDRESS>`, also of a reference, picks one of these.
    """
    asked, address = bearers.picked(named(name))
    found = await fitting.fitting(library.database, library.reader, asked)
    meant = await meant_by(library.database, library.reader, found.entities, address)
    if not meant:
        raise NotFound(f"There is no entity {name!r} that you may see")
    if len(meant) == 1 and (found.exactly or address is not None):
        return await _brief(library, meant[0])
    several = await candidates(library.database, library.reader, meant[:MOST_CANDIDATES])
    return Candidates(name=name, candidates=several)


async def _brief(library: Library, meant: Heard) -> Brief:
    address = meant.bearer.address if meant.bearer else ""
    found = await library.search(f"{meant.entity.name} {address}".strip())
    heard, model = meant, None
    if meant.bearer is None:  # else a passage may speak of the others, too
        heard = await heard_of(library.database, library.reader, meant.entity, found)
        model = library.model
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


def _confidence(heard: Heard, relevance: float) -> Confidence:
    """Return the word for the relevance, low at least, since each line names the entity; low for what says not whom it is of."""
    is_said_of_nobody = heard.bearer is not None and not heard.bearer.addresses
    if relevance < ENOUGH or is_said_of_nobody:
        return Confidence.LOW
    return confidence(relevance)


def _judged(heard: Heard, found: Retrieval) -> Heard:
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


async def _tied(library: Library, heard: Heard) -> ties.Ties:
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
