"""The content of a project's tables without ids and times; it is equal for two projects with the same documents."""

from typing import LiteralString

from psycopg import sql

from .conftest import Project

_TABLES: dict[str, LiteralString] = {
    "documents": """
        SELECT source_url, title, acl_tags, status, chunk_count, language, md5(document_text(document_id, class_id)), error_code
        FROM source_documents WHERE project_id = %(project)s AND NOT is_deleted""",
    "chunks": """
        SELECT source_url, chunk_index, md5(chunk_text), class.tags
        FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
        LEFT JOIN access_classes AS class ON class.class_id = chunk.class_id
        WHERE document.project_id = %(project)s""",
    "chunk terms": """
        SELECT source_url, chunk_index, chunk_terms.length, terms::text, tags
        FROM chunk_terms JOIN document_chunks USING (chunk_id) JOIN source_documents AS document USING (document_id)
        JOIN access_classes AS class ON class.class_id = chunk_terms.class_id
        WHERE document.project_id = %(project)s""",
    "term counts": """
        SELECT tags, term, chunks FROM term_counts JOIN access_classes USING (class_id)
        WHERE project_id = %(project)s""",
    "class totals": """
        SELECT tags, documents, chunks, length FROM class_totals JOIN access_classes USING (class_id)
        WHERE project_id = %(project)s AND documents <> 0""",
    "mentions": """
        SELECT source_url, chunk_index, entity.entity_ref, named.entity_ref, mention.name, mention.entity_kind,
               mention.frequency, tags
        FROM document_entity_mentions AS mention
        JOIN document_chunks USING (chunk_id) JOIN source_documents AS document USING (document_id)
        JOIN entities AS entity USING (entity_id) JOIN entities AS named ON named.entity_id = mention.named_as
        JOIN access_classes AS class ON class.class_id = mention.class_id
        WHERE document.project_id = %(project)s""",
    "statements": """
        SELECT source_url, chunk_index, source.entity_ref, predicate, target.entity_ref, mention.weight, tags
        FROM relation_mentions AS mention
        JOIN document_chunks USING (chunk_id) JOIN source_documents AS document USING (document_id)
        JOIN relations AS relation USING (relation_id)
        JOIN entities AS source ON source.entity_id = relation.source_id
        JOIN entities AS target ON target.entity_id = relation.target_id
        JOIN access_classes AS class ON class.class_id = mention.class_id
        WHERE document.project_id = %(project)s""",
    "entity profiles": """
        SELECT entity.entity_ref, tags, display_name, entity_kind, mention_count, cardinality(source_ids)
        FROM profiles JOIN entities AS entity ON entity.entity_id = subject_id JOIN access_classes USING (class_id)
        WHERE entity.project_id = %(project)s""",
    "relation profiles": """
        SELECT source.entity_ref, predicate, target.entity_ref, tags, weight, mention_count, cardinality(source_ids)
        FROM profiles JOIN relations AS relation ON relation_id = subject_id JOIN access_classes USING (class_id)
        JOIN entities AS source ON source.entity_id = source_id JOIN entities AS target ON target.entity_id = target_id
        WHERE relation.project_id = %(project)s""",
    "entities": "SELECT entity_ref FROM entities WHERE project_id = %(project)s",
    "relations": """
        SELECT source.entity_ref, predicate, target.entity_ref FROM relations AS relation
        JOIN entities AS source ON source.entity_id = source_id JOIN entities AS target ON target.entity_id = target_id
        WHERE relation.project_id = %(project)s""",
    "open jobs": """
        SELECT status FROM ingestion_jobs
        WHERE project_id = %(project)s AND status NOT IN ('complete', 'cancelled')""",
    "staged": """
        SELECT chunk_id FROM staged_vectors JOIN document_chunks USING (chunk_id)
        JOIN source_documents AS document USING (document_id) WHERE document.project_id = %(project)s""",
    "stale": "SELECT subject_id FROM stale_profiles WHERE project_id = %(project)s",
    "index changes": "SELECT chunk_id FROM index_changes WHERE project_id = %(project)s",
    "changed profiles": "SELECT subject_id FROM described_profiles WHERE project_id = %(project)s AND changed",
}

_VECTORS: LiteralString = """
SELECT source_url, chunk_index, class.tags, chunk.class_id = vector.class_id AS follows, md5(embedding::text)
FROM {table} AS vector JOIN document_chunks AS chunk USING (chunk_id)
JOIN source_documents AS document USING (document_id)
JOIN access_classes AS class ON class.class_id = vector.class_id
WHERE document.project_id = %(project)s
"""


async def state(project: Project) -> dict[str, list[str]]:
    """Return the rows of each table, as text and sorted."""
    found = {table: await _rows(project, sql.SQL(query)) for table, query in _TABLES.items()}
    vectors = sql.Identifier(f"chunk_vectors_{project.context.space.id:d}")
    return {**found, "vectors": await _rows(project, sql.SQL(_VECTORS).format(table=vectors))}


def differences(one: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, object]:
    """Return, of each table that differs, up to three rows that only one of them has."""
    return {
        table: (
            [row for row in one[table] if row not in other[table]][:3],
            [row for row in other[table] if row not in one[table]][:3],
            len(one[table]),
            len(other[table]),
        )
        for table in one
        if one[table] != other[table]
    }


async def _rows(project: Project, query: sql.Composable) -> list[str]:
    whole = sql.SQL("SELECT row::text FROM ({}) AS row ORDER BY 1").format(query)
    rows = await project.database.rows(whole, {"project": project.kb.project_id})
    return [row[0] for row in rows]
