"""What a reader sees is a set of access classes: a list of few or bits of many, remembered by tags, and as cheap for a thousand as for one."""

import itertools
import random

import pytest

from benchmarks.question_cost import Counts, counting
from lightwell.domain import access
from lightwell.domain.access import ClassSet, Tags, parse_tags
from lightwell.domain.ids import ClassId, ProjectId
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records import access_classes
from lightwell.records.access_classes import Readers, resolve_reader
from lightwell.records.database import Database, connect
from lightwell.testing.sources import InMemorySource, make_document
from tests.flow.conftest import project_on

SEES = """
SELECT array_agg(class_id ORDER BY class_id) FILTER (WHERE sees(%(classes)s, class_id)),
       sees(%(classes)s, NULL), class_ids(%(classes)s),
       sees_any(%(classes)s, '{7, 64, 65}'), sees_any(%(classes)s, '{}')
FROM generate_series(0, 300) AS class_id
"""


@pytest.mark.parametrize("most_listed", [0, 1000])
@pytest.mark.parametrize("count", [0, 1, 5, 64, 200])
async def test_a_list_and_bits_say_the_same(
    database: Database, monkeypatch: pytest.MonkeyPatch, most_listed: int, count: int
) -> None:
    monkeypatch.setattr(access, "LISTED_CLASSES", most_listed)
    drawn = random.Random(count).sample(range(1, 250), count)
    classes = ClassSet(ClassId(number) for number in sorted(drawn))
    assert classes.is_listed == (count <= most_listed)
    ((seen, unknown, ids, any_seen, none_seen),) = await database.rows(SEES, {"classes": classes})
    assert (seen or [], ids) == ([*classes], [*classes])
    assert not unknown
    assert not none_seen
    assert any_seen == bool({7, 64, 65} & {*classes})
    assert [number for number in range(-9, 300) if number in classes] == [*classes]


# ── what is remembered ───────────────────────────────────────────────────────────────────────────────


class World:
    """A project whose readers are resolved both ways."""

    def __init__(self, database: Database, project_id: ProjectId) -> None:
        self.database, self.project_id = database, project_id
        self.readers = Readers(database, project_id)

    async def make(self, *tags: str) -> ClassId:
        async with self.database.transaction() as connection:
            return await access_classes.get_or_create_class(
                connection, self.project_id, parse_tags(tags)
            )

    async def seen(self, *tags: str) -> ClassSet:
        """Return the classes that the tags see: remembered, and as resolved anew."""
        asked: Tags = parse_tags(tags)
        remembered = await self.readers.resolve(asked)
        assert remembered == await resolve_reader(self.database, self.project_id, asked)
        return remembered.classes


@pytest.fixture
async def world(database: Database, many_classes: None) -> World:
    project = await access_classes.get_or_create_project(database, "tenant", "project")
    return World(database, project)


async def test_a_remembered_reader_sees_the_classes_made_since_and_no_others(world: World) -> None:
    first = await world.make("team:a", "team:b")
    assert await world.seen("team:a") == (first,)
    again = await world.readers.resolve(parse_tags(["team:a"]))
    second, _ = await world.make("team:a"), await world.make("team:c")
    assert await world.seen("team:a") == (first, second)
    assert again.classes == (first,)
    assert await world.seen("team:b") == (first,)
    assert await world.seen("team:d") == ()


async def test_a_class_that_was_being_made_meanwhile_is_seen_once_it_is_there(world: World) -> None:
    first = await world.make("team:a")
    async with world.database.transaction() as slow:
        late = await access_classes.get_or_create_class(
            slow, world.project_id, parse_tags(["team:a", "team:z"])
        )
        later = await world.make("team:a", "team:y")
        assert await world.seen("team:a") == (first, later)
    assert await world.seen("team:a") == (first, late, later)


