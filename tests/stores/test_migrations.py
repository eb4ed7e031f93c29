"""A store that an older version wrote is carried over with all that is in it."""

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from psycopg import conninfo, sql

from lightwell.domain.ids import SpaceId
from lightwell.records import access_classes
from lightwell.records.database import connect, list_migrations
from lightwell.records.graph import entities
from lightwell.records.graph.profiles import refresh_all
from lightwell.stores.postgres.vectors import PostgresVectors, SearchLimits

OLDER = """
INSERT INTO tenants (tenant_id, name) VALUES ('01900000-0000-7000-8000-000000000001', 'tenant');
INSERT INTO projects (project_id, tenant_id, name)
VALUES ('01900000-0000-7000-8000-000000000002', '01900000-0000-7000-8000-000000000001', 'project');
INSERT INTO access_classes (project_id, tags) VALUES
    ('01900000-0000-7000-8000-000000000002', '{team:a}'), ('01900000-0000-7000-8000-000000000002', '{team:b}');
INSERT INTO source_documents (document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id,
                              source_url, format, content_hash, acl_tags, class_id, status)
SELECT ('01900000-0000-7000-8000-00000000001' || class_id)::uuid, project_id, '01900000-0000-7000-8000-000000000001',
       'file:document:' || class_id, 'file', 'document', class_id::text, 'file:///' || class_id, 'text', '', tags,
       class_id, 'active' FROM access_classes;
INSERT INTO document_chunks (chunk_id, chunk_ref, document_id, class_id, chunk_index, chunk_text, chunk_hash,
                             token_count, start_offset, end_offset)
SELECT ('01900000-0000-7000-8000-00000000002' || class_id)::uuid, 'file:document:' || class_id || '#0', document_id,
       class_id, 0, 'text', '', 1, 0, 4 FROM source_documents;
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name, merged_into)
SELECT id, '01900000-0000-7000-8000-000000000002', 'kg:entity:' || name, name, root
FROM (VALUES ('01900000-0000-7000-8000-000000000031'::uuid, 'acme', NULL::uuid),
             ('01900000-0000-7000-8000-000000000032', 'falcon', '01900000-0000-7000-8000-000000000031'),
             ('01900000-0000-7000-8000-000000000033', 'tarn', NULL)) AS given (id, name, root);
INSERT INTO document_entity_mentions (entity_id, named_as, chunk_id, class_id, name, entity_kind, mention_type, confidence)
SELECT entity, named, ('01900000-0000-7000-8000-00000000002' || class)::uuid, class, name, 'firm', 'explicit', 1
FROM (VALUES ('01900000-0000-7000-8000-000000000031'::uuid, '01900000-0000-7000-8000-000000000031'::uuid, 1, 'Acme'),
             ('01900000-0000-7000-8000-000000000031', '01900000-0000-7000-8000-000000000032', 2, 'Falcon'),
             ('01900000-0000-7000-8000-000000000033', '01900000-0000-7000-8000-000000000033', 2, 'Tarn'))
    AS given (entity, named, class, name);
INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
SELECT id, '01900000-0000-7000-8000-000000000002', source, '01900000-0000-7000-8000-000000000033', 'USES'
FROM (VALUES ('01900000-0000-7000-8000-000000000041'::uuid, '01900000-0000-7000-8000-000000000032'::uuid),
             ('01900000-0000-7000-8000-000000000042', '01900000-0000-7000-8000-000000000031')) AS given (id, source);
INSERT INTO relation_mentions (relation_id, stated_as, chunk_id, class_id, weight, confidence)
VALUES ('01900000-0000-7000-8000-000000000042', '01900000-0000-7000-8000-000000000041',
        '01900000-0000-7000-8000-000000000022', 2, 1, 1);
INSERT INTO profiles (subject_id, class_id, subject, display_name, entity_kind, mention_count, source_ids, source_paths)
SELECT entity_id, class_id, 'entity', name, 'firm', 1, ARRAY[chunk_id], '{}' FROM document_entity_mentions;
INSERT INTO entity_merges (merge_id, project_id, target_id, strategy, made_by)
VALUES ('01900000-0000-7000-8000-000000000051', '01900000-0000-7000-8000-000000000002',
        '01900000-0000-7000-8000-000000000031', 'CONCATENATE', '{team:a,team:b}');
INSERT INTO merged_entities (merge_id, source_id, place)
VALUES ('01900000-0000-7000-8000-000000000051', '01900000-0000-7000-8000-000000000032', 1);
INSERT INTO rejected_merges (project_id, one, other, rejected_by)
VALUES ('01900000-0000-7000-8000-000000000002', 'a', 'b', '{team:a}');
INSERT INTO long_profiles (subject_id, class_id, project_id)
VALUES ('01900000-0000-7000-8000-000000000033', 2, '01900000-0000-7000-8000-000000000002');
CREATE TABLE entity_vectors_1 (subject_id uuid, class_id integer);
INSERT INTO entity_vectors_1 VALUES ('01900000-0000-7000-8000-000000000033', 2);
CREATE TABLE chunk_vectors_1 (
    chunk_id  uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    class_id  integer NOT NULL,
    embedding halfvec(3) STORAGE PLAIN NOT NULL
);
CREATE INDEX chunk_vectors_1_class ON chunk_vectors_1 (class_id);
INSERT INTO chunk_vectors_1 VALUES ('01900000-0000-7000-8000-000000000021', 1, '[1,-1,0.5]'),
                                   ('01900000-0000-7000-8000-000000000022', 2, '[-1,1,0.5]');
"""


