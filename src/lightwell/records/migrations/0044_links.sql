-- Links across systems: proposals by rules, and what people decide. See "Links across systems" in ARCHITECTURE.md.
--
-- A row of a proposal or a decision is about two entities as two access classes know them: `class_id` is the class of
-- `from_ref`, `to_class_id` that of `to_ref`. Readers see it where they see both. A link that a document states has
-- `to_class_id` null: `class_id` is the document's class.

ALTER TABLE entity_links ADD COLUMN to_class_id integer;
-- The same for all rows about one pair and type: what readers see as the link's id. Null for stated links.
ALTER TABLE entity_links ADD COLUMN pair_id uuid;
-- The names of the evidence that its proposer or decider saw; decisions are learned for equal rules.
ALTER TABLE entity_links ADD COLUMN rule text NOT NULL DEFAULT '';
ALTER TABLE entity_links ADD COLUMN decided_by text NOT NULL DEFAULT '';
ALTER TABLE entity_links ADD COLUMN decided_at timestamptz;
ALTER TABLE entity_links ADD CHECK (pair_id IS NULL OR to_class_id IS NOT NULL);

-- A decision outlives the documents that name its ends, as a merge does, and holds no name: ids of entities follow from
-- their references (docs/decisions/0006), so it applies again when they return. So entities are deleted as before.
ALTER TABLE entity_links DROP CONSTRAINT IF EXISTS entity_links_from_ref_fkey;
ALTER TABLE entity_links DROP CONSTRAINT IF EXISTS entity_links_to_ref_fkey;

CREATE UNIQUE INDEX entity_links_pair ON entity_links (pair_id, class_id, to_class_id) WHERE pair_id IS NOT NULL;
CREATE INDEX entity_links_decided ON entity_links (project_id, link_type, rule) WHERE decided_at IS NOT NULL;

CREATE FUNCTION link_key(project uuid, source uuid, target uuid, link_type text) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT keyed_id(id_key, 'link ' || source || ' ' || link_type || ' ' || target)
    FROM projects WHERE project_id = project
$$;

-- What finds the entities of business systems that may be linked; derived from profiles, and gone with them.
CREATE TABLE entity_keys (
    entity_id  uuid NOT NULL,
    class_id   integer NOT NULL,
    project_id uuid NOT NULL,
    kind       text NOT NULL,
    value      text NOT NULL,
    PRIMARY KEY (entity_id, class_id, kind, value),
    FOREIGN KEY (entity_id, class_id) REFERENCES profiles (subject_id, class_id) ON DELETE CASCADE
);
CREATE INDEX entity_keys_value ON entity_keys (project_id, kind, md5(value), class_id);

CREATE INDEX source_documents_item_ref ON source_documents (project_id, item_ref) WHERE item_ref <> '';

-- Entities of business systems whose profile in a class has changed: links are proposed for these alone.
CREATE TABLE link_subjects (
    entity_id  uuid NOT NULL,
    class_id   integer NOT NULL,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    PRIMARY KEY (entity_id, class_id)
);
CREATE INDEX link_subjects_project ON link_subjects (project_id);

INSERT INTO link_subjects (entity_id, class_id, project_id)
SELECT profile.subject_id, profile.class_id, entity.project_id
FROM profiles AS profile JOIN entities AS entity ON entity.entity_id = profile.subject_id
WHERE profile.subject = 'entity' AND entity.entity_ref NOT LIKE 'kg:%';

-- The confirmed links of these entities for readers of these classes. Of what people decided of a pair, the latest that
-- the reader sees counts, and it overrides what documents state. Whoever follows a link checks that its far end is visible.
CREATE FUNCTION confirmed_links(entities uuid[], classes integer[])
RETURNS TABLE (near_id uuid, far_id uuid, link_type text, confidence real)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 AS $$
    SELECT near_id, far_id, link_type, confidence FROM (
        SELECT DISTINCT ON (near_id, far_id, is_source OR link_type IN ('same_as', 'related_to'), link_type)
               near_id, far_id, link_type, confidence, status
        FROM (
            SELECT from_ref AS near_id, to_ref AS far_id, true AS is_source, entity_links.* FROM entity_links
            WHERE from_ref = ANY(entities)
            UNION ALL
            SELECT to_ref, from_ref, false, entity_links.* FROM entity_links WHERE to_ref = ANY(entities)
        ) AS link
        WHERE class_id = ANY(classes) AND coalesce(to_class_id, class_id) = ANY(classes)
          AND status <> 'proposed' AND (expires_at IS NULL OR expires_at > now())
        ORDER BY near_id, far_id, is_source OR link_type IN ('same_as', 'related_to'), link_type,
                 decided_at DESC NULLS LAST, confidence DESC
    ) AS latest
    WHERE status = 'confirmed'
$$;

-- These entities with all that are one with them to these readers, by merges and by confirmed links `same_as`: at most
-- four links away.
CREATE FUNCTION with_same(entities uuid[], classes integer[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    members uuid[] := with_merged(entities, classes);
    found uuid[];
BEGIN
    FOR step IN 1..4 LOOP
        SELECT array_agg(DISTINCT far_id) INTO found FROM confirmed_links(members, classes)
        WHERE link_type = 'same_as' AND far_id <> ALL(members);
        EXIT WHEN found IS NULL;
        members := with_merged(members || found, classes);
    END LOOP;
    RETURN members;
END $$;
