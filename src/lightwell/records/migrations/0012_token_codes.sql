-- Vectors of tokens are codes of 40 bytes instead of signs of 48, each with its place in the text: the units and pieces of a passage are compared by
-- them, so that nothing but a question is read when it is asked. What was encoded is encoded anew, by whoever ingests or works.
TRUNCATE chunk_multi_vectors;
ALTER TABLE chunk_multi_vectors DROP COLUMN signs;
ALTER TABLE chunk_multi_vectors
    ADD COLUMN head   bytea NOT NULL,  -- the vectors of the head's tokens, as codes
    ADD COLUMN codes  bytea NOT NULL,  -- those of the windows' tokens
    ADD COLUMN places bytea NOT NULL;  -- how far each of these begins from the one before it in the text
ALTER TABLE chunk_multi_vectors ALTER COLUMN codes SET STORAGE EXTERNAL;
INSERT INTO multi_vector_gaps (chunk_id, document_id, round)
SELECT chunk_id, document_id, chunk_index / 32 FROM document_chunks WHERE class_id <> 0 AND language = 'en'
ON CONFLICT DO NOTHING;
