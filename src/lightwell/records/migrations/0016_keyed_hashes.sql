-- What is kept as a hash of words that somebody could guess is keyed: a question, a person's tags, a pair of names.
ALTER TABLE projects ADD COLUMN hash_key bytea NOT NULL
    DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

-- `digest` is a SHA-256 in hexadecimal, so that the words themselves are not sent to the server.
CREATE FUNCTION keyed_hash(project uuid, digest text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT encode(sha256(hash_key || convert_to(digest, 'UTF8')), 'hex') FROM projects WHERE project_id = project);

UPDATE rag_queries SET query_hash = keyed_hash(project_id, query_hash);
UPDATE analytics_sessions
SET user_hash = keyed_hash(project_id, user_hash), conversation_hash = keyed_hash(project_id, conversation_hash);
UPDATE conversations SET owner = keyed_hash(project_id, owner);
UPDATE rejected_merges AS rejected
SET one = keyed.one, other = keyed.other, one_classes = keyed.one_classes, other_classes = keyed.other_classes
FROM (
    SELECT project_id, old.one AS old_one, old.other AS old_other, rejected_by, least(own.one, own.other) AS one,
           greatest(own.one, own.other) AS other,
           CASE WHEN own.one <= own.other THEN one_classes ELSE other_classes END AS one_classes,
           CASE WHEN own.one <= own.other THEN other_classes ELSE one_classes END AS other_classes
    FROM rejected_merges AS old
    CROSS JOIN LATERAL (SELECT keyed_hash(project_id, old.one) AS one,
                               keyed_hash(project_id, old.other) AS other) AS own
) AS keyed
WHERE keyed.project_id = rejected.project_id AND keyed.old_one = rejected.one AND keyed.old_other = rejected.other
  AND keyed.rejected_by = rejected.rejected_by;

-- Replies that are kept for a time only: keywords are words of a question.
ALTER TABLE extraction_cache ADD COLUMN expires_at timestamptz;
UPDATE extraction_cache SET expires_at = now() WHERE cache_type = 'KEYWORD_EXTRACTION';
CREATE INDEX extraction_cache_expires ON extraction_cache (expires_at) WHERE expires_at IS NOT NULL;

-- What the reader saw when it was said; null where it was said before this was kept.
ALTER TABLE conversation_turns ADD COLUMN class_ids integer[];
