"""The statements for Apache AGE. Each copy is a graph of its own; every read filters by access class in its pattern.

Cypher reads. SQL writes the tables in which AGE keeps its nodes and edges: AGE's own writing clauses look each row up in a whole table.
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
    "SELECT ag_catalog.create_elabel({name}, 'STATES')",
    "SELECT ag_catalog.create_elabel({name}, 'RELATED_TO')",
    """CREATE UNIQUE INDEX ON {schema}."Chunk" (ag_catalog.agtype_access_operator(properties, '"chunk_id"'::ag_catalog.agtype))""",
    """CREATE UNIQUE INDEX ON {schema}."Entity" (ag_catalog.agtype_access_operator(properties, '"entity_key"'::ag_catalog.agtype))""",
    """CREATE INDEX ON {schema}."Entity" (ag_catalog.agtype_access_operator(properties, '"entity_id"'::ag_catalog.agtype))""",
    """CREATE INDEX ON {schema}."STATES" (ag_catalog.agtype_access_operator(properties, '"relation_id"'::ag_catalog.agtype))""",
    """CREATE UNIQUE INDEX ON {schema}."RELATED_TO" (ag_catalog.agtype_access_operator(properties, '"relation_key"'::ag_catalog.agtype))""",
    'CREATE UNIQUE INDEX ON {schema}."Chunk" (id)',
    'CREATE UNIQUE INDEX ON {schema}."Entity" (id)',
    'CREATE INDEX ON {schema}."MENTIONS" (start_id)',
    'CREATE INDEX ON {schema}."MENTIONS" (end_id)',
    'CREATE INDEX ON {schema}."STATES" (start_id)',
    'CREATE INDEX ON {schema}."STATES" (end_id)',
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

_KEYS: LiteralString = "unnest(%(keys)s::text[]::ag_catalog.agtype[])"
_ROWS: LiteralString = (
    "unnest(%(keys)s::text[]::ag_catalog.agtype[], %(properties)s::text[]::ag_catalog.agtype[])"
)
_EDGES: LiteralString = (
    "unnest(%(starts)s::text[]::ag_catalog.agtype[], %(ends)s::text[]::ag_catalog.agtype[],"
    " %(properties)s::text[]::ag_catalog.agtype[]) AS given (start_key, end_key, properties)"
)


def _key(of: LiteralString, name: LiteralString) -> LiteralString:
    """Return the SQL of a property, as it is indexed."""
    return """ag_catalog.agtype_access_operator({of}properties, '"{name}"'::ag_catalog.agtype)""".replace(
        "{of}", of
    ).replace("{name}", name)


_CHUNK_IDS: LiteralString = (
    (
        'SELECT chunk.id FROM {keys} AS given (key) JOIN {schema}."Chunk" AS chunk ON {chunk_key} = given.key'
    )
    .replace("{keys}", _KEYS)
    .replace("{chunk_key}", _key("chunk.", "chunk_id"))
)

DELETE_EDGES: tuple[LiteralString, ...] = tuple(
    'DELETE FROM {schema}."{label}" WHERE start_id IN ({chunks}) RETURNING end_id'.replace(
        "{label}", label
    ).replace("{chunks}", _CHUNK_IDS)
    for label in ("MENTIONS", "STATES")
)

DELETE_CHUNKS: LiteralString = 'DELETE FROM {schema}."Chunk" AS chunk USING {keys} AS given (key) WHERE {chunk_key} = given.key'.replace(
    "{keys}", _KEYS
).replace("{chunk_key}", _key("chunk.", "chunk_id"))

DELETE_RELATIONS: LiteralString = """
DELETE FROM {schema}."RELATED_TO" AS relation USING {keys} AS given (key) WHERE {relation_key} = given.key
RETURNING start_id, end_id
""".replace("{keys}", _KEYS).replace("{relation_key}", _key("relation.", "relation_key"))

_WRITE: LiteralString = """
INSERT INTO {schema}."{label}" (properties) SELECT given.properties FROM {rows} AS given (key, properties)
ON CONFLICT ({unique}) DO
"""

WRITE_CHUNKS: LiteralString = (
    _WRITE.replace("{label}", "Chunk")
    .replace("{rows}", _ROWS)
    .replace("{unique}", _key("", "chunk_id"))
    + "UPDATE SET properties = excluded.properties"
)

_WRITE_ENTITIES: LiteralString = (
    _WRITE.replace("{label}", "Entity")
    .replace("{rows}", _ROWS)
    .replace("{unique}", _key("", "entity_key"))
)

ADD_ENTITIES: LiteralString = _WRITE_ENTITIES + "NOTHING"
WRITE_ENTITIES: LiteralString = _WRITE_ENTITIES + "UPDATE SET properties = excluded.properties"

EMPTY_ENTITIES: LiteralString = (
    """
