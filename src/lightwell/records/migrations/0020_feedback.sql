-- The documents that an answer cites: what people say about the answer goes when one of them is deleted.
ALTER TABLE rag_queries ADD COLUMN document_ids uuid[] NOT NULL DEFAULT '{}';
CREATE INDEX rag_queries_documents ON rag_queries USING gin (document_ids) WHERE document_ids <> '{}';
CREATE INDEX rag_queries_session ON rag_queries (session_id, id);
CREATE INDEX retrieval_metrics_query ON retrieval_metrics (query_id);
CREATE INDEX feedback_events_query ON feedback_events (query_id);
CREATE INDEX analytics_sessions_user ON analytics_sessions (project_id, user_hash, id);
