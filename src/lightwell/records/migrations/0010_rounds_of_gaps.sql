-- What published passages lack is made by workers, a few passages of each document at a time, so that none waits for all of a large
-- one: `round` counts these few. `document_id` is the passage's, so that how many a document lacks is counted without its passages.
ALTER TABLE chunk_gaps ADD COLUMN document_id uuid, ADD COLUMN round integer NOT NULL DEFAULT 0;
UPDATE chunk_gaps AS gap SET document_id = chunk.document_id, round = chunk.chunk_index / 32
FROM document_chunks AS chunk WHERE chunk.chunk_id = gap.chunk_id;
ALTER TABLE chunk_gaps ALTER COLUMN document_id SET NOT NULL, ALTER COLUMN round DROP DEFAULT;
DROP INDEX chunk_gaps_space;
CREATE INDEX chunk_gaps_space ON chunk_gaps (space_id, round, chunk_id);
CREATE INDEX chunk_gaps_document ON chunk_gaps (document_id);

ALTER TABLE multi_vector_gaps ADD COLUMN document_id uuid, ADD COLUMN round integer NOT NULL DEFAULT 0,
    ADD COLUMN taken_until timestamptz;
UPDATE multi_vector_gaps AS gap SET document_id = chunk.document_id, round = chunk.chunk_index / 32
FROM document_chunks AS chunk WHERE chunk.chunk_id = gap.chunk_id;
ALTER TABLE multi_vector_gaps ALTER COLUMN document_id SET NOT NULL, ALTER COLUMN round DROP DEFAULT;
CREATE INDEX multi_vector_gaps_round ON multi_vector_gaps (round, chunk_id);
CREATE INDEX multi_vector_gaps_document ON multi_vector_gaps (document_id);
