"""The statements for Apache AGE. Each copy is a graph of its own; every read filters by access class in its pattern.

AGE knows no subqueries, and its writing clauses look each row up in a whole table: CREATE of an edge, SET, DELETE, MERGE,
and startNode(). So Cypher finds and makes what is written, SQL writes it, and edges carry the ids of their ends.
"""

from typing import LiteralString

# PostgreSQL expects a thousand rows of every UNWIND, and would read whole tables for a few ids.
SETTINGS: LiteralString = """
SET search_path = public, ag_catalog; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;
SET enable_material = off; SET enable_bitmapscan = off; SET jit = off
"""

# The lock lets several processes prepare at once: CREATE ... IF NOT EXISTS fails in one of two that run together.
PREPARE: tuple[LiteralString, ...] = (
    "SELECT pg_advisory_xact_lock(7311923584)",
    "CREATE EXTENSION IF NOT EXISTS age",
    "CREATE SCHEMA IF NOT EXISTS lightwell_age",
    "CREATE TABLE IF NOT EXISTS lightwell_age.copies (graph uuid PRIMARY KEY, fence bigint NOT NULL)",
)

IS_PREPARED: LiteralString = "SELECT to_regclass('lightwell_age.copies') IS NOT NULL"

ADD: LiteralString = "INSERT INTO lightwell_age.copies (graph, fence) VALUES (%(graph)s, 0) ON CONFLICT DO NOTHING RETURNING graph"

CREATE: tuple[LiteralString, ...] = (
    "SELECT ag_catalog.create_graph({name})",
    "SELECT ag_catalog.create_vlabel({name}, 'Chunk')",
    "SELECT ag_catalog.create_vlabel({name}, 'Entity')",
    "SELECT ag_catalog.create_elabel({name}, 'MENTIONS')",
    "SELECT ag_catalog.create_elabel({name}, 'RELATED_TO')",
    """CREATE UNIQUE INDEX ON {schema}."Chunk" (ag_catalog.agtype_access_operator(properties, '"chunk_id"'::ag_catalog.agtype))""",
    """CREATE UNIQUE INDEX ON {schema}."Entity" (ag_catalog.agtype_access_operator(properties, '"entity_id"'::ag_catalog.agtype))""",
    """CREATE INDEX ON {schema}."RELATED_TO" (ag_catalog.agtype_access_operator(properties, '"chunk_id"'::ag_catalog.agtype))""",
    """CREATE INDEX ON {schema}."RELATED_TO" (ag_catalog.agtype_access_operator(properties, '"relation_id"'::ag_catalog.agtype))""",
    'CREATE UNIQUE INDEX ON {schema}."Chunk" (id)',
    'CREATE UNIQUE INDEX ON {schema}."Entity" (id)',
    'CREATE INDEX ON {schema}."MENTIONS" (start_id)',
    'CREATE INDEX ON {schema}."MENTIONS" (end_id)',
    'CREATE UNIQUE INDEX ON {schema}."RELATED_TO" (id)',
    'CREATE INDEX ON {schema}."RELATED_TO" (start_id)',
    'CREATE INDEX ON {schema}."RELATED_TO" (end_id)',
)

HAS: LiteralString = (
    "SELECT FROM lightwell_age.copies WHERE graph = %(graph)s AND fence < 9223372036854775807"
)

# The row stays locked until the batch is written, so that batches of one copy are written one after the other.
ENTER: LiteralString = "UPDATE lightwell_age.copies SET fence = %(fence)s WHERE graph = %(graph)s AND fence < %(fence)s RETURNING graph"

CLOSE: LiteralString = """
INSERT INTO lightwell_age.copies (graph, fence) VALUES (%(graph)s, 9223372036854775807)
ON CONFLICT (graph) DO UPDATE SET fence = excluded.fence
"""

DROP: LiteralString = (
    "SELECT ag_catalog.drop_graph(name, true) FROM ag_catalog.ag_graph WHERE name = %(name)s"
)

CHUNK_ROWS: LiteralString = """
UNWIND $chunks AS chunk MATCH (c:Chunk) WHERE c.chunk_id = chunk RETURN id(c)
"""

MENTIONS_OF: LiteralString = """
UNWIND $chunks AS chunk MATCH (c:Chunk)-[:MENTIONS]->(e:Entity) WHERE c.chunk_id = chunk
RETURN DISTINCT e.entity_id
"""

