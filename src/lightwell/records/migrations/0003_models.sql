-- What models wrote, and what waits to be written by them.

-- Which replies a profile's description is made of; empty while it is the descriptions joined.
ALTER TABLE profiles ADD COLUMN summary_ids uuid[] NOT NULL DEFAULT '{}';
CREATE INDEX profiles_summaries ON profiles USING gin (summary_ids) WHERE summary_ids <> '{}';
CREATE INDEX document_chunks_replies ON document_chunks USING gin (llm_cache_ids) WHERE llm_cache_ids <> '{}';
CREATE INDEX extraction_cache_loose ON extraction_cache (project_id) WHERE chunk_id IS NULL;

-- Profiles that refresh left with a long description: to be summarised where that is too long. Whoever asks a model
-- takes them for a while, so that no other pays for the same summary.
CREATE TABLE long_profiles (
    subject_id  uuid NOT NULL,
    class_id    integer NOT NULL,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    taken_until timestamptz,
    PRIMARY KEY (subject_id, class_id),
    FOREIGN KEY (subject_id, class_id) REFERENCES profiles ON DELETE CASCADE
);
CREATE INDEX long_profiles_project ON long_profiles (project_id);
