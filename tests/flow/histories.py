"""Random histories of a store, lived through in two worlds.

The full world has everything. The lesser world never had what Lea may not see: neither the files, nor the records of
the business system, nor what Xeno, who shares no tag with her, corrects. Lea corrects in both. What her access loses is
deleted in the lesser world at that moment. What she observes must be the same in both.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, TypeAlias, get_args

from hypothesis import strategies as st

from lightwell.domain.access import Reader
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import LightwellError
from lightwell.domain.graph import ManualEdit, Predicate, RelationMention
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import EntityLink, LinkFilter
from lightwell.knowledge_base import KnowledgeBase
from lightwell.testing.sources import InMemorySource, make_document

PEOPLE = ("Greta Holm", "Ivo Marek", "Lucia Prado", "Tom Akande")
COMPANIES = ("Brisk Labs", "Brisk Labs GmbH", "Kestrel Foods", "Moorland Trust", "Kestrel")
SECRETS = ("Project Basilisk", "Vera Quist", "Onyx Harbor AG")
THINGS = ("Delta pump", "OPS-17", "OPS-18", "Lake Varn")
NAMES = (*PEOPLE, *COMPANIES, *THINGS, *SECRETS)
QUESTIONS = (
    "What did Greta Holm promise, and by when?",
    "Who works for Brisk Labs?",
    "How much does Kestrel Foods owe?",
    "Why is there zymolysis and maintanance?",
    "What is Project Basilisk?",
    "What is open with Moorland Trust?",
)

LEA = frozenset(("team:l", "user:lea"))
XENO = frozenset(("team:x", "team:y"))
_VISIBLE = (
    ("team:l",),
    ("user:lea",),
    ("team:l", "team:m"),
    ("team:l", "team:z"),
    ("user:lea", "team:z"),
)
_HIDDEN = (("team:x",), ("team:y",), ("team:x", "team:y"), ("team:z",), ("team:x", "team:z"), ())
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

Who: TypeAlias = Literal["Lea", "Xeno"]


class System(Protocol):
    """The business system of one world; `is_secret` is where Lea is no member."""

    async def put(self, number: int, text: str, title: str, *, is_secret: bool) -> None:
        """Create or change a record; one that Lea no longer sees stays out of her sight."""
        ...

    async def hide(self, number: int) -> None:
        """Move a record to where Lea is no member."""
        ...

    async def delete(self, number: int) -> None: ...

    async def sync(self) -> None: ...

    async def reader_tags(self, who: Who) -> frozenset[str]: ...


@dataclass(kw_only=True)
class World:
    """One of the two worlds; `outcomes` are what Lea's corrections returned."""

    kb: KnowledgeBase
    system: System
    is_full: bool
    files: dict[str, NewDocument] = field(default_factory=dict[str, NewDocument])
    outcomes: list[str] = field(default_factory=list[str])

    async def reader(self, who: Who) -> Reader:
        tags = LEA if who == "Lea" else XENO
        return await self.kb.reader(tags | await self.system.reader_tags(who), user=who)

    async def read_files(self) -> None:
        documents = tuple(
            document
            for _, document in sorted(self.files.items())
            if self.is_full or document.acl_tags & LEA
        )
        report = await self.kb.ingestion.ingest(InMemorySource(documents=documents))
        assert not report.problems


@dataclass(frozen=True)
class PutFile:
    """A file comes or changes. None becomes visible: it would be older in the full world."""

    number: int
    tags: tuple[str, ...]
    seed: int

    async def apply(self, world: World) -> None:
        chance = random.Random(self.seed)
        is_hidden = not LEA & set(self.tags)
        name = f"{'hidden' if is_hidden else 'plain'}{self.number}.md"
        if name in world.files and not is_hidden and not world.files[name].acl_tags & LEA:
            return
        title = chance.choice((*PEOPLE, *COMPANIES)) if chance.random() < 0.4 else ""
        document = make_document(name, _page(chance, is_hidden=is_hidden), self.tags, title=title)
        at = _EPOCH + timedelta(days=self.seed % 300)
        world.files[name] = replace(document, updated_at=at)
        await world.read_files()


@dataclass(frozen=True)
class TagFile:
    """A file's tags change; none becomes visible."""

    name: str
    tags: tuple[str, ...]

    async def apply(self, world: World) -> None:
        document = world.files.get(self.name)
        if document and (document.acl_tags & LEA or not set(self.tags) & LEA):
            world.files[self.name] = replace(document, acl_tags=frozenset(self.tags))
            await world.read_files()


