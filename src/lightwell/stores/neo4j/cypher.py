"""The Cypher texts. Every node and relationship carries the id of its copy, and every read filters by access class in its pattern."""

from typing import LiteralString

PREDICATES: tuple[LiteralString, ...] = (
    "PREREQUISITE",
    "RELATED_TO",
    "COMPARED_TO",
    "PART_OF",
    "USES",
    "IMPLEMENTS",
    "EXAMPLE_OF",
)

# What an earlier version made: it had one Concept for all access classes, and relationships for each chunk.
_OUTDATED: tuple[LiteralString, ...] = (
    "DROP CONSTRAINT lightwell_concept IF EXISTS",
    *(
        "DROP INDEX lightwell_{predicate}_chunk IF EXISTS".replace("{predicate}", predicate)
        for predicate in PREDICATES
    ),
)

FULL_TEXT: dict[str, tuple[LiteralString, list[str]]] = {
    "conceptNameIndex": (
        "CREATE FULLTEXT INDEX conceptNameIndex IF NOT EXISTS FOR (k:Concept) ON EACH [k.name, k.aliases, k.description]",
        ["name", "aliases", "description"],
    ),
    "chunkPreviewIndex": (
        "CREATE FULLTEXT INDEX chunkPreviewIndex IF NOT EXISTS FOR (c:Chunk) ON EACH [c.preview]",
        ["preview"],
    ),
}
"""How each full-text index is made, and over which properties."""

INDEXED_PROPERTIES: LiteralString = (
    "SHOW INDEXES YIELD name, properties WHERE name = $name RETURN properties"
)

DROP_FULL_TEXT: dict[str, LiteralString] = {
    "conceptNameIndex": "DROP INDEX conceptNameIndex IF EXISTS",
    "chunkPreviewIndex": "DROP INDEX chunkPreviewIndex IF EXISTS",
}

SCHEMA: tuple[LiteralString, ...] = (
    *_OUTDATED,
    "CREATE CONSTRAINT lightwell_graph IF NOT EXISTS FOR (g:Graph) REQUIRE g.graph IS UNIQUE",
    "CREATE CONSTRAINT lightwell_chunk IF NOT EXISTS FOR (c:Chunk) REQUIRE (c.graph, c.chunk_id) IS UNIQUE",
    "CREATE CONSTRAINT lightwell_class_concept IF NOT EXISTS FOR (k:Concept)"
    " REQUIRE (k.graph, k.concept_id, k.class_id) IS UNIQUE",
    "CREATE CONSTRAINT lightwell_document IF NOT EXISTS FOR (d:Document) REQUIRE (d.graph, d.document_id) IS UNIQUE",
    "CREATE INDEX lightwell_concepts IF NOT EXISTS FOR (k:Concept) ON (k.graph, k.concept_id)",
    "CREATE INDEX lightwell_concept_name IF NOT EXISTS FOR (k:Concept) ON (k.name)",
    "CREATE INDEX lightwell_document_url IF NOT EXISTS FOR (d:Document) ON (d.url)",
    "CREATE INDEX lightwell_chunk_hash IF NOT EXISTS FOR (c:Chunk) ON (c.hash)",
    "CREATE INDEX lightwell_STATES_relation IF NOT EXISTS FOR ()-[r:STATES]-() ON (r.relation_id)",
    *(
        "CREATE INDEX lightwell_{predicate}_relation IF NOT EXISTS FOR ()-[r:{predicate}]-() ON (r.relation_id)".replace(
            "{predicate}", predicate
        )
        for predicate in PREDICATES
    ),
    *(statement for statement, _ in FULL_TEXT.values()),
    "CALL db.awaitIndexes(120)",
)

CREATE: LiteralString = "MERGE (g:Graph {graph: $graph}) ON CREATE SET g.fence = 0"

# Setting a property takes the lock before the fence is read, so that batches of one copy are written one after the other.
ENTER: LiteralString = """
MATCH (g:Graph {graph: $graph}) SET g.is_written = true WITH g WHERE g.fence < $fence
SET g.fence = $fence RETURN g.fence AS fence
"""

_TOUCHED: LiteralString = "RETURN collect(DISTINCT [k.concept_id, k.class_id]) AS touched"

FORGET_EDGES: LiteralString = (
    """
UNWIND $chunks AS chunk
MATCH (c:Chunk {graph: $graph, chunk_id: chunk})-[m:DISCUSSES|STATES|CODE_EXAMPLE_FOR|FORMULA_FOR]->(k:Concept)
DELETE m
"""
    + _TOUCHED
)

FORGET_MENTIONS: LiteralString = (
    """
UNWIND $documents AS document
MATCH (d:Document {graph: $graph, document_id: document})-[m:MENTIONS]->(k:Concept)
DELETE m
"""
    + _TOUCHED
)

