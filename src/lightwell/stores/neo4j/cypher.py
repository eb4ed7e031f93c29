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

_ANY_PREDICATE: LiteralString = "|".join(PREDICATES)


def _of_each_predicate(pattern: LiteralString) -> LiteralString:
    """Return one subquery of all predicates, since an index of relationships belongs to one type."""
    parts: list[LiteralString] = [
        pattern.replace("{predicate}", predicate) for predicate in PREDICATES
    ]
    return "CALL () { " + " UNION ALL ".join(parts) + " } "


SCHEMA: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT lightwell_graph IF NOT EXISTS FOR (g:Graph) REQUIRE g.graph IS UNIQUE",
    "CREATE CONSTRAINT lightwell_chunk IF NOT EXISTS FOR (c:Chunk) REQUIRE (c.graph, c.chunk_id) IS UNIQUE",
    "CREATE CONSTRAINT lightwell_concept IF NOT EXISTS FOR (k:Concept) REQUIRE (k.graph, k.concept_id) IS UNIQUE",
    "CREATE CONSTRAINT lightwell_document IF NOT EXISTS FOR (d:Document) REQUIRE (d.graph, d.document_id) IS UNIQUE",
    "CREATE FULLTEXT INDEX conceptNameIndex IF NOT EXISTS FOR (k:Concept) ON EACH [k.name]",
    "CREATE FULLTEXT INDEX chunkPreviewIndex IF NOT EXISTS FOR (c:Chunk) ON EACH [c.preview]",
    *(
        "CREATE INDEX lightwell_{predicate}_chunk IF NOT EXISTS FOR ()-[r:{predicate}]-() ON (r.chunk_id)".replace(
            "{predicate}", each
        )
        for each in PREDICATES
    ),
    *(
        "CREATE INDEX lightwell_{predicate}_relation IF NOT EXISTS FOR ()-[r:{predicate}]-() ON (r.relation_id)".replace(
            "{predicate}", each
        )
        for each in PREDICATES
    ),
    "CALL db.awaitIndexes(120)",
)

CREATE: LiteralString = "MERGE (g:Graph {graph: $graph}) ON CREATE SET g.fence = 0"

# Setting a property takes the lock before the fence is read, so that batches of one copy are written one after the other.
ENTER: LiteralString = """
MATCH (g:Graph {graph: $graph}) SET g.is_written = true WITH g WHERE g.fence < $fence
SET g.fence = $fence RETURN g.fence AS fence
"""

_TOUCHED: LiteralString = "RETURN collect(DISTINCT id) AS ids"

FORGET_MENTIONS: LiteralString = (
    """
UNWIND $chunks AS chunk
MATCH (c:Chunk {graph: $graph, chunk_id: chunk})-[m:DISCUSSES]->(k:Concept)
WITH m, k.concept_id AS id DELETE m
"""
    + _TOUCHED
)

FORGET_RELATIONS: LiteralString = (
    _of_each_predicate(
        "MATCH (a)-[r:{predicate}]->(b) WHERE r.chunk_id IN $chunks AND r.graph = $graph RETURN a, r, b"
    )
    + """
WITH r, [a.concept_id, b.concept_id] AS ends DELETE r
WITH ends UNWIND ends AS id
"""
    + _TOUCHED
)

FORGET_CHUNKS: LiteralString = """
UNWIND $gone AS chunk
MATCH (c:Chunk {graph: $graph, chunk_id: chunk})
OPTIONAL MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
DETACH DELETE c
WITH DISTINCT d WHERE d IS NOT NULL AND NOT EXISTS { (d)--() }
DELETE d
"""

WRITE_CHUNKS: LiteralString = """
UNWIND $rows AS row
MERGE (d:Document {graph: $graph, document_id: row.document}) SET d.class_id = row.class_id
MERGE (c:Chunk {graph: $graph, chunk_id: row.chunk})
SET c.class_id = row.class_id, c.topic = row.topic, c.preview = row.preview
MERGE (c)-[:FROM_DOCUMENT]->(d)
"""

WRITE_CONCEPTS: LiteralString = """
UNWIND $rows AS row MERGE (k:Concept {graph: $graph, concept_id: row.id}) SET k.name = row.name
"""

WRITE_MENTIONS: LiteralString = """
UNWIND $rows AS row
MATCH (c:Chunk {graph: $graph, chunk_id: row.chunk})
MATCH (k:Concept {graph: $graph, concept_id: row.entity})
CREATE (c)-[:DISCUSSES {class_id: row.class_id, frequency: row.frequency, confidence: row.confidence}]->(k)
"""

WRITE_RELATIONS: dict[str, LiteralString] = {
    each: """
UNWIND $rows AS row
MATCH (a:Concept {graph: $graph, concept_id: row.source})
MATCH (b:Concept {graph: $graph, concept_id: row.target})
CREATE (a)-[:{predicate} {graph: $graph, relation_id: row.relation, chunk_id: row.chunk, class_id: row.class_id,
                          topic: row.topic, weight: row.weight, confidence: row.confidence}]->(b)
""".replace("{predicate}", each)
    for each in PREDICATES
}

FORGET_CONCEPTS: LiteralString = """
UNWIND $ids AS id
MATCH (k:Concept {graph: $graph, concept_id: id}) WHERE NOT EXISTS { (k)--() }
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
    _of_each_predicate(
        "MATCH ()-[r:{predicate}]->() WHERE r.relation_id IN $relations AND r.graph = $graph"
        " AND r.class_id IN $classes AND ($topic = '' OR r.topic = $topic) RETURN r.chunk_id AS chunk"
    )
    + "WITH DISTINCT chunk ORDER BY chunk LIMIT $limit RETURN collect(chunk) AS found"
)

RELATING: LiteralString = _in_copy(
    """
MATCH (k:Concept)-[r:{predicates}]-(:Concept)
WHERE k.graph = $graph AND k.concept_id IN $members
  AND r.class_id IN $classes AND ($topic = '' OR r.topic = $topic)
WITH DISTINCT r
WITH r, startNode(r).concept_id AS source, endNode(r).concept_id AS target
WITH r, coalesce($roots[source], source) AS source, coalesce($roots[target], target) AS target
WHERE source <> target
WITH r.chunk_id AS chunk, max(CASE WHEN source IN $named AND target IN $named THEN 1 ELSE 0 END) AS between,
     max(r.confidence) AS confidence
ORDER BY between DESC, confidence DESC, chunk LIMIT $limit
RETURN collect(chunk) AS found
""".replace("{predicates}", _ANY_PREDICATE)
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
    _of_each_predicate(
        "MATCH (a)-[r:{predicate}]->(b) WHERE r.chunk_id IN $chunks AND r.graph = $graph"
        " AND r.class_id IN $classes AND r.confidence > $above"
        " RETURN a.concept_id AS source, b.concept_id AS target, r.weight AS weight"
    )
    + """
WITH coalesce($roots[source], source) AS source, coalesce($roots[target], target) AS target, weight
WHERE source <> target
WITH source, target, sum(weight) AS weight ORDER BY source, target
RETURN collect([source, target, weight]) AS found
"""
)