@dataclass(frozen=True)
class RemoveFile:
    name: str

    async def apply(self, world: World) -> None:
        if world.files.pop(self.name, None):
            await world.read_files()


@dataclass(frozen=True)
class PutRecord:
    number: int
    seed: int
    is_secret: bool

    async def apply(self, world: World) -> None:
        chance = random.Random(self.seed)
        pool = (*PEOPLE, *COMPANIES, *(SECRETS if self.is_secret else ()))
        text = " ".join(_sentence(chance, is_hidden=self.is_secret) for _ in range(2))
        await world.system.put(self.number, text, chance.choice(pool), is_secret=self.is_secret)
        await world.system.sync()


@dataclass(frozen=True)
class HideRecord:
    number: int

    async def apply(self, world: World) -> None:
        await world.system.hide(self.number)
        await world.system.sync()


@dataclass(frozen=True)
class DeleteRecord:
    number: int

    async def apply(self, world: World) -> None:
        await world.system.delete(self.number)
        await world.system.sync()


Verb: TypeAlias = Literal[
    "merge",
    "unmerge",
    "keep apart",
    "describe",
    "rename",
    "create",
    "hide",
    "restore",
    "relate",
    "split",
    "link",
    "propose links",
    "confirm link",
    "reject link",
    "remove link",
    "delete document",
    "erase document",
    "chat",
]
_VERBS: tuple[Verb, ...] = get_args(Verb)


@dataclass(frozen=True)
class Correct:
    """Somebody corrects what was read, deletes, or has a conversation."""

    who: Who
    verb: Verb
    one: str
    other: str
    number: int

    async def apply(self, world: World) -> None:
        if self.who == "Xeno" and not world.is_full:
            return
        try:
            await self._correct(world, await world.reader(self.who))
            outcome = "done"
        except LightwellError as error:
            outcome = f"{type(error).__name__}: {error}"
        if self.who == "Lea":
            world.outcomes.append(f"{self.verb} {self.one}, {self.other}: {outcome}")

    async def _correct(self, world: World, reader: Reader) -> None:
        match self.verb:
            case "chat":
                await world.kb.questions.chat(f"What about {self.one}?", reader)
            case "link" | "propose links" | "confirm link" | "reject link" | "remove link":
                await self._correct_links(world, reader)
            case "split" | "delete document" | "erase document":
                await self._choose_document(world, reader)
            case "merge" | "unmerge" | "keep apart":
                await self._correct_identity(world, reader)
            case _:
                await self._correct_entity(world, reader)

    async def _correct_identity(self, world: World, reader: Reader) -> None:
        graph = world.kb.graph
        match self.verb:
            case "merge":
                await graph.merge(reader, [self.one], self.other)
            case "unmerge":
                await graph.unmerge(reader, self.one)
            case _:
                await graph.reject(reader, self.one, self.other)

    async def _correct_entity(self, world: World, reader: Reader) -> None:
        graph, one, other = world.kb.graph, self.one, self.other
        match self.verb:
            case "describe":
                await graph.edit(reader, one, ManualEdit(description=f"{other} trusts {one}"))
            case "rename":
                await graph.edit(reader, one, ManualEdit(name=other))
            case "create":
                edit = ManualEdit(name=f"{one} {self.number}", description="made by hand")
                await graph.create(reader, edit, tags=["team:l" if self.who == "Lea" else "team:x"])
            case "hide":
                await graph.delete(reader, one)
            case "restore":
                await graph.restore(reader, one)
            case _:
                statement = RelationMention(
                    subject=one, object=other, predicate=Predicate.USES, description="by hand"
                )
                await graph.relate(reader, statement)

    async def _correct_links(self, world: World, reader: Reader) -> None:
        links = world.kb.graph.links
        if self.verb == "link":
            types = list(LinkType)
            await links.add(reader, self.one, self.other, types[self.number % len(types)])
        elif self.verb == "propose links":
            await links.propose(reader)
        elif link := await self._pick_link(world, reader):
            decide = {"confirm link": links.confirm, "reject link": links.reject}
            await decide.get(self.verb, links.remove)(reader, link.id)

    async def _choose_document(self, world: World, reader: Reader) -> None:
        url = await self._pick_document(world, reader)
        if not url:
            return
        if self.verb == "split":
            await world.kb.graph.split(reader, self.one, f"{self.one} II", documents=[url])
            return
        world.files.pop(url.rpartition("/")[2], None)
        remove = (
            world.kb.documents.erase if self.verb == "erase document" else world.kb.documents.delete
        )
        await remove(reader, [url])

    async def _pick_document(self, world: World, reader: Reader) -> str:
        """Return the address of one of the files that this person sees, "" where there is none.

        Xeno takes only what Lea does not see: what both see, both worlds have.
        """
        urls = [
            document.url
            async for document in world.kb.documents.iterate(reader, limit=100)
            if document.url.startswith("file:")
            and (self.who == "Lea" or not set(document.acl_tags) & LEA)
        ]
        return urls[self.number % len(urls)] if urls else ""

    async def _pick_link(self, world: World, reader: Reader) -> EntityLink | None:
        links = sorted(
            await world.kb.graph.links.list_links(reader, LinkFilter()),
            key=lambda link: (link.source.ref, link.target.ref, link.type.value),
        )
        return links[self.number % len(links)] if links else None


