"""A brief on an entity: what it is, what happened lately, what is open, who and what is tied to it.

a name ─ which entities fit? ─ none ─► not found
                             ├ several, or only nearly ─► candidates, with what tells them apart
                             └ one ─► passages ─► chosen lines, or written by the model and checked ─► marks ─► brief
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lightwell.answer import lines, ties
from lightwell.answer.compose import EXTRACTS
from lightwell.answer.lines import Draft, Marks, Part, Told
from lightwell.answer.telling import CUES, names
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief, Candidate, Candidates, Line, Spoken
from lightwell.domain.errors import NotFound
from lightwell.domain.evidence import confidence
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity
from lightwell.ports import ChatModel
from lightwell.records import briefs, entities
from lightwell.records.database import Database

_LONGEST_SAYING = 200
_RELEVANCE = (0.0, 0.65, 0.75, 0.9)
"""By how many passages a brief stands on; the last for three and more."""


async def brief(
    database: Database, reader: Reader, name: str, model: ChatModel | None, *, most_tokens: int
) -> Brief | Candidates:
    """Return a brief on the entity that fits the name, or the several that do; raise `NotFound`.

    A name that no entity has exactly, but some nearly, leads to candidates too: nobody is taken for somebody else.
    """
    found, exactly = await briefs.fitting(database, reader, name)
    seen = await entities.these(database, reader, found)
    fitting = [seen[each] for each in found if each in seen]
    if not fitting:
        raise NotFound(f"There is no entity {name!r} that you may see")
    if exactly and len(fitting) == 1:
        return await _brief(database, reader, fitting[0], model, most_tokens=most_tokens)
    return Candidates(name=name, candidates=await _candidates(database, reader, fitting))


async def _brief(
    database: Database, reader: Reader, entity: Entity, model: ChatModel | None, *, most_tokens: int
) -> Brief:
    passages, heard = await _heard(database, reader, entity)
    drafts = lines.chosen(entity, heard)
    if model is not None and drafts:
        drafts = await lines.written(model, entity, passages, drafts, most_tokens=most_tokens)
    kept, marks = lines.within(drafts)
    made = _lines(kept, marks)
    tied = await ties.ties(database, reader, entity, passages, heard)
    people = tuple(ties.with_how(each, heard, marks) for each in tied.people) if made else ()
    links = tuple(ties.with_how(each, heard, marks) for each in tied.links) if made else ()
    cited = len({each.chunk_id for each in marks.citations})
    relevance = _RELEVANCE[min(cited, len(_RELEVANCE) - 1)]
    return Brief(
        entity=entity,
        about=made.get(Part.ABOUT, ()),
        lately=made.get(Part.LATELY, ()),
        open_points=made.get(Part.OPEN, ()),
        people=people,
        links=links,
        citations=tuple(replace(each, score=relevance) for each in marks.citations),
        confidence=confidence(relevance),
        relevance=relevance,
        model=EXTRACTS if model is None else model.model,
    )


def _lines(drafts: Sequence[Draft], marks: Marks) -> dict[Part, tuple[Line, ...]]:
    made: dict[Part, tuple[Line, ...]] = {}
    for draft in drafts:
        line = marks.line(draft.text, draft.quotes, draft.said_at)
        made[draft.part] = (*made.get(draft.part, ()), line)
    return made


async def _heard(
    database: Database, reader: Reader, entity: Entity
) -> tuple[tuple[Spoken, ...], list[Told]]:
    aliases = await entities.aliases(database, reader, entity)
    passages = await briefs.passages(database, reader, entity.id, CUES)
    return passages, lines.told(passages, names([entity.name, *aliases]))


# ── which one is meant? ───────────────────────────────────────────────────────────────────────────────


async def _candidates(
    database: Database, reader: Reader, fitting: Sequence[Entity]
) -> tuple[Candidate, ...]:
    known = await briefs.attributes(database, reader, [each.id for each in fitting])
    apart: list[dict[str, str]] = []
    for entity in fitting:
        passages, heard = await _heard(database, reader, entity)
        apart.append(_apart(entity, known.get(entity.id, {}), _saying(entity, heard), passages))
    same = {
        field
        for field, value in apart[0].items()
        if len(fitting) > 1 and all(each.get(field) == value for each in apart)
    }
    return tuple(
        Candidate(
            entity=entity,
            apart={field: value for field, value in each.items() if value and field not in same},
        )
        for entity, each in zip(fitting, apart, strict=True)
    )


def _apart(
    entity: Entity, attributes: Mapping[str, str], saying: str, passages: Sequence[Spoken]
) -> dict[str, str]:
    latest = max((each.said_at for each in passages), default=None)
    own = {"kind": entity.kind}
    return {
        **own,
        **{field: value for field, value in sorted(attributes.items()) if field not in own},
        "description": saying,
        "passages": str(entity.chunk_count),
        "latest": "" if latest is None else f"{latest:%Y-%m-%d}",
    }


def _saying(entity: Entity, heard: Sequence[Told]) -> str:
    """Return one line that says what the entity is."""
    said = entity.description.split(DESCRIPTION_SEPARATOR)[0] or lines.best_saying(heard)
    plain = " ".join(said.split())
    if len(plain) <= _LONGEST_SAYING:
        return plain
    return plain[:_LONGEST_SAYING].rsplit(" ", 1)[0] + "…"