FORGET_RELATIONS: LiteralString = (
    "UNWIND $relations AS key "
    + "CALL (key) {{parts}} ".replace(
        "{parts}",
        " UNION ALL ".join(
            "MATCH (a)-[r:{predicate}]->(b) WHERE r.relation_id = key[0] AND r.class_id = key[1] AND r.graph = $graph"
            " RETURN a, r, b".replace("{predicate}", predicate)
            for predicate in PREDICATES
        ),
    )
    + "WITH a, r, b DELETE r WITH a, b UNWIND [a, b] AS k "
    + _TOUCHED
)

FORGET_CHUNKS: LiteralString = (
    "UNWIND $ids AS id MATCH (c:Chunk {graph: $graph, chunk_id: id}) DETACH DELETE c"
)

FORGET_DOCUMENTS: LiteralString = (
    "UNWIND $ids AS id MATCH (d:Document {graph: $graph, document_id: id}) DETACH DELETE d"
)

# The document is described by a row of its own, which may come in another batch.
WRITE_CHUNKS: LiteralString = """
UNWIND $rows AS row
MERGE (d:Document {graph: $graph, document_id: row.document}) ON CREATE SET d.class_id = row.properties.class_id
MERGE (c:Chunk {graph: $graph, chunk_id: row.chunk}) SET c += row.properties
MERGE (c)-[:FROM_DOCUMENT]->(d)
"""

LINK_CHUNKS: LiteralString = """
UNWIND $rows AS row
MATCH (a:Chunk {graph: $graph, chunk_id: row.before})
MATCH (b:Chunk {graph: $graph, chunk_id: row.after})
MERGE (a)-[:NEXT_CHUNK]->(b)
"""

WRITE_DOCUMENTS: LiteralString = """
UNWIND $rows AS row
MERGE (d:Document {graph: $graph, document_id: row.document}) SET d += row.properties
"""

# Concepts that only edges need so far are called by their names in normal form.
ADD_CONCEPTS: LiteralString = """
UNWIND $rows AS row
MERGE (k:Concept {graph: $graph, concept_id: row.id, class_id: row.class_id})
ON CREATE SET k.name = row.name, k.normalizedName = row.name
"""

WRITE_CONCEPTS: LiteralString = """
UNWIND $rows AS row
MERGE (k:Concept {graph: $graph, concept_id: row.id, class_id: row.class_id}) SET k += row.properties
"""

EMPTY_CONCEPTS: LiteralString = """
UNWIND $keys AS key
MATCH (k:Concept {graph: $graph, concept_id: key[0], class_id: key[1]})
SET k = {graph: k.graph, concept_id: k.concept_id, class_id: k.class_id, name: k.normalizedName, normalizedName: k.normalizedName}
"""

WRITE_DISCUSSES: LiteralString = """
UNWIND $rows AS row
MATCH (c:Chunk {graph: $graph, chunk_id: row.chunk})
MATCH (k:Concept {graph: $graph, concept_id: row.entity, class_id: row.class_id})
CREATE (c)-[:DISCUSSES {class_id: row.class_id, frequency: row.frequency, confidence: row.confidence}]->(k)
FOREACH (_ IN CASE WHEN row.is_code_topic THEN [1] ELSE [] END | CREATE (c)-[:CODE_EXAMPLE_FOR {class_id: row.class_id}]->(k))
FOREACH (_ IN CASE WHEN row.is_formula_topic THEN [1] ELSE [] END | CREATE (c)-[:FORMULA_FOR {class_id: row.class_id}]->(k))
"""

WRITE_STATES: LiteralString = """
UNWIND $rows AS row
MATCH (c:Chunk {graph: $graph, chunk_id: row.chunk})
MATCH (k:Concept {graph: $graph, concept_id: row.entity, class_id: row.class_id})
CREATE (c)-[s:STATES {graph: $graph}]->(k) SET s += row.properties
"""

WRITE_MENTIONS: LiteralString = """
UNWIND $rows AS row
MATCH (d:Document {graph: $graph, document_id: row.document})
MATCH (k:Concept {graph: $graph, concept_id: row.entity, class_id: row.class_id})
CREATE (d)-[:MENTIONS {class_id: row.class_id, frequency: row.frequency, relevance: row.relevance}]->(k)
"""

WRITE_RELATIONS: dict[str, LiteralString] = {
    predicate: """
UNWIND $rows AS row
MATCH (a:Concept {graph: $graph, concept_id: row.source, class_id: row.properties.class_id})
MATCH (b:Concept {graph: $graph, concept_id: row.target, class_id: row.properties.class_id})
CREATE (a)-[r:{predicate} {graph: $graph}]->(b) SET r += row.properties
""".replace("{predicate}", predicate)
    for predicate in PREDICATES
}

# A concept stays while its class says something of it, or an edge leads to it.
FORGET_CONCEPTS: LiteralString = """
UNWIND $keys AS key
MATCH (k:Concept {graph: $graph, concept_id: key[0], class_id: key[1]})
WHERE k.updatedAt IS NULL AND NOT EXISTS { (k)--() }
DELETE k
"""