@pytest.fixture
def older(server: str) -> Iterator[str]:
    """A database as it was before merges applied per reader, with a merge in it."""
    name = "lightwell_older"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    where = conninfo.make_conninfo(server, dbname=name)
    with psycopg.connect(where) as connection:
        connection.execute(
            "CREATE TABLE migrations (name text PRIMARY KEY, applied_at timestamptz DEFAULT now())"
        )
        for step, statements in list_migrations():
            if step < "0013":
                connection.execute(statements.encode())
                connection.execute("INSERT INTO migrations (name) VALUES (%s)", [step])
        connection.execute(OLDER.encode())
    yield where
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def test_merges_and_ids_of_an_older_store_are_carried_over(older: str) -> None:
    async with connect(older) as database:
        project_id = await access_classes.get_or_create_project(database, "tenant", "project")
        async with database.transaction() as connection:
            await refresh_all(connection, project_id)
        reader = await access_classes.resolve_reader(
            database, project_id, frozenset({"team:a", "team:b"})
        )
        (acme, tarn) = await entities.list_page(database, reader, after="", limit=10)
        assert (acme.name, acme.chunk_count, tarn.name) == ("Acme", 2, "Tarn")
        assert (acme.id.version, tarn.id.version) == (8, 8)
        (relation,) = await entities.list_relations(database, reader, acme.id)
        assert (relation.source, relation.target, relation.ends) == (
            "Acme",
            "Tarn",
            (acme.id, tarn.id),
        )
        untold = await access_classes.resolve_reader(database, project_id, frozenset({"team:b"}))
        names = [
            each.name for each in await entities.list_page(database, untold, after="", limit=10)
        ]
        assert names == ["Falcon", "Tarn"]
        rows = await database.rows(
            "SELECT (SELECT subject_id FROM entity_vectors_1), (SELECT subject_id FROM long_profiles),"
            " (SELECT count(*) FROM relations), (SELECT count(*) FROM pg_constraint WHERE condeferrable)",
            {},
        )
        assert rows == [(tarn.id, tarn.id, 1, 0)]


async def test_an_older_space_is_searched_by_signs_and_kept_up(older: str) -> None:
    async with connect(older) as database:
        vectors = PostgresVectors(database, limits=SearchLimits(exact=0))
        project_id = await access_classes.get_or_create_project(database, "tenant", "project")
        reader = await access_classes.resolve_reader(database, project_id, frozenset({"team:a"}))
        space, asked = SpaceId(1), np.array([1, -1, 0.5], np.float32)
        (hit,) = await vectors.nearest(space, asked, reader, limit=5)
        assert str(hit.chunk_id).endswith("21")
        await vectors.prepare(space, 3)
        await vectors.remove(space, [hit.chunk_id])
        assert await vectors.nearest(space, asked, reader, limit=5) == []
        (kept,) = await database.rows("SELECT class_id, signs::text FROM chunk_vectors_1_signs", {})
        assert kept == (2, "011")