async def test_what_is_remembered_of_another_store_is_not_used(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup may be restored under the same address while a server runs: classes have other numbers there."""
    await world.make("team:a")
    await world.seen("team:a")
    await world.database.execute("UPDATE access_classes SET tags = '{team:b}'", {})
    assert len((await world.readers.resolve(parse_tags(["team:a"]))).classes) == 1
    moved = access_classes._MADE_SINCE.replace(  # pyright: ignore[reportPrivateUsage]
        "pg_postmaster_start_time()", "'restarted'"
    )
    monkeypatch.setattr(access_classes, "_MADE_SINCE", moved)
    assert (await world.readers.resolve(parse_tags(["team:a"]))).classes == ()


async def test_what_is_remembered_is_not_used_once_a_dump_is_restored_into_the_database(
    world: World,
) -> None:
    """`pg_restore --clean` makes the tables anew while the database server goes on, and numbers are given again to other tags."""
    first = await world.make("team:a")
    assert await world.seen("team:a") == (first,)
    await world.database.execute("TRUNCATE access_classes CASCADE", {})
    await world.database.execute(
        "INSERT INTO access_classes (class_id, project_id, tags) OVERRIDING SYSTEM VALUE"
        " VALUES (%(class)s, %(project)s, '{team:b}')",
        {"class": first, "project": world.project_id},
    )
    assert await world.seen("team:a") == ()
    assert await world.seen("team:b") == (first,)


async def test_only_so_many_classes_are_remembered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_classes, "_MAX_REMEMBERED", 3)
    for name in "abc":
        for number in range(2):
            await world.make(f"team:{name}", f"doc:{name}{number}")
    for name in "abcabc":
        assert len(await world.seen(f"team:{name}")) == 2
        assert len(world.readers._known) == 1  # pyright: ignore[reportPrivateUsage]


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────

DOCUMENTS = 600
SYLLABLES = ("ba", "do", "fi", "lu", "ge", "mi", "ren", "tas", "mok", "vil")
WORDS = [one + other for one, other in itertools.permutations(SYLLABLES, 2)]
NAMES = [f"{word.title()} {other.title()}" for word, other in itertools.pairwise(WORDS)]
QUESTIONS = [
    f"What did {name} say about {' '.join(WORDS[at::29])}?" for at, name in enumerate(NAMES[:4])
]


def text_of(number: int) -> str:
    source = random.Random(number)
    names = source.choices(NAMES, [1 / place for place, _ in enumerate(NAMES, 1)], k=3)
    return " ".join(f"{name} said: {' '.join(source.choices(WORDS, k=9))}." for name in names)


async def filled(database: Database, name: str, classes: int) -> KnowledgeBase:
    """Return a project of the same documents with so many classes, all of which `team:all` sees."""
    kb = (await project_on(database, name)).kb
    documents = tuple(
        make_document(f"{number}.txt", text_of(number), ["team:all", f"doc:{number % classes}"])
        for number in range(DOCUMENTS)
    )
    await kb.ingestion.ingest(InMemorySource(documents=documents))
    return kb


READ = "SELECT sum(hits + reads)::bigint FROM pg_stat_io WHERE backend_type = 'client backend'"


async def pages_read(database: Database) -> int:
    """Return how many pages the server's connections have asked for: there is one."""
    await database.rows("SELECT pg_stat_force_next_flush()", {})
    (pages,) = await database.values(READ, {})
    return pages


async def cost(database: Database, kb: KnowledgeBase) -> tuple[Counts, int, list[object]]:
    """Return what asking the questions again sends and returns, how many pages of the database it reads, and what it finds."""
    tags = ["team:all"]
    for question in 2 * QUESTIONS:  # statements are prepared, and plans chosen
        await kb.questions.search(question, await kb.reader(tags))
    before, evidence = await pages_read(database), list[object]()
    with counting() as counts:
        for question in QUESTIONS:
            retrieval = await kb.questions.search(question, await kb.reader(tags))
            evidence.append([(entry.chunk.url, entry.chunk.index) for entry in retrieval.evidence])
    return counts, await pages_read(database) - before, evidence


async def test_a_question_costs_as_much_with_a_class_for_each_document_as_with_one(
    database_url: str,
) -> None:
    async with connect(database_url, max_connections=1) as database:
        few, many = await filled(database, "few", 1), await filled(database, "many", DOCUMENTS)
        await database.execute("VACUUM ANALYZE", {})
        assert len((await many.reader(["team:all"])).classes) == DOCUMENTS
        (one, one_pages, found) = await cost(database, few)
        (several, pages, found_too) = await cost(database, many)
        assert found == found_too
        assert several.statements == one.statements
        assert several.rows <= 1.1 * one.rows
        assert pages <= 1.5 * one_pages, (one_pages, pages)
