-- The push API (ingest/pushing.py): sources whose items programs bring, and the keys that may bring them.

-- A key with the scope `push` is bound to one source, and ends with it.
ALTER TABLE api_keys ADD COLUMN source_id uuid REFERENCES sources ON DELETE CASCADE;
CREATE INDEX api_keys_source ON api_keys (source_id) WHERE source_id IS NOT NULL;

-- Items and groups that lines of a push named, those deleted since included, so that a line that comes late changes nothing. `version` is the
-- highest, null where no line had one. `seen_by` is the last run that was under way when a line named it: a run removes what no line has named since it began.
CREATE TABLE pushed_items (
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    item_ref  text NOT NULL,
    version   bigint,
    seen_by   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (source_id, item_ref)
);

-- Runs of a source: everything that it has is pushed, maybe in several requests, by the name that the pusher gives. A later run has a higher `number`. `unread` counts lines that name
-- nothing that could be read: what they name is unknown, so such a run removes nothing.
CREATE TABLE push_runs (
    source_id  uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    name       text NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    unread     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (source_id, name)
);

-- A group of a push source gives one access tag.
CREATE INDEX directory_groups_tag ON directory_groups (source_key, (acl_tags[1])) WHERE source_key IS NOT NULL;

-- Who belongs to a group of a push source by their e-mail address: `ada@halden.example`, everybody at `@halden.example`, everybody with `*`.
CREATE TABLE group_addresses (
    group_id uuid NOT NULL REFERENCES directory_groups ON DELETE CASCADE,
    address  text NOT NULL,
    PRIMARY KEY (group_id, address)
);
CREATE INDEX group_addresses_address ON group_addresses (address);

CREATE INDEX people_domain ON people (project_id, split_part(email, '@', 2)) WHERE email <> '';

-- Who belongs to which group now: by name, or by an address that they have now. It is read from a person or from a group: a query that joins it
-- says so by LATERAL.
CREATE VIEW memberships AS
SELECT group_id, person_id FROM group_members
UNION
SELECT of_group.group_id, person.person_id
FROM group_addresses JOIN directory_groups AS of_group USING (group_id)
JOIN people AS person ON person.project_id = of_group.project_id AND person.email = group_addresses.address
WHERE person.email <> ''
UNION
SELECT of_group.group_id, person.person_id
FROM group_addresses JOIN directory_groups AS of_group USING (group_id)
JOIN people AS person ON person.project_id = of_group.project_id
                     AND '@' || split_part(person.email, '@', 2) = group_addresses.address
                     AND split_part(person.email, '@', 2) = substr(group_addresses.address, 2)
WHERE group_addresses.address LIKE '@%' AND person.email <> ''
UNION
SELECT of_group.group_id, person.person_id
FROM group_addresses JOIN directory_groups AS of_group USING (group_id)
JOIN people AS person ON person.project_id = of_group.project_id
WHERE group_addresses.address = '*';
