-- People in browsers: what they may do there, who is signed in, and the links by which one signs in once.

-- What a person may do who is signed in by a browser. Keys and tokens have scopes of their own.
ALTER TABLE people ADD COLUMN scopes text[] NOT NULL DEFAULT '{ingest,read}';

-- Who is signed in. The secret in the browser's cookie is not stored, only its SHA-256: it is 32 random bytes.
-- A session is a person's, or a key's (`key_hash` is the secret that was shown: where it is not valid any more,
-- nor is the session), or of somebody whom the directory does not have: then `identity` is what the issuer's
-- token said, and the directory is asked again at each request. `browser` is how the browser calls itself.
CREATE TABLE web_sessions (
    session_id   uuid PRIMARY KEY,
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    secret_hash  bytea NOT NULL UNIQUE,
    person_id    uuid REFERENCES people ON DELETE CASCADE,
    key_id       uuid REFERENCES api_keys ON DELETE CASCADE,
    key_hash     bytea,
    identity     jsonb,
    browser      text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    CHECK (num_nonnulls(person_id, key_id, identity) = 1)
);
CREATE INDEX web_sessions_project ON web_sessions (project_id);
CREATE INDEX web_sessions_person ON web_sessions (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX web_sessions_key ON web_sessions (key_id) WHERE key_id IS NOT NULL;

-- Links that sign one person in, once: an invitation, or what the server prints when it starts. A link that was
-- used is deleted.
CREATE TABLE sign_in_links (
    link_id     uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    secret_hash bytea NOT NULL UNIQUE,
    person_id   uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL
);
CREATE INDEX sign_in_links_project ON sign_in_links (project_id, created_at);
CREATE INDEX sign_in_links_person ON sign_in_links (person_id);
