-- The vectors of windows and tokens of English chunks, for late interaction. Like a chunk's text they are read by who may see the chunk.

CREATE TABLE chunk_multi_vectors (
    chunk_id  uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    model     text NOT NULL,
    text_hash bytea NOT NULL,      -- of the project and exactly what was encoded: equal hashes have equal vectors
    starts    integer[] NOT NULL,  -- where each window begins and ends in the chunk, and how many tokens it has
    ends      integer[] NOT NULL,
    tokens    integer[] NOT NULL,
    wholes    bytea NOT NULL,      -- the vectors of the windows, a signed byte each number
    signs     bytea NOT NULL       -- the signs of the vectors of the head's tokens, then of the windows', a bit each number
);
CREATE INDEX chunk_multi_vectors_hash ON chunk_multi_vectors (text_hash);
ALTER TABLE chunk_multi_vectors ALTER COLUMN wholes SET STORAGE EXTERNAL, ALTER COLUMN signs SET STORAGE EXTERNAL;

-- Published English chunks that are still to be encoded: what an earlier version published. Publishing adds those that have no vectors.
CREATE TABLE multi_vector_gaps (
    chunk_id uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE
);
INSERT INTO multi_vector_gaps (chunk_id) SELECT chunk_id FROM document_chunks WHERE class_id <> 0 AND language = 'en';
