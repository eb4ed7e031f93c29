-- How each channel of a question did: {"words": {"ms": 4, "hits": 100}, ...}.
ALTER TABLE retrieval_metrics ADD COLUMN channels jsonb NOT NULL DEFAULT '{}';
