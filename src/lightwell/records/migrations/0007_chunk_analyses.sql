-- What is read in a chunk's text (`text/analysis`), once, when it comes in: a function of the text alone. Like the text it is read by
-- who may see the chunk. Rows of a lower version than the server's are made again by its workers; until then the text is read again.
CREATE TABLE chunk_analyses (
    chunk_id uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    version  integer NOT NULL,  -- 0 where it was never made
    analysis bytea NOT NULL     -- compressed
);
CREATE INDEX chunk_analyses_version ON chunk_analyses (version);
ALTER TABLE chunk_analyses ALTER COLUMN analysis SET STATISTICS 0, ALTER COLUMN analysis SET STORAGE EXTERNAL;
INSERT INTO chunk_analyses (chunk_id, version, analysis) SELECT chunk_id, 0, '' FROM document_chunks;
