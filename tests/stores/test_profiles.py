"""Dense search over profiles on each store, and the queue of profiles to embed, on real servers."""

import asyncio
import hashlib
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from lightwell.domain.access import Reader
from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ClassId, ProjectId, SpaceId, new_id
from lightwell.ports import ProfileClaim, ProfileVector
from lightwell.records import access_classes, embedding_spaces
from lightwell.records.database import Database
from lightwell.records.graph import profile_queue
from lightwell.records.graph.profile_queue import EmbeddedProfile
from lightwell.stores.milvus.collection import MilvusServer
from lightwell.stores.milvus.collection import connect as connect_milvus
from lightwell.stores.milvus.profiles import MilvusProfiles
from lightwell.stores.postgres.profiles import PostgresProfiles

MILVUS = pytest.param("milvus", marks=pytest.mark.slow)
Index = PostgresProfiles | MilvusProfiles

A, B = frozenset({"team:a"}), frozenset({"team:b"})
EAST = np.array([1, 0, 0], np.float32)


@dataclass(frozen=True, kw_only=True)
class Store:
    """An index of three dimensions, and profiles that a test writes by hand."""

    database: Database
    project_id: ProjectId
    space: SpaceId
    index: Index
    a: ClassId
    b: ClassId

    async def profile(
        self,
        class_id: ClassId,
        subject: ProfileSubject = ProfileSubject.ENTITY,
        of: UUID | None = None,
    ) -> tuple[UUID, ClassId]:
        """Write a profile that says something, and mark it."""
        key = (of or new_id(), class_id)
        table = {"id": key[0], "project": self.project_id, "class": class_id, "subject": subject}
        await self.database.execute(
            "INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)"
            " VALUES (%(id)s, %(project)s, %(id)s::text, 'acme') ON CONFLICT DO NOTHING",
            table,
        )
        await self.database.execute(
            "INSERT INTO profiles (subject_id, class_id, subject, display_name, entity_kind, description,"
            " mention_count, source_ids)"
            " VALUES (%(id)s, %(class)s, %(subject)s, 'Acme', 'organization', 'sells', 1, '{}')",
            table,
        )
        await self.mark(key)
        return key

    async def mark(self, *keys: tuple[UUID, ClassId]) -> None:
        async with self.database.transaction() as connection:
            await profile_queue.mark_changed(connection, keys)

    async def take(self) -> list[profile_queue.ChangedProfile]:
        return await profile_queue.claim_changed(
            self.database, self.project_id, limit=10, max_characters=100
        )

    async def place(
        self,
        key: tuple[UUID, ClassId],
        *angle: float,
        subject: ProfileSubject = ProfileSubject.ENTITY,
    ) -> None:
        """Put the vector of a profile, and note that it is of what the profile says."""
        placed = vector(await self.claim(key), *angle, subject=subject)
        await self.index.put(self.space, [placed])
        await self.note(key, placed.text_hash)

    async def note(self, key: tuple[UUID, ClassId], text_hash: bytes) -> None:
        """Note that the vector of a profile is of what it says, whoever has claimed it."""
        await self.database.execute(
            "UPDATE described_profiles SET changed = false, text_hash = %(hash)s WHERE (subject_id, class_id) = (%(id)s, %(class)s)",
            {"id": key[0], "class": key[1], "hash": text_hash},
        )

    async def claim(self, key: tuple[UUID, ClassId]) -> ProfileClaim:
        """Claim a profile, whoever has it; one that is not marked gives a claim that nobody made."""
        rows = await self.database.rows(
            "UPDATE described_profiles SET taken_until = clock_timestamp()"
            " WHERE (subject_id, class_id) = (%(id)s, %(class)s) RETURNING taken_until",
            {"id": key[0], "class": key[1]},
        )
        until = rows[0][0] if rows else datetime.now(UTC)
        return ProfileClaim(subject_id=key[0], class_id=key[1], until=until)

    async def reader(self, tags: frozenset[str]) -> Reader:
        return await access_classes.resolve_reader(self.database, self.project_id, tags)

    async def nearest(
        self,
        tags: frozenset[str],
        subject: ProfileSubject = ProfileSubject.ENTITY,
        *,
        limit: int = 10,
    ) -> list[tuple[UUID, float]]:
        reader = await self.reader(tags)
        hits = await self.index.nearest(self.space, EAST, reader, subject, limit=limit)
        return [(hit.subject_id, round(hit.similarity, 2)) for hit in hits]