RELATIONS_OF: LiteralString = """
UNWIND $chunks AS chunk MATCH (:Entity)-[r:RELATED_TO]->(:Entity) WHERE r.chunk_id = chunk
RETURN id(r), r.source, r.target
"""

LONELY: LiteralString = """
UNWIND $ids AS entity MATCH (e:Entity) WHERE e.entity_id = entity
  AND NOT EXISTS((e)<-[:MENTIONS]-(:Chunk)) AND NOT EXISTS((e)-[:RELATED_TO]->(:Entity))
  AND NOT EXISTS((e)<-[:RELATED_TO]-(:Entity))
RETURN id(e)
"""

DELETE_MENTIONS: LiteralString = (
    'DELETE FROM {schema}."MENTIONS" WHERE start_id = ANY(%(ids)s::text[]::ag_catalog.graphid[])'
)
DELETE_CHUNKS: LiteralString = (
    'DELETE FROM {schema}."Chunk" WHERE id = ANY(%(ids)s::text[]::ag_catalog.graphid[])'
)
DELETE_RELATIONS: LiteralString = (
    'DELETE FROM {schema}."RELATED_TO" WHERE id = ANY(%(ids)s::text[]::ag_catalog.graphid[])'
)
DELETE_ENTITIES: LiteralString = (
    'DELETE FROM {schema}."Entity" WHERE id = ANY(%(ids)s::text[]::ag_catalog.graphid[])'
)

EXISTING: LiteralString = (
    "UNWIND $ids AS entity MATCH (e:Entity) WHERE e.entity_id = entity RETURN e.entity_id"
)

WRITE_CHUNKS: LiteralString = """
UNWIND $rows AS row
CREATE (:Chunk {chunk_id: row.chunk, document_id: row.document, class_id: row.class_id, topic: row.topic, preview: row.preview})
"""

WRITE_ENTITIES: LiteralString = (
    "UNWIND $rows AS row CREATE (:Entity {entity_id: row.id, name: row.name, type: '', description: '',"
    " source_chunk_ids: [], source_file_paths: []})"
)

INSERT_MENTIONS: LiteralString = 'INSERT INTO {schema}."MENTIONS" (start_id, end_id, properties) SELECT c0::ag_catalog.graphid, c1::ag_catalog.graphid, c2 FROM '
NEW_MENTIONS: LiteralString = """
UNWIND $rows AS row
MATCH (c:Chunk) WHERE c.chunk_id = row.chunk
MATCH (e:Entity) WHERE e.entity_id = row.entity
RETURN id(c), id(e), {class_id: row.class_id, frequency: row.frequency, confidence: row.confidence, type: row.kind,
                      description: row.description, source_file_path: row.url}
"""

INSERT_RELATIONS: LiteralString = 'INSERT INTO {schema}."RELATED_TO" (start_id, end_id, properties) SELECT c0::ag_catalog.graphid, c1::ag_catalog.graphid, c2 FROM '
NEW_RELATIONS: LiteralString = """
UNWIND $rows AS row
MATCH (a:Entity) WHERE a.entity_id = row.source
MATCH (b:Entity) WHERE b.entity_id = row.target
RETURN id(a), id(b), {relation_id: row.relation, source: row.source, target: row.target, chunk_id: row.chunk,
                      class_id: row.class_id, topic: row.topic, keywords: row.predicate, description: row.description,
                      weight: row.weight, confidence: row.confidence, source_chunk_ids: [row.chunk],
                      source_file_paths: [row.url]}
"""

UPDATE_ENTITIES: LiteralString = 'UPDATE {schema}."Entity" AS old SET properties = new.c1 FROM '
OF_ENTITIES: LiteralString = " WHERE old.id = new.c0::ag_catalog.graphid"

ADDED_SOURCES: LiteralString = """
UNWIND $rows AS row
MATCH (e:Entity) WHERE e.entity_id = row.id
RETURN id(e), {entity_id: e.entity_id, name: e.name, type: row.kind, description: row.description,
               source_chunk_ids: (row.chunks + e.source_chunk_ids)[0..50],
               source_file_paths: (row.paths + e.source_file_paths)[0..50]}
"""