HAS: LiteralString = (
    "MATCH (g:Graph {graph: $graph}) WHERE g.fence < 9223372036854775807 RETURN g.graph AS graph"
)

CLOSE: LiteralString = "MERGE (g:Graph {graph: $graph}) SET g.fence = 9223372036854775807"

DROP_SOME: LiteralString = """
CALL () {
    MATCH (n:Chunk {graph: $graph}) RETURN n LIMIT 5000
    UNION ALL MATCH (n:Concept {graph: $graph}) RETURN n LIMIT 5000
    UNION ALL MATCH (n:Document {graph: $graph}) RETURN n LIMIT 5000
}
DETACH DELETE n RETURN count(n) AS dropped
"""

# A copy that is not there gives no row, one that has nothing to say an empty list.
_IN_COPY: LiteralString = "MATCH (g:Graph {graph: $graph}) WHERE g.fence < 9223372036854775807 CALL () { {read} } RETURN found"

_VISIBLE: LiteralString = (
    "m.class_id IN $classes AND c.class_id IN $classes AND ($topic = '' OR c.topic = $topic)"
)


def _in_copy(read: LiteralString) -> LiteralString:
    return _IN_COPY.replace("{read}", read)


MENTIONING: LiteralString = _in_copy(
    """
MATCH (k:Concept)<-[m:DISCUSSES]-(c:Chunk)
WHERE k.graph = $graph AND k.concept_id IN $entities AND {visible}
WITH DISTINCT c.chunk_id AS chunk ORDER BY chunk LIMIT $limit
RETURN collect(chunk) AS found
""".replace("{visible}", _VISIBLE)
)

STATING: LiteralString = _in_copy(
    """
MATCH (c:Chunk)-[m:STATES]->(:Concept)
WHERE m.relation_id IN $relations AND m.graph = $graph AND {visible}
WITH DISTINCT c.chunk_id AS chunk ORDER BY chunk LIMIT $limit
RETURN collect(chunk) AS found
""".replace("{visible}", _VISIBLE)
)

RELATING: LiteralString = _in_copy(
    """
MATCH (k:Concept)<-[m:STATES]-(c:Chunk)
WHERE k.graph = $graph AND k.concept_id IN $members AND {visible}
WITH DISTINCT c.chunk_id AS chunk, m.source AS source, m.target AS target, m.confidence AS confidence
WITH chunk, confidence, coalesce($roots[source], source) AS source, coalesce($roots[target], target) AS target
WHERE source <> target
WITH chunk, max(CASE WHEN source IN $named AND target IN $named THEN 1 ELSE 0 END) AS between,
     max(confidence) AS confidence
ORDER BY between DESC, confidence DESC, chunk LIMIT $limit
RETURN collect(chunk) AS found
""".replace("{visible}", _VISIBLE)
)

MENTIONED: LiteralString = _in_copy(
    """
MATCH (c:Chunk)-[m:DISCUSSES]->(k:Concept)
WHERE c.graph = $graph AND c.chunk_id IN $chunks AND {visible}
RETURN collect(DISTINCT k.concept_id) AS found
""".replace("{visible}", _VISIBLE)
)

# Shares are summed in any order, so the last digits do not count.
SHARING: LiteralString = _in_copy(
    """
UNWIND $shared AS row
MATCH (k:Concept {graph: $graph, concept_id: row.entity})<-[m:DISCUSSES]-(c:Chunk)
WHERE {visible}
WITH DISTINCT row.root AS root, row.share AS share, c.chunk_id AS chunk
WITH chunk, round(sum(share), 12) AS total ORDER BY total DESC, chunk LIMIT $limit
RETURN collect(chunk) AS found
""".replace("{visible}", _VISIBLE)
)

SUBGRAPH_MENTIONS: LiteralString = _in_copy(
    """
MATCH (c:Chunk)-[m:DISCUSSES]->(k:Concept)
WHERE c.graph = $graph AND c.chunk_id IN $chunks AND {visible}
WITH c.chunk_id AS chunk, collect(k.concept_id) AS entities
RETURN collect([chunk, entities]) AS found
""".replace("{visible}", _VISIBLE)
)

SUBGRAPH_RELATIONS: LiteralString = _in_copy(
    """
MATCH (c:Chunk)-[m:STATES]->(:Concept)
WHERE c.graph = $graph AND c.chunk_id IN $chunks AND m.role = 'source' AND m.confidence > $above AND {visible}
WITH coalesce($roots[m.source], m.source) AS source, coalesce($roots[m.target], m.target) AS target, m.weight AS weight
WHERE source <> target
WITH source, target, sum(weight) AS weight ORDER BY source, target
RETURN collect([source, target, weight]) AS found
""".replace("{visible}", _VISIBLE)
)