def vector(
    claim: ProfileClaim, *angle: float, subject: ProfileSubject = ProfileSubject.ENTITY
) -> ProfileVector:
    """Return the vector of a text that nothing else with another angle has."""
    wanted: NDArray[np.float64] = np.array(angle)
    return ProfileVector(
        subject=subject,
        claim=claim,
        text_hash=hashlib.sha256(wanted.tobytes()).digest(),
        vector=(wanted / np.linalg.norm(wanted)).astype(np.float32),
    )


async def store_on(
    database: Database, index: PostgresProfiles, milvus: MilvusServer | None = None
) -> Store:
    project_id = await access_classes.get_or_create_project(database, "tenant", "project")
    used: Index = index
    if milvus is not None:
        used = MilvusProfiles(
            database=database, server=milvus, project_id=project_id, postgres=index
        )
    space = await embedding_spaces.get_or_create_active(database, project_id, "model", 3)
    await used.prepare(space.id, 3)
    async with database.transaction() as connection:
        a = await access_classes.get_or_create_class(connection, project_id, A)
        b = await access_classes.get_or_create_class(connection, project_id, B)
    return Store(database=database, project_id=project_id, space=space.id, index=used, a=a, b=b)


@pytest.fixture(params=["postgres", MILVUS])
async def store(request: pytest.FixtureRequest, database: Database) -> AsyncIterator[Store]:
    async with AsyncExitStack() as stack:
        milvus: MilvusServer | None = None
        if request.param == "milvus":
            url: str = request.getfixturevalue("milvus_url")
            milvus = await stack.enter_async_context(connect_milvus(url, "", 120))
        made = await store_on(database, PostgresProfiles(database), milvus)
        yield made
        await made.index.drop(made.space)


@pytest.fixture
async def on_milvus(milvus_url: str, database: Database) -> AsyncIterator[Store]:
    async with connect_milvus(milvus_url, "", 120) as server:
        made = await store_on(database, PostgresProfiles(database), server)
        yield made
        await made.index.drop(made.space)


async def test_a_subject_counts_once_with_its_best_visible_profile(store: Store) -> None:
    near, both, far = [await store.profile(store.a) for _ in range(3)]
    other = await store.profile(store.b, of=both[0])
    await store.place(near, 4, 3, 0)
    await store.place(both, 0, 1, 0)
    await store.place(other, 1, 0, 0)
    await store.place(far, -1, 0, 0)
    assert await store.nearest(A) == [(near[0], 0.8), (both[0], 0.0), (far[0], -1.0)]
    assert await store.nearest(B) == [(both[0], 1.0)]
    assert await store.nearest(A | B, limit=2) == [(both[0], 1.0), (near[0], 0.8)]
    assert await store.nearest(frozenset()) == []


async def test_equally_near_ones_come_by_their_ids(store: Store) -> None:
    keys = [await store.profile(store.a) for _ in range(5)]
    for key in reversed(keys):
        await store.place(key, 1, 0, 0)
    assert [subject for subject, _ in await store.nearest(A)] == sorted(key[0] for key in keys)