Event: TypeAlias = PutFile | TagFile | RemoveFile | PutRecord | HideRecord | DeleteRecord | Correct

_FILES = st.builds("{}{}.md".format, st.sampled_from(("plain", "hidden")), st.integers(0, 5))
_SEEDS = st.integers(0, 2**32)
_PUT_FILE = st.builds(PutFile, st.integers(0, 5), st.sampled_from((*_VISIBLE, *_HIDDEN)), _SEEDS)
_PUT_RECORD = st.builds(PutRecord, st.integers(0, 4), _SEEDS, st.booleans())
_CORRECT = st.builds(
    Correct,
    st.sampled_from(("Lea", "Xeno", "Xeno")),
    st.sampled_from(_VERBS),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.integers(0, 50),
)
_EVENT = st.one_of(
    _PUT_FILE,
    _PUT_FILE,
    st.builds(TagFile, _FILES, st.sampled_from((*_HIDDEN, *_HIDDEN, *_VISIBLE))),
    st.builds(RemoveFile, _FILES),
    _PUT_RECORD,
    st.builds(HideRecord, st.integers(0, 4)),
    st.builds(DeleteRecord, st.integers(0, 4)),
    *(_CORRECT,) * 7,
)


@st.composite
def histories(draw: st.DrawFn, most: int = 18) -> Sequence[Event]:
    """A history: at first some files and records, then up to `most` events of any kind."""
    first = [draw(_PUT_FILE) for _ in range(4)] + [draw(_PUT_RECORD) for _ in range(3)]
    return [*first, *draw(st.lists(_EVENT, min_size=6, max_size=most))]


def _page(chance: random.Random, *, is_hidden: bool) -> str:
    if chance.random() < 0.15:
        roles = ("sales", "welding", "audit")
        rows = [f"| {chance.choice(PEOPLE)} | {chance.choice(roles)} |" for _ in range(3)]
        return "\n".join(["| Name | Role |", "|---|---|", *rows])
    head = f"# {chance.choice((*COMPANIES, *THINGS))}\n\n" if chance.random() < 0.4 else ""
    count = chance.randint(1, 7 if chance.random() < 0.95 else 70)
    return head + " ".join(_sentence(chance, is_hidden=is_hidden) for _ in range(count))


def _sentence(chance: random.Random, *, is_hidden: bool) -> str:
    pool = (*PEOPLE, *COMPANIES, *THINGS, *(SECRETS * 2 if is_hidden else ()))
    one, other = chance.choice(pool), chance.choice(pool)
    month = chance.choice(("March", "June", "October"))
    day = f"{chance.randint(1, 28)} {month} 2026"
    rare = chance.choice(("tarnix", "velbode", "uncomonly", "maintainance"))
    mail = f"{one.split()[0].lower()}@{one.split()[-1].lower()}.example"
    return chance.choice(
        (
            f"{one} promised {other} a report by {day}.",
            f"{one} works for {other}.",
            f"{one} pays {other} {chance.randint(3, 900)} euros per month.",
            f"{one} is compared with {other} by price and weight.",
            f"{one} ({mail}) leads {other}.",
            f"The deadline for {one} is {day}, and {other} is responsible.",
            f"{one} uses {other} in Lake Varn.",
            f"Because of the flood, {one} owes {other} {chance.randint(2, 40)} percent.",
            f"{one} is part of {other}.",
            f"zymolysis {one} quorbital {rare} {other}.",
        )
    )
