"""The merged entity of each entity, compared with the rule in Python, and the cost for the planner."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from lightwell.domain.ids import ProjectId
from lightwell.records import access_classes
from lightwell.records.database import Database

SPACE = UUID(int=7)

_ENTITIES = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
SELECT id, %(project)s, id::text, id::text FROM unnest(%(ids)s::uuid[]) AS id
"""

_MERGES = """
INSERT INTO entity_merges (merge_id, project_id, target_id, strategy, made_by)
SELECT id, %(project)s, target, 'CONCATENATE', '{}' FROM unnest(%(ids)s::uuid[], %(targets)s::uuid[]) AS new (id, target)
"""

_SOURCES = """
INSERT INTO merged_entities (merge_id, source_id, place)
SELECT id, source, 1 FROM unnest(%(ids)s::uuid[], %(sources)s::uuid[]) AS new (id, source)
"""

_PROFILES = """
INSERT INTO profiles (subject_id, class_id, subject, entity_kind, display_name, mention_count, source_ids)
SELECT id, 1, 'entity', 'name', 'x', 1, '{}' FROM unnest(%(ids)s::uuid[]) AS id
"""

_ROOTS = "SELECT entity_id, root_id FROM merged_entities_of(NULL::integer[])"


@dataclass(frozen=True, kw_only=True)
class Edge:
    merge_id: UUID
    source: UUID
    target: UUID


def graphs() -> Iterator[list[tuple[int, int]]]:
    """Yield pairs of source and target: stars, chains, names merged twice, circles, and random ones."""
    yield [(1, 0), (2, 0), (3, 0)]
    yield [(0, 1), (1, 2), (2, 3), (3, 4)]
    yield [(0, 1), (0, 2), (3, 2)]
    yield [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2)]
    for seed in range(20):
        source = random.Random(seed)
        nodes = source.choice([4, 8, 30])
        yield [
            (one, other)
            for one, other in ([source.randrange(nodes) for _ in range(2)] for _ in range(nodes))
            if one != other
        ]


def roots(edges: Sequence[Edge]) -> Mapping[UUID, UUID]:
    """Return what stands for what: the one merged into no other, and of several the one last merged into."""
    groups: dict[UUID, set[UUID]] = {}
    for edge in edges:
        joined = groups.get(edge.source, {edge.source}) | groups.get(edge.target, {edge.target})
        groups.update(dict.fromkeys(joined, joined))

    def rank(entity: UUID) -> tuple[bool, UUID, UUID]:
        left = [edge.merge_id for edge in edges if edge.source == entity]
        entered = [edge.merge_id for edge in edges if edge.target == entity]
        return not left, min(left, default=SPACE), max(entered, default=SPACE)

    return {each: root for each in groups if (root := max(groups[each], key=rank)) != each}


async def write(database: Database, project: ProjectId, edges: Sequence[Edge]) -> None:
    entities = {end for edge in edges for end in (edge.source, edge.target)}
    await database.execute(_ENTITIES, {"project": project, "ids": list(entities)})
    ids = [edge.merge_id for edge in edges]
    targets, sources = [edge.target for edge in edges], [edge.source for edge in edges]
    await database.execute(_MERGES, {"project": project, "ids": ids, "targets": targets})
    await database.execute(_SOURCES, {"ids": ids, "sources": sources})


async def test_each_entity_stands_for_what_the_rule_says(database: Database) -> None:
    project = await access_classes.get_or_create_project(database, "tenant", "project")
    for number, pairs in enumerate(graphs()):
        space = uuid5(SPACE, str(number))
        edges = [
            Edge(
                merge_id=UUID(int=1000 + at),
                source=uuid5(space, str(a)),
                target=uuid5(space, str(b)),
            )
            for at, (a, b) in enumerate(pairs)
        ]
        await write(database, project, edges)
        found = dict(await database.rows(_ROOTS, {}))
        assert found == roots(edges), pairs
        await database.execute("DELETE FROM entity_merges", {})


async def test_a_query_does_not_plan_the_resolution_anew(database: Database) -> None:
    plan = await database.rows("EXPLAIN SELECT * FROM merged_entities_of(ARRAY[1])", {})
    assert not [line for (line,) in plan if "CTE" in line or "merged_entities " in line]


async def test_a_few_merges_do_not_read_all_that_the_reader_sees(database: Database) -> None:
    """Each side of a merge is looked up by itself, however many profiles the reader's classes have."""
    project = await access_classes.get_or_create_project(database, "tenant", "project")
    ids = [uuid5(SPACE, str(number)) for number in range(5000)]
    await write(
        database,
        project,
        [
            Edge(merge_id=uuid5(SPACE, f"merge {at}"), source=ids[at], target=ids[at + 500])
            for at in range(500)
        ],
    )
    await database.execute(_PROFILES, {"ids": ids})
    await database.execute("UPDATE merged_entities SET source_classes = '{1}'", {})
    await database.execute("UPDATE entity_merges SET target_classes = '{1}'", {})
    await database.execute("VACUUM ANALYZE", {})
    rows = await database.rows("SELECT count(*) FROM merges_told(ARRAY[1])", {})
    assert rows == [(500,)]
    plan = await database.rows("EXPLAIN SELECT * FROM merges_told(ARRAY[1])", {})
    assert not [line for (line,) in plan if "hashed" in line]