async def test_entities_and_relations_are_found_apart(store: Store) -> None:
    entity = await store.profile(store.a)
    relation = await store.profile(store.a, ProfileSubject.RELATION)
    await store.place(entity, 1, 0, 0)
    await store.place(relation, 1, 0, 0, subject=ProfileSubject.RELATION)
    assert await store.nearest(A) == [(entity[0], 1.0)]
    assert await store.nearest(A, ProfileSubject.RELATION) == [(relation[0], 1.0)]


async def test_a_profile_that_says_something_else_by_now_is_passed_over(store: Store) -> None:
    one = await store.profile(store.a)
    other = await store.profile(store.b, of=one[0])
    await store.place(one, 1, 0, 0)
    await store.place(other, 0, 1, 0)
    await store.mark(one)
    assert await store.nearest(A) == []
    assert await store.nearest(A | B) == [(one[0], 0.0)]


async def test_putting_and_removing_may_be_repeated(store: Store) -> None:
    key, gone = await store.profile(store.a), (new_id(), store.a)
    await store.index.prepare(store.space, 3)
    await store.place(key, 0, 1, 0)
    await store.place(key, 1, 0, 0)
    await store.index.put(store.space, [vector(await store.claim(gone), 1, 0, 0)])
    await store.index.put(store.space, [])
    assert await store.nearest(A) == [(key[0], 1.0)]
    claims = [await store.claim(key), await store.claim(gone)]
    await store.index.remove(store.space, claims)
    await store.index.remove(store.space, claims[:1])
    await store.index.remove(store.space, [])
    assert await store.nearest(A) == []
    await store.index.drop(store.space)
    await store.index.drop(store.space)
    await store.index.prepare(store.space, 3)
    assert await store.nearest(A) == []


async def test_the_approximate_search_obeys_the_same_rules(database: Database) -> None:
    store = await store_on(database, PostgresProfiles(database, max_exact=0))
    assert not await store.index.build(store.space)
    near, changed, both = [await store.profile(store.a) for _ in range(3)]
    unseen = await store.profile(store.b)
    again = await store.profile(store.b, of=both[0])
    relation = await store.profile(store.a, ProfileSubject.RELATION)
    for key, *angle in ((near, 4, 3, 0), (changed, 1, 0, 0), (both, 3, 4, 0), (unseen, 1, 0, 0)):
        await store.place(key, *angle)
    await store.place(again, 1, 0, 0)
    await store.place(relation, 1, 0, 0, subject=ProfileSubject.RELATION)
    await store.mark(changed)
    for _ in range(2):
        assert await store.nearest(A, limit=2) == [(near[0], 0.8), (both[0], 0.6)]
        assert (await store.nearest(A | B, limit=3))[2] == (near[0], 0.8)
        assert await store.nearest(A, ProfileSubject.RELATION, limit=1) == [(relation[0], 1.0)]
        assert await store.index.build(store.space)


async def test_what_is_taken_is_nobody_elses_for_a_while(store: Store) -> None:
    keys = sorted([await store.profile(store.a) for _ in range(3)])
    claimed = await store.take()
    assert [profile.key for profile in claimed] == keys
    assert await store.take() == []
    await profile_queue.release(store.database, [claimed[0].claim])
    assert [profile.key for profile in await store.take()] == keys[:1]
    await store.database.execute("UPDATE described_profiles SET taken_until = now()", {})
    assert [profile.key for profile in await store.take()] == keys


async def test_only_what_says_what_it_said_is_done(store: Store) -> None:
    """Also when somebody else has taken it since, or has even put what it says by now."""
    keys = sorted([await store.profile(store.a) for _ in range(3)])
    claimed = await store.take()
    await store.mark(keys[0], keys[1])
    newer = await store.take()
    assert [profile.key for profile in newer] == keys[:2]
    hashes = dict.fromkeys(keys, b"old")
    await profile_queue.mark_embedded(store.database, newer[:1], dict.fromkeys(keys, b"new"))
    await profile_queue.mark_embedded(store.database, claimed, hashes)
    await profile_queue.release(store.database, [each.claim for each in claimed])
    assert await store.take() == []
    rows = await store.database.rows(
        "SELECT subject_id, changed, text_hash FROM described_profiles ORDER BY 1", {}
    )
    assert rows == [
        (keys[0][0], False, b"new"),
        (keys[1][0], True, None),
        (keys[2][0], False, b"old"),
    ]


