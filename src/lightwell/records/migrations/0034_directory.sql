-- People and groups: who somebody is, and which access tags that person has now.

CREATE TABLE people (
    person_id    uuid PRIMARY KEY,
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    email        text NOT NULL DEFAULT '',
    display_name text NOT NULL DEFAULT '',
    acl_tags     text[] NOT NULL DEFAULT '{}',
    is_active    boolean NOT NULL DEFAULT true,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX people_email ON people (project_id, email) WHERE email <> '';
CREATE INDEX people_project ON people (project_id, person_id);

-- What other systems call a person: the account in a chat, the subject of an issuer's tokens.
CREATE TABLE person_external_ids (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    system      text NOT NULL,
    external_id text NOT NULL,
    person_id   uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    PRIMARY KEY (project_id, system, external_id)
);
CREATE INDEX person_external_ids_person ON person_external_ids (person_id);

CREATE TABLE directory_groups (
    group_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name       text NOT NULL,
    acl_tags   text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (project_id, name)
);

CREATE TABLE group_members (
    group_id  uuid NOT NULL REFERENCES directory_groups ON DELETE CASCADE,
    person_id uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    PRIMARY KEY (group_id, person_id)
);
CREATE INDEX group_members_person ON group_members (person_id);

-- A key may name a person, whose current tags it has (`user_id` is used no more). After a rotation the old secret
-- stays valid until `previous_until`.
ALTER TABLE api_keys ADD COLUMN person_id uuid REFERENCES people ON DELETE CASCADE;
ALTER TABLE api_keys ADD COLUMN previous_hash bytea;
ALTER TABLE api_keys ADD COLUMN previous_until timestamptz;
CREATE INDEX api_keys_person ON api_keys (person_id) WHERE person_id IS NOT NULL;
