-- How many chunks of a document were left out, because it has more than the settings allow.
ALTER TABLE source_documents ADD COLUMN omitted_chunks integer NOT NULL DEFAULT 0 CHECK (omitted_chunks >= 0);