# What an entity shows is what the newest chunks say of it: ids of chunks begin with their time.
ALL_SOURCES: LiteralString = """
UNWIND $ids AS entity
MATCH (e:Entity) WHERE e.entity_id = entity
OPTIONAL MATCH (c:Chunk)-[m:MENTIONS]->(e)
WITH e, m, c.chunk_id AS chunk ORDER BY chunk DESC
WITH e, collect(chunk) AS chunks, collect(m.source_file_path) AS paths, collect(m.type) AS types,
     collect(m.description) AS descriptions
RETURN id(e), {entity_id: e.entity_id, name: e.name, type: coalesce(types[0], ''),
               description: coalesce(descriptions[0], ''), source_chunk_ids: chunks[0..50],
               source_file_paths: paths[0..50]}
"""

_VISIBLE: LiteralString = (
    "m.class_id IN $classes AND c.class_id IN $classes AND ($topic = '' OR c.topic = $topic)"
)

MENTIONING: LiteralString = """
UNWIND $entities AS entity
MATCH (e:Entity)<-[m:MENTIONS]-(c:Chunk) WHERE e.entity_id = entity AND {visible}
WITH DISTINCT c.chunk_id AS chunk
RETURN chunk ORDER BY chunk LIMIT $limit
""".replace("{visible}", _VISIBLE)

STATING: LiteralString = """
UNWIND $relations AS relation
MATCH (:Entity)-[r:RELATED_TO]->(:Entity)
WHERE r.relation_id = relation AND r.class_id IN $classes AND ($topic = '' OR r.topic = $topic)
WITH DISTINCT r.chunk_id AS chunk
RETURN chunk ORDER BY chunk LIMIT $limit
"""

# A pattern without direction would read all relations.
RELATING: LiteralString = """
UNWIND $members AS member
MATCH (e:Entity) WHERE e.entity_id = member
OPTIONAL MATCH (e)-[r:RELATED_TO]->(:Entity) WHERE r.class_id IN $classes AND ($topic = '' OR r.topic = $topic)
WITH e, collect(r) AS leaving
OPTIONAL MATCH (e)<-[r:RELATED_TO]-(:Entity) WHERE r.class_id IN $classes AND ($topic = '' OR r.topic = $topic)
WITH leaving, collect(r) AS coming
UNWIND leaving + coming AS r
WITH DISTINCT r
WITH r.chunk_id AS chunk, r.confidence AS confidence,
     coalesce($roots[r.source], r.source) AS source, coalesce($roots[r.target], r.target) AS target
WHERE source <> target
WITH chunk, max(CASE WHEN source IN $named AND target IN $named THEN 1 ELSE 0 END) AS between,
     max(confidence) AS confidence
RETURN chunk ORDER BY between DESC, confidence DESC, chunk LIMIT $limit
"""

MENTIONED: LiteralString = """
UNWIND $chunks AS chunk
MATCH (c:Chunk)-[m:MENTIONS]->(e:Entity) WHERE c.chunk_id = chunk AND {visible}
RETURN DISTINCT e.entity_id
""".replace("{visible}", _VISIBLE)

# Shares are summed in any order, so the last digits do not count.
SHARING: LiteralString = """
UNWIND $shared AS row
MATCH (e:Entity)<-[m:MENTIONS]-(c:Chunk) WHERE e.entity_id = row.entity AND {visible}
WITH DISTINCT row.root AS root, row.share AS share, c.chunk_id AS chunk
WITH chunk, round(sum(share), 12) AS total
RETURN chunk ORDER BY total DESC, chunk LIMIT $limit
""".replace("{visible}", _VISIBLE)

SUBGRAPH_MENTIONS: LiteralString = """
UNWIND $chunks AS chunk
MATCH (c:Chunk)-[m:MENTIONS]->(e:Entity) WHERE c.chunk_id = chunk AND {visible}
RETURN chunk, collect(e.entity_id)
""".replace("{visible}", _VISIBLE)

SUBGRAPH_RELATIONS: LiteralString = """
UNWIND $chunks AS chunk
MATCH (:Entity)-[r:RELATED_TO]->(:Entity)
WHERE r.chunk_id = chunk AND r.class_id IN $classes AND r.confidence > $above
WITH coalesce($roots[r.source], r.source) AS source, coalesce($roots[r.target], r.target) AS target,
     r.weight AS weight
WHERE source <> target
WITH source, target, sum(weight) AS weight
RETURN source, target, weight ORDER BY source, target
"""
