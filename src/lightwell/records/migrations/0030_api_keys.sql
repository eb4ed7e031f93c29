-- Credentials of programs and people. The secret itself is not stored, only its SHA-256: it is 32 random bytes.

CREATE TABLE api_keys (
    key_id       uuid PRIMARY KEY,
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name         text NOT NULL,
    secret_hash  bytea NOT NULL,
    scopes       text[] NOT NULL,
    acl_tags     text[] NOT NULL,
    user_id      text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz
);
CREATE INDEX api_keys_project ON api_keys (project_id, created_at);
