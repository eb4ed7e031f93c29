-- A page of the web may be in the store several times, for different access tags: whoever hands one in must not notice
-- that others have it. Such a page is identified by its source_id; all other documents by their URL, as before.
ALTER TABLE source_documents DROP CONSTRAINT source_documents_project_id_source_url_key;
CREATE UNIQUE INDEX source_documents_url ON source_documents
    (project_id, source_url, (CASE source_system WHEN 'web' THEN source_id ELSE '' END));

-- What a client got for a request, so that the same request again gets the same. `owner` is who sent it.
CREATE TABLE idempotency_keys (
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    owner        text NOT NULL,
    key          text NOT NULL,
    fingerprint  bytea NOT NULL,
    jobs         jsonb NOT NULL DEFAULT '[]',
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, owner, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (project_id, created_at);