async def test_a_profile_that_falls_silent_is_handed_out_once_to_be_removed(store: Store) -> None:
    gone, emptied, described = sorted([await store.profile(store.a) for _ in range(3)])
    await store.database.execute("DELETE FROM profiles WHERE subject_id = %(id)s", {"id": gone[0]})
    await store.database.execute(
        "UPDATE profiles SET description = '' WHERE subject_id = %(id)s", {"id": emptied[0]}
    )
    await store.mark(gone, emptied)
    assert [profile.key for profile in await store.take()] == [described]
    claims = await profile_queue.claim_empty(store.database, store.project_id, limit=10)
    assert [(claim.subject_id, claim.class_id) for claim in claims] == [gone, emptied]
    assert await profile_queue.claim_empty(store.database, store.project_id, limit=10) == []
    await profile_queue.delete_vector_records(store.database, claims)
    rows = await store.database.rows("SELECT subject_id FROM described_profiles", {})
    assert rows == [(described[0],)]


async def test_a_profile_that_speaks_again_keeps_its_vector(store: Store) -> None:
    """Whoever found it silent removes nothing and forgets nothing, however late."""
    key = await store.profile(store.a)
    await store.database.execute("UPDATE profiles SET description = ''", {})
    await store.mark(key)
    silent = await profile_queue.claim_empty(store.database, store.project_id, limit=10)
    await store.database.execute("UPDATE profiles SET description = 'sells'", {})
    await store.mark(key)
    await store.place(key, 1, 0, 0)
    await store.index.remove(store.space, silent)
    await profile_queue.delete_vector_records(store.database, silent)
    assert await store.nearest(A) == [(key[0], 1.0)]
    assert len(await store.database.rows("SELECT FROM described_profiles", {})) == 1


async def test_a_late_worker_does_not_overwrite_a_newer_vector(store: Store) -> None:
    """Without a transaction that spans the index: the claim decides."""
    key = await store.profile(store.a)
    [older] = await store.take()
    await store.mark(key)
    [newer] = await store.take()
    for claimed, angle in ((newer, (1, 0, 0)), (older, (0, 1, 0))):
        placed = vector(claimed.claim, *angle)
        await store.index.put(store.space, [placed])
        await profile_queue.mark_embedded(store.database, [claimed], {key: placed.text_hash})
    assert await store.nearest(A) == [(key[0], 1.0)]


async def test_a_worker_that_died_between_putting_and_noting_leaves_no_hash(store: Store) -> None:
    """Else what says the old again would be shown with the vector of what it said meanwhile."""
    key = await store.profile(store.a)
    [claimed] = await store.take()
    await profile_queue.mark_embedded(store.database, [claimed], {key: b"old"})
    await store.mark(key)
    [claimed] = await store.take()
    assert claimed.text_hash == b"old"
    await store.index.put(store.space, [vector(claimed.claim, 0, 1, 0)])
    await store.mark(key)
    [again] = await store.take()
    assert again.text_hash == b""


async def rows_in_milvus(store: Store) -> int:
    assert isinstance(store.index, MilvusProfiles)
    return await store.index.count(store.space)


async def embedded(store: Store) -> list[EmbeddedProfile]:
    first = (UUID(int=0), ClassId(0))
    return await profile_queue.list_embedded(
        store.database, store.project_id, after=first, limit=100
    )


