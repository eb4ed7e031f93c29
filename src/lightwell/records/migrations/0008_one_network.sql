-- One network reads passages: bge-small, in a file of its own. Vectors of all-MiniLM-L6-v2 and those that bge-small made before cannot
-- be compared with its vectors. So each project whose vectors these are gets a new active space, for which all is noted as missing:
-- whoever ingests or works fills it, while words, names and the graph answer. Vectors that an endpoint made stay.
UPDATE embedding_spaces SET status = 'dropping', ended_at = now()
WHERE status IN ('preparing', 'building') AND model IN ('all-MiniLM-L6-v2-int8', 'bge-small-en-v1.5-int8');

UPDATE embedding_spaces SET status = 'retired', ended_at = now()
WHERE status = 'active' AND model IN ('all-MiniLM-L6-v2-int8', 'bge-small-en-v1.5-int8');

INSERT INTO embedding_spaces (project_id, model, dimension, status)
SELECT DISTINCT project_id, 'bge-small-en-v1.5-int8/windows-1', 384, 'active'
FROM embedding_spaces AS space
WHERE NOT EXISTS (SELECT FROM embedding_spaces AS one WHERE one.project_id = space.project_id AND one.status = 'active');

INSERT INTO chunk_gaps (chunk_id, space_id)
SELECT chunk.chunk_id, space.space_id
FROM embedding_spaces AS space
JOIN source_documents AS document USING (project_id)
JOIN document_chunks AS chunk USING (document_id)
WHERE space.model = 'bge-small-en-v1.5-int8/windows-1' AND chunk.class_id <> 0
ON CONFLICT DO NOTHING;

UPDATE described_profiles SET changed = true, text_hash = NULL, taken_until = NULL
FROM embedding_spaces AS space
WHERE space.project_id = described_profiles.project_id AND space.model = 'bge-small-en-v1.5-int8/windows-1';

-- What was encoded for late interaction is encoded anew.
TRUNCATE chunk_multi_vectors;
INSERT INTO multi_vector_gaps (chunk_id)
SELECT chunk_id FROM document_chunks WHERE class_id <> 0 AND language = 'en'
ON CONFLICT DO NOTHING;
