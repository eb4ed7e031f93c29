"""What names mean: several fit, a person picks one, and the pick holds for the rest of the conversation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity, normalize_name
from lightwell.domain.graph_views import Candidates
from lightwell.domain.links import EntityLink, LinkFilter, LinkStatus
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.actions import Pick
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Button
from lightwell.entrypoints.channels.rendering import candidate_label
from lightwell.text.regex import regex

ASK = "ask"
"""What a pick repeats that is about a question, and not about a command."""

UNKNOWN_NAME = "I know nobody and nothing of this name."

_MOST_PICKS = 8
_ADDRESS = regex(r"<([^<>\s]+@[^<>\s]+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """A question in which what was picked stands for the names; `names` are those, as they are compared, and `notes` say so."""

    question: str
    names: frozenset[str]
    notes: tuple[str, ...]


async def with_picks(asker: Asker, question: str, picks: Mapping[str, str]) -> Meant:
    """Return the question with the entities that were picked in place of their names, as far as the asker still sees them."""
    notes: dict[str, str] = {}
    words = f" {normalize_name(question)} "
    for name, ref in picks.items():
        place = _place(question, name)
        if f" {name} " not in words and place is None:
            continue
        entity = await _entity(asker, ref)
        if entity is None:
            continue
        anew = asker.chat.typed("/new")
        notes[name] = f"“{name}” is {entity.name} here, as you chose; {anew} forgets that."
        if place is not None and normalize_name(entity.name) not in normalize_name(question):
            start, end = place
            question = f"{question[:start]}{_meaning(entity)}{question[end:]}"
    return Meant(question=question, names=frozenset(notes), notes=tuple(notes.values()))


def pick_rows(
    several: Sequence[Candidates], command: str, words: str, *, most: int = _MOST_PICKS
) -> Iterator[tuple[Button, ...]]:
    """Yield a row for each entity that one of the names may mean, up to so many."""
    choices = [(names.name, candidate) for names in several for candidate in names.candidates]
    for name, candidate in choices[:most]:
        action = Pick(command=command, words=words, name=name, entity=candidate.entity.ref)
        yield (Button(label=candidate_label(candidate), action=action),)


async def confirm_by_pick(asker: Asker, pick: Pick) -> EntityLink | None:
    """Confirm the proposed link that a pick decides, and return it: the one between what was picked and what else the question names in full.

    None without exactly one, and for whoever may not decide about links: a confirmed one holds for others, too.
    """
    if not asker.allows(Scope.CURATE):
        return None
    words = f" {normalize_name(pick.words)} "
    links = asker.knowledge_base.graph.links
    wanted = LinkFilter(status=LinkStatus.PROPOSED, about=pick.entity)
    decided = [
        link
        for link in await links.list_links(asker.reader, wanted)
        if _is_named(_other(link, pick.entity), pick.name, words)
    ]
    if len(decided) != 1:
        return None
    try:
        return await links.confirm(asker.reader, decided[0].id)
    except Invalid:  # others see an end, in whose name nobody decides
        return None


def _is_named(other: Entity | None, picked_name: str, words: str) -> bool:
    """Return whether the question names the entity in full, by more than the name that was picked for."""
    if other is None:
        return False
    name = normalize_name(other.name)
    return name != normalize_name(picked_name) and f" {name} " in words


def _other(link: EntityLink, ref: str) -> Entity | None:
    ends = {link.source.ref: link.target, link.target.ref: link.source}
    return ends.get(ref)


async def _entity(asker: Asker, ref: str) -> Entity | None:
    """Return the entity that was picked, as the asker sees it now."""
    candidates = await asker.knowledge_base.questions.candidates(ref, asker.reader)
    fits = [fit.entity for fit in candidates.candidates]
    if len(fits) == 1:
        return fits[0]  # it may count as one with another by now, and be called as that
    return next((entity for entity in fits if entity.ref == ref), None)


def _place(question: str, name: str) -> tuple[int, int] | None:
    """Return where the question has the name as whole words, in any case of letters."""
    start = question.lower().find(name.lower())
    while start >= 0:
        end = start + len(name)
        before, after = question[:start][-1:], question[end : end + 1]
        if not before.isalnum() and not after.isalnum():
            return start, end
        start = question.lower().find(name.lower(), end)
    return None


def _meaning(entity: Entity) -> str:
    """Return by what a question names the entity: people of one name by their addresses."""
    address = _ADDRESS.search(entity.ref)
    return f"{entity.name} <{address[1]}>" if address else entity.name