@pytest.mark.slow
async def test_milvus_keeps_one_row_of_a_profile_and_none_of_one_that_is_gone(
    on_milvus: Store,
) -> None:
    store = on_milvus
    key, other = await store.profile(store.a), await store.profile(store.a)
    for angle in ((0, 1, 0), (0, 0, 1), (1, 0, 0)):
        await store.mark(key)
        await store.place(key, *angle)
    await store.place(other, 0, 1, 0)
    assert await rows_in_milvus(store) == 2
    late = await store.claim(key)
    await store.mark(key)
    await store.index.put(store.space, [vector(late, 0, 1, 1)])
    assert await rows_in_milvus(store) == 2
    await store.index.remove(store.space, [await store.claim(key)])
    assert await rows_in_milvus(store) == 1


@pytest.mark.slow
async def test_a_row_of_an_earlier_text_never_counts_in_milvus(on_milvus: Store) -> None:
    """Not even where its writer died before it was deleted, and not by its similarity."""
    store = on_milvus
    key = await store.profile(store.a)
    await store.place(key, 1, 0, 0)
    [kept] = await embedded(store)
    await store.mark(key)
    await store.place(key, 0, 1, 0)
    assert await rows_in_milvus(store) == 1
    # the row of the earlier text comes back, as a writer that was cut off would have left it
    assert isinstance(store.index, MilvusProfiles)
    await store.index.server.collection(store.project_id, store.space, "_profiles").upsert(
        [
            {
                "profile_key": "left",
                "subject": "entity",
                "subject_id": str(kept.subject_id),
                "class_id": int(kept.class_id),
                "text_hash": kept.text_hash.hex(),
                "vector": EAST,
            }
        ]
    )
    assert await rows_in_milvus(store) == 2
    assert await store.nearest(A) == [(key[0], 0.0)]


@pytest.mark.slow
async def test_vectors_of_profiles_move_between_the_stores(on_milvus: Store) -> None:
    """What was made before the change of the store counts until it is copied, and not once it is outdated."""
    store, milvus = on_milvus, on_milvus.index
    assert isinstance(milvus, MilvusProfiles)
    before = replace(store, index=milvus.postgres)
    kept, renewed = await store.profile(store.a), await store.profile(store.a)
    relation = await store.profile(store.b, ProfileSubject.RELATION)
    await before.place(kept, 4, 3, 0)
    await before.place(renewed, 1, 0, 0)
    await before.place(relation, 1, 0, 0, subject=ProfileSubject.RELATION)
    assert await store.nearest(A) == [(renewed[0], 1.0), (kept[0], 0.8)]
    await store.mark(renewed)
    await store.place(renewed, 3, 4, 0)
    assert await store.nearest(A) == [(kept[0], 0.8), (renewed[0], 0.6)]
    assert await before.nearest(A) == [(kept[0], 0.8)]
    profiles = await embedded(store)
    given = await milvus.postgres.vectors(store.space, profiles)
    assert given.keys() == {kept, relation}
    copies = {each: given[each.key] for each in profiles if each.key in given}
    for _ in range(2):
        await milvus.put_copies(store.space, copies)
    assert await rows_in_milvus(store) == 3
    assert (await milvus.vectors(store.space, profiles)).keys() == {kept, renewed, relation}
    assert await store.nearest(A) == [(kept[0], 0.8), (renewed[0], 0.6)]
    assert await store.nearest(B, ProfileSubject.RELATION) == [(relation[0], 1.0)]
    back = await milvus.vectors(store.space, profiles)
    await milvus.postgres.put_copies(store.space, {each: back[each.key] for each in profiles})
    assert await before.nearest(A) == [(kept[0], 0.8), (renewed[0], 0.6)]


