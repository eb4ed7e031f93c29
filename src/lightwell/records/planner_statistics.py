"""Cleaning of the planner's statistics, which hold samples of rows, including deleted ones."""

from psycopg import sql

from lightwell.records.database import Database, repeatable
from lightwell.records.rows import fetch

_CLEAR_STATISTICS = """
SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited)
FROM pg_stats WHERE schemaname = current_schema() AND tablename = ANY(%(relations)s)
"""

# Only our tables: the schema may hold other applications' tables, too.
_OUR_RELATIONS = """
SELECT table_.relname, index_.relname
FROM pg_class AS table_ LEFT JOIN pg_index ON pg_index.indrelid = table_.oid
LEFT JOIN pg_class AS index_ ON index_.oid = pg_index.indexrelid
WHERE table_.relnamespace = current_schema()::regnamespace AND table_.relname = ANY(%(tables)s)
"""

_TABLES_WITH_NAMES = """
    source_documents document_chunks table_rows chunk_analyses chunk_terms term_counts entities entity_names relations
    profiles document_entity_mentions relation_mentions long_profiles described_profiles
    entity_links extraction_cache ingestion_jobs ingestion_runs ingestion_cursors entity_merges
    merged_entities merge_summaries merge_rejections entity_edits relation_edits conversations
    conversation_turns conversation_titles document_originals original_parts rag_queries retrieval_metrics
    analytics_sessions feedback_events channel_updates channel_buttons channel_chats pushed_items item_fetches
""".split()

_MIN_VERSION_TO_CLEAR = 180_000
"""The first PostgreSQL version with a function for it; ANALYZE keeps the statistics of an empty table."""


@repeatable
async def clear(database: Database) -> None:
    """Replace the planner's statistics, so that they hold no sample of deleted rows, and vacuum the tables.

    PostgreSQL before version 18 keeps the statistics of tables that are empty now.
    """
    async with database.transaction() as connection:
        if connection.info.server_version >= _MIN_VERSION_TO_CLEAR:
            tables = {"tables": _TABLES_WITH_NAMES}
            rows = await fetch(connection, _OUR_RELATIONS, tables)
            names = {name for row in rows for name in row if name}
            await connection.execute(_CLEAR_STATISTICS, {"relations": list(names)})
    tables = sql.SQL(", ").join(map(sql.Identifier, _TABLES_WITH_NAMES))
    await database.execute(sql.SQL("VACUUM (ANALYZE) {}").format(tables), {})
