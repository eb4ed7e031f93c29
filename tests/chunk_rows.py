"""Documents and chunks as rows, without ingestion, for tests of vector stores."""

DOCUMENT = """
INSERT INTO source_documents (document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id,
    source_url, format, content_hash, acl_tags, class_id)
SELECT %(id)s, project_id, tenant_id, %(id)s, 'file', 'text', '1', %(id)s, 'text', '', '{}', %(class)s
FROM projects WHERE project_id = %(project)s
"""

CHUNKS = """
INSERT INTO document_chunks (chunk_id, chunk_ref, document_id, class_id, chunk_index, chunk_text, chunk_hash,
    token_count, start_offset, end_offset)
SELECT id, '', %(document)s, %(class)s, place, 'words', '', 1, 0, 5
FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS given (id, place)
"""