@pytest.mark.slow
async def test_a_copy_of_a_profile_that_has_changed_is_not_kept(on_milvus: Store) -> None:
    store, milvus = on_milvus, on_milvus.index
    assert isinstance(milvus, MilvusProfiles)
    key = await store.profile(store.a)
    await store.place(key, 1, 0, 0)
    profiles = await embedded(store)
    copies = {each: EAST for each in profiles}
    await store.mark(key)
    await store.place(key, 0, 1, 0)
    await milvus.put_copies(store.space, copies)
    await milvus.postgres.put_copies(store.space, copies)
    assert await rows_in_milvus(store) == 1
    assert await replace(store, index=milvus.postgres).nearest(A) == []
    assert await store.nearest(A) == [(key[0], 0.0)]


@dataclass
class Texts:
    """What some profiles say: a number each, with the moments between which each number may be told."""

    store: Store
    keys: list[tuple[UUID, ClassId]]
    now: dict[tuple[UUID, ClassId], int] = field(default_factory=dict[tuple[UUID, ClassId], int])
    told: list[tuple[UUID, int, float, float]] = field(
        default_factory=list[tuple[UUID, int, float, float]]
    )
    drawn: random.Random = field(default_factory=lambda: random.Random(7))

    async def change(self) -> None:
        """Let a profile say something, perhaps what it said before."""
        key, began = self.drawn.choice(self.keys), time.monotonic()
        before = self.now.get(key)
        self.now[key] = number = self.drawn.randrange(4)
        await self.store.mark(key)
        ended = time.monotonic()
        self.told = [
            (subject, each, since, ended if (subject, each, until) == (key[0], before, math.inf) else until)
            for subject, each, since, until in self.told
        ]  # fmt: skip
        self.told.append((key[0], number, began, math.inf))

    async def embed(self) -> None:
        """Claim, embed and mark what changed, slowly, so that claims run out and others are faster."""
        claimed = await self.store.take()
        numbers = {each.key: self.now[each.key] for each in claimed}
        placed = {each.key: vector(each.claim, *direction(numbers[each.key])) for each in claimed}
        hashes = {key: entry.text_hash for key, entry in placed.items()}
        await asyncio.sleep(self.drawn.random() * 0.3)
        await self.store.index.put(
            self.store.space,
            [placed[each.key] for each in claimed if each.text_hash != hashes[each.key]],
        )
        await asyncio.sleep(self.drawn.random() * 0.1)
        await profile_queue.mark_embedded(self.store.database, claimed, hashes)

    async def ask(self) -> None:
        """Every hit has the similarity of something that its profile said during the question."""
        began = time.monotonic()
        hits = await self.store.nearest(A)
        ended = time.monotonic()
        for subject, similarity in hits:
            may = {
                round(math.cos(angle(number)), 2)
                for of, number, since, until in self.told
                if of == subject and since <= ended and until >= began
            }
            assert similarity in may


def angle(number: int) -> float:
    return 0.2 + 0.3 * number


def direction(number: int) -> tuple[float, float, float]:
    return math.cos(angle(number)), math.sin(angle(number)), 0.0


async def test_s3_11_whatever_writers_do_no_vector_of_an_earlier_text_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers whose claims run out, texts that change back, and questions, all at once; at the end every profile is found."""
    monkeypatch.setattr(profile_queue, "_CLAIM_SECONDS", 0.15)
    texts = Texts(store, sorted([await store.profile(store.a) for _ in range(5)]))
    for _ in range(20):
        await texts.change()

    async def repeat(step: Callable[[], Awaitable[None]], times: int, pause: float = 0.0) -> None:
        for _ in range(times):
            await step()
            await asyncio.sleep(pause)

    for _ in range(4):
        writers = [repeat(texts.embed, 5) for _ in range(4)]
        await asyncio.gather(*writers, repeat(texts.change, 8, 0.2), repeat(texts.ask, 20))
        while await profile_queue.has_changed(store.database, store.project_id):
            await texts.embed()
        assert dict(await store.nearest(A)) == {
            key[0]: round(math.cos(angle(texts.now[key])), 2) for key in texts.keys
        }
        if isinstance(store.index, MilvusProfiles):
            assert await rows_in_milvus(store) == len(texts.keys)