UPDATE {schema}."Entity" AS entity SET properties = {bare} FROM {keys} AS given (key) WHERE {entity_key} = given.key
RETURNING entity.id
""".replace("{keys}", _KEYS)
    .replace("{entity_key}", _key("entity.", "entity_key"))
    .replace(
        "{bare}",
        """ag_catalog.agtype_build_map('entity_key', {key}, 'entity_id', {id}, 'class_id', {class}, 'name', {name},
       'normalized_name', {name})""".replace("{key}", _key("entity.", "entity_key"))
        .replace("{id}", _key("entity.", "entity_id"))
        .replace("{class}", _key("entity.", "class_id"))
        .replace("{name}", _key("entity.", "normalized_name")),
    )
)

WRITE_EDGES: dict[str, LiteralString] = {
    label: """
INSERT INTO {schema}."{label}" (start_id, end_id, properties)
SELECT chunk.id, entity.id, given.properties FROM {edges}
JOIN {schema}."Chunk" AS chunk ON {chunk_key} = given.start_key
JOIN {schema}."Entity" AS entity ON {entity_key} = given.end_key
""".replace("{label}", label)
    .replace("{edges}", _EDGES)
    .replace("{chunk_key}", _key("chunk.", "chunk_id"))
    .replace("{entity_key}", _key("entity.", "entity_key"))
    for label in ("MENTIONS", "STATES")
}

WRITE_RELATIONS: LiteralString = (
    """
INSERT INTO {schema}."RELATED_TO" (start_id, end_id, properties)
SELECT source.id, target.id, given.properties FROM {edges}
JOIN {schema}."Entity" AS source ON {source_key} = given.start_key
JOIN {schema}."Entity" AS target ON {target_key} = given.end_key
""".replace("{edges}", _EDGES)
    .replace("{source_key}", _key("source.", "entity_key"))
    .replace("{target_key}", _key("target.", "entity_key"))
)

# An entity stays while its class says something of it, or an edge leads to it.
DELETE_ENTITIES: LiteralString = """
DELETE FROM {schema}."Entity" AS entity
WHERE entity.id = ANY(%(ids)s::text[]::ag_catalog.graphid[]) AND {description} IS NULL
  AND NOT EXISTS (SELECT FROM {schema}."MENTIONS" AS edge WHERE edge.end_id = entity.id)
  AND NOT EXISTS (SELECT FROM {schema}."STATES" AS edge WHERE edge.end_id = entity.id)
  AND NOT EXISTS (SELECT FROM {schema}."RELATED_TO" AS edge WHERE edge.start_id = entity.id)
  AND NOT EXISTS (SELECT FROM {schema}."RELATED_TO" AS edge WHERE edge.end_id = entity.id)
""".replace("{description}", _key("entity.", "description"))

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
MATCH (c:Chunk)-[m:STATES]->(:Entity) WHERE m.relation_id = relation AND {visible}
WITH DISTINCT c.chunk_id AS chunk
RETURN chunk ORDER BY chunk LIMIT $limit
""".replace("{visible}", _VISIBLE)

RELATING: LiteralString = """
UNWIND $members AS member
MATCH (e:Entity)<-[m:STATES]-(c:Chunk) WHERE e.entity_id = member AND {visible}
WITH DISTINCT c.chunk_id AS chunk, m.source AS source, m.target AS target, m.confidence AS confidence
WITH chunk, confidence, coalesce($roots[source], source) AS source, coalesce($roots[target], target) AS target
WHERE source <> target
WITH chunk, max(CASE WHEN source IN $named AND target IN $named THEN 1 ELSE 0 END) AS between,
     max(confidence) AS confidence
RETURN chunk ORDER BY between DESC, confidence DESC, chunk LIMIT $limit
""".replace("{visible}", _VISIBLE)

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
MATCH (c:Chunk)-[m:STATES]->(:Entity)
WHERE c.chunk_id = chunk AND m.role = 'source' AND m.confidence > $above AND {visible}
WITH coalesce($roots[m.source], m.source) AS source, coalesce($roots[m.target], m.target) AS target,
     m.weight AS weight
WHERE source <> target
WITH source, target, sum(weight) AS weight
RETURN source, target, weight ORDER BY source, target
""".replace("{visible}", _VISIBLE)
