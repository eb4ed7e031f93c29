-- Merges apply per reader, and ids of entities and relations say nothing of when or by whom a name was first heard.
-- See docs/decisions/0006-merges-apply-per-reader.md.

-- ── ids that follow from the name ────────────────────────────────────────────────────────────────────

-- Each row gets a key of its own: the default is volatile. 244 random bits.
ALTER TABLE projects ADD COLUMN id_key bytea NOT NULL
    DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

-- A UUID v8 of a keyed hash: equal names have equal ids, and without the key nobody can compute one.
CREATE FUNCTION keyed_id(key bytea, name text) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT encode(set_byte(set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128),
                           8, (get_byte(digest, 8) & 63) | 128), 'hex')::uuid
    FROM (SELECT substring(sha256(key || sha256(key || convert_to(name, 'UTF8'))) FOR 16) AS digest) AS hashed
$$;

CREATE FUNCTION entity_key(project uuid, ref text) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT keyed_id(id_key, ref) FROM projects WHERE project_id = project
$$;

CREATE FUNCTION relation_key(project uuid, source uuid, target uuid, predicate text) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT keyed_id(id_key, source || ' ' || predicate || ' ' || target) FROM projects WHERE project_id = project
$$;

-- ── mentions stand for what they name; a merge is applied when somebody reads ────────────────────────

-- The classes, of those that the merging person saw, in which each side was known then: whoever shares none of them
-- has not been told of the merge, whatever else names the two.
ALTER TABLE entity_merges ADD COLUMN target_classes integer[] NOT NULL DEFAULT '{}';
ALTER TABLE merged_entities ADD COLUMN source_classes integer[] NOT NULL DEFAULT '{}';
ALTER TABLE rejected_merges ADD COLUMN one_classes integer[] NOT NULL DEFAULT '{}';
ALTER TABLE rejected_merges ADD COLUMN other_classes integer[] NOT NULL DEFAULT '{}';
ALTER TABLE rejected_merges DROP CONSTRAINT rejected_merges_pkey;
ALTER TABLE rejected_merges ADD PRIMARY KEY (project_id, one, other, rejected_by);

UPDATE entity_merges AS merge SET target_classes = ARRAY(
    SELECT DISTINCT mention.class_id
    FROM document_entity_mentions AS mention JOIN access_classes AS class USING (class_id)
    WHERE mention.named_as = merge.target_id AND class.tags && merge.made_by
    UNION
    SELECT edit.class_id FROM entity_edits AS edit JOIN access_classes AS class USING (class_id)
    WHERE edit.named_as = merge.target_id AND class.tags && merge.made_by);
UPDATE merged_entities AS source SET source_classes = ARRAY(
    SELECT DISTINCT mention.class_id
    FROM document_entity_mentions AS mention JOIN access_classes AS class USING (class_id)
    WHERE mention.named_as = source.source_id AND class.tags && merge.made_by
    UNION
    SELECT edit.class_id FROM entity_edits AS edit JOIN access_classes AS class USING (class_id)
    WHERE edit.named_as = source.source_id AND class.tags && merge.made_by)
FROM entity_merges AS merge WHERE merge.merge_id = source.merge_id;
UPDATE rejected_merges AS rejected
SET one_classes = own.classes, other_classes = own.classes
FROM (
    SELECT rejected_by, project_id, array_agg(class_id) AS classes
    FROM (SELECT DISTINCT rejected_by, project_id FROM rejected_merges) AS by
    JOIN access_classes USING (project_id) WHERE tags && rejected_by
    GROUP BY rejected_by, project_id
) AS own
WHERE own.rejected_by = rejected.rejected_by AND own.project_id = rejected.project_id;

-- What the members of a merge are said to be when a model summarised it; older summaries are made anew on request.
DELETE FROM merge_summaries;
ALTER TABLE merge_summaries ADD COLUMN members uuid[] NOT NULL;

-- A name may be merged twice, by people of whom neither sees the other's merge.
DROP INDEX merged_entities_active;
CREATE INDEX merged_entities_active ON merged_entities (merge_id) WHERE undone_at IS NULL;

UPDATE entities AS named
SET hidden_for = ARRAY(SELECT DISTINCT unnest(coalesce(named.hidden_for, '{}') || root.hidden_for) ORDER BY 1)
FROM entities AS root WHERE root.entity_id = named.merged_into AND root.hidden_for IS NOT NULL;

CREATE TEMPORARY TABLE affected ON COMMIT DROP AS
SELECT entity_id AS subject_id, 'entity' AS subject, project_id FROM entities AS entity
WHERE merged_into IS NOT NULL OR EXISTS (SELECT FROM entities AS alias WHERE alias.merged_into = entity.entity_id);
INSERT INTO affected
SELECT relation_id, 'relation', project_id FROM relations
WHERE source_id IN (SELECT subject_id FROM affected) OR target_id IN (SELECT subject_id FROM affected);

UPDATE document_entity_mentions SET entity_id = named_as WHERE entity_id <> named_as;
UPDATE entity_edits SET entity_id = named_as WHERE entity_id <> named_as;
UPDATE relation_mentions AS mention
SET relation_id = CASE WHEN class.tags && source.hidden_for OR class.tags && target.hidden_for
                         OR class.tags && stated.hidden_for THEN NULL ELSE stated.relation_id END
FROM relations AS stated
JOIN entities AS source ON source.entity_id = stated.source_id
JOIN entities AS target ON target.entity_id = stated.target_id
JOIN access_classes AS class ON class.project_id = stated.project_id
WHERE stated.relation_id = mention.stated_as AND class.class_id = mention.class_id
  AND mention.relation_id IS DISTINCT FROM mention.stated_as;
UPDATE relation_edits AS edit
SET relation_id = CASE WHEN class.tags && source.hidden_for OR class.tags && target.hidden_for
                         OR class.tags && stated.hidden_for THEN NULL ELSE stated.relation_id END
FROM relations AS stated
JOIN entities AS source ON source.entity_id = stated.source_id
JOIN entities AS target ON target.entity_id = stated.target_id
JOIN access_classes AS class ON class.project_id = stated.project_id
WHERE stated.relation_id = edit.stated_as AND class.class_id = edit.class_id
  AND edit.relation_id IS DISTINCT FROM edit.stated_as;

ALTER TABLE entities DROP COLUMN merged_into;

DELETE FROM profiles WHERE subject_id IN (SELECT subject_id FROM affected);
DELETE FROM stale_profiles WHERE subject_id IN (SELECT subject_id FROM affected);
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT subject_id, counted.class_id, affected.project_id, affected.subject, sum(mentions) FROM (
    SELECT entity_id AS subject_id, class_id, 'entity' AS subject, count(DISTINCT chunk_id) AS mentions
    FROM document_entity_mentions WHERE entity_id IN (SELECT subject_id FROM affected) GROUP BY 1, 2
    UNION ALL
    SELECT relation_id, class_id, 'relation', count(DISTINCT chunk_id)
    FROM relation_mentions WHERE relation_id IN (SELECT subject_id FROM affected) GROUP BY 1, 2
    UNION ALL
    SELECT entity_id, class_id, 'entity', 0 FROM entity_edits WHERE entity_id IN (SELECT subject_id FROM affected)
    UNION ALL
    SELECT relation_id, class_id, 'relation', 0 FROM relation_edits
    WHERE relation_id IN (SELECT subject_id FROM affected)
    UNION ALL
    SELECT subject_id, 0, subject, 0 FROM affected
) AS counted JOIN affected USING (subject_id)
GROUP BY subject_id, counted.class_id, affected.project_id, affected.subject;

-- Names that hard deletion took out of the middle of a chain: a chain does not lead through them any more.
DELETE FROM stale_profiles WHERE subject_id IN (SELECT entity_id FROM entities WHERE entity_ref LIKE 'gone:%');
DELETE FROM entities WHERE entity_ref LIKE 'gone:%';

-- ── the ids of what is there ─────────────────────────────────────────────────────────────────────────

CREATE TEMPORARY TABLE renamed ON COMMIT DROP AS
SELECT entity_id AS old_id, entity_key(project_id, entity_ref) AS new_id FROM entities;
INSERT INTO renamed
SELECT relation_id, relation_key(relation.project_id, source.new_id, target.new_id, predicate)
FROM relations AS relation
JOIN renamed AS source ON source.old_id = source_id
JOIN renamed AS target ON target.old_id = target_id;
CREATE UNIQUE INDEX renamed_old ON renamed (old_id);
ANALYZE renamed;

DO $$
DECLARE
    foreign_key record;
    place record;
BEGIN
    FOR foreign_key IN
        SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
        WHERE contype = 'f' AND NOT condeferrable AND connamespace = current_schema()::regnamespace
          AND (confrelid IN ('entities'::regclass, 'relations'::regclass)
               OR conrelid = 'long_profiles'::regclass AND confrelid = 'profiles'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER CONSTRAINT %I DEFERRABLE INITIALLY DEFERRED',
                       foreign_key.of_table, foreign_key.conname);
    END LOOP;
    FOR place IN
        SELECT given.table_name, given.column_name FROM (VALUES
            ('entities', 'entity_id'), ('relations', 'relation_id'), ('relations', 'source_id'),
            ('relations', 'target_id'), ('document_entity_mentions', 'entity_id'),
            ('document_entity_mentions', 'named_as'), ('relation_mentions', 'relation_id'),
            ('relation_mentions', 'stated_as'), ('profiles', 'subject_id'), ('stale_profiles', 'subject_id'),
            ('long_profiles', 'subject_id'), ('described_profiles', 'subject_id'), ('entity_links', 'from_ref'),
            ('entity_links', 'to_ref'), ('entity_merges', 'target_id'), ('merged_entities', 'source_id'),
            ('entity_edits', 'named_as'), ('entity_edits', 'entity_id'), ('relation_edits', 'stated_as'),
            ('relation_edits', 'relation_id')) AS given (table_name, column_name)
        UNION ALL
        SELECT tablename, 'subject_id' FROM pg_tables
        WHERE schemaname = current_schema() AND tablename ~ '^(entity|relation)_vectors_[0-9]+$'
    LOOP
        EXECUTE format('UPDATE %I SET %I = renamed.new_id FROM renamed WHERE %2$I = renamed.old_id',
                       place.table_name, place.column_name);
    END LOOP;
    UPDATE conversation_turns SET subject_ids = ARRAY(
        SELECT coalesce(renamed.new_id, told.id)
        FROM unnest(subject_ids) WITH ORDINALITY AS told (id, place) LEFT JOIN renamed ON renamed.old_id = told.id
        ORDER BY told.place)
    WHERE subject_ids <> '{}';
    SET CONSTRAINTS ALL IMMEDIATE;
    FOR foreign_key IN
        SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
        WHERE contype = 'f' AND condeferrable AND connamespace = current_schema()::regnamespace
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER CONSTRAINT %I NOT DEFERRABLE',
                       foreign_key.of_table, foreign_key.conname);
    END LOOP;
END $$;

-- ── what a merge is to one reader ────────────────────────────────────────────────────────────────────

-- The merges that readers of these classes have been told of and whose two sides they know; of no classes: all.
CREATE FUNCTION merges_told(classes integer[])
RETURNS TABLE (merge_id uuid, source_id uuid, target_id uuid, place integer, strategy text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT merge.merge_id, source.source_id, merge.target_id, source.place, merge.strategy
    FROM merged_entities AS source JOIN entity_merges AS merge USING (merge_id)
    WHERE source.undone_at IS NULL
      AND (classes IS NULL
           OR source.source_classes && classes AND merge.target_classes && classes
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = source.source_id AND profiles.class_id = ANY(classes))
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = merge.target_id AND profiles.class_id = ANY(classes)))
$$;

-- Which entity stands for which to these readers; an entity that stands for itself has no row. It is the one that
-- was merged into no other, and of several the one that something was merged into last.
CREATE FUNCTION merged_entities_of(classes integer[]) RETURNS TABLE (entity_id uuid, root_id uuid)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    WITH RECURSIVE edge AS MATERIALIZED (
        SELECT merge_id, source_id, target_id FROM merges_told(classes)
    ), end_of (entity_id) AS (
        SELECT source_id FROM edge UNION SELECT target_id FROM edge
    ), ranked AS MATERIALIZED (
        SELECT end_of.entity_id,
               (SELECT min(edge.merge_id::text) FROM edge WHERE edge.source_id = end_of.entity_id) AS left_at,
               (SELECT max(edge.merge_id::text) FROM edge WHERE edge.target_id = end_of.entity_id) AS joined_at
        FROM end_of
    ), reached (start_id, entity_id) AS (
        SELECT entity_id, entity_id FROM end_of
        UNION
        SELECT reached.start_id,
               CASE reached.entity_id WHEN edge.source_id THEN edge.target_id ELSE edge.source_id END
        FROM reached JOIN edge ON reached.entity_id IN (edge.source_id, edge.target_id)
    ), rooted AS (
        SELECT DISTINCT ON (reached.start_id) reached.start_id, reached.entity_id
        FROM reached JOIN ranked USING (entity_id)
        ORDER BY reached.start_id, ranked.left_at DESC NULLS FIRST, ranked.joined_at DESC NULLS LAST
    )
    SELECT start_id, entity_id FROM rooted WHERE start_id <> entity_id
$$;

-- These entities with all that are one with them to these readers.
CREATE FUNCTION with_merged(entities uuid[], classes integer[]) RETURNS uuid[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH merged AS MATERIALIZED (
        SELECT entity_id, root_id FROM merged_entities_of(classes)
    ), root AS (
        SELECT DISTINCT coalesce(merged.root_id, given.entity_id) AS entity_id
        FROM unnest(entities) AS given (entity_id) LEFT JOIN merged USING (entity_id)
    )
    SELECT ARRAY(SELECT entity_id FROM root
                 UNION ALL
                 SELECT merged.entity_id FROM merged JOIN root ON root.entity_id = merged.root_id)
$$;

-- These relations with all that state the same of the same to these readers.
CREATE FUNCTION with_merged_relations(relations uuid[], classes integer[]) RETURNS uuid[]
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH merged AS MATERIALIZED (
        SELECT entity_id, root_id FROM merged_entities_of(classes)
    ), whole AS MATERIALIZED (
        SELECT entity_id, root_id FROM merged UNION SELECT root_id, root_id FROM merged
    )
    SELECT with_merged_relations.relations || ARRAY(
        SELECT DISTINCT other.relation_id
        FROM relations AS given
        LEFT JOIN whole AS source ON source.entity_id = given.source_id
        LEFT JOIN whole AS target ON target.entity_id = given.target_id
        CROSS JOIN LATERAL (
            SELECT given.source_id AS entity_id
            UNION SELECT whole.entity_id FROM whole WHERE whole.root_id = source.root_id
        ) AS any_source
        CROSS JOIN LATERAL (
            SELECT given.target_id AS entity_id
            UNION SELECT whole.entity_id FROM whole WHERE whole.root_id = target.root_id
        ) AS any_target
        JOIN relations AS other
          ON other.source_id = any_source.entity_id AND other.target_id = any_target.entity_id
         AND other.predicate = given.predicate
        WHERE given.relation_id = ANY(with_merged_relations.relations)
          AND (source.entity_id IS NOT NULL OR target.entity_id IS NOT NULL)
          AND other.relation_id <> ALL(with_merged_relations.relations))
$$;

-- What relations of merged entities relate to these readers; of all other relations it is what they state.
CREATE FUNCTION merged_relations_of(classes integer[])
RETURNS TABLE (relation_id uuid, source_id uuid, target_id uuid, predicate text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    WITH merged AS MATERIALIZED (
        SELECT entity_id, root_id FROM merged_entities_of(classes)
    ), touched AS (
        SELECT relation.* FROM merged JOIN relations AS relation ON relation.source_id = merged.entity_id
        UNION
        SELECT relation.* FROM merged JOIN relations AS relation ON relation.target_id = merged.entity_id
    )
    SELECT touched.relation_id, coalesce(source.root_id, touched.source_id),
           coalesce(target.root_id, touched.target_id), touched.predicate
    FROM touched
    LEFT JOIN merged AS source ON source.entity_id = touched.source_id
    LEFT JOIN merged AS target ON target.entity_id = touched.target_id
    WHERE EXISTS (SELECT FROM profiles
                  WHERE profiles.subject_id = touched.relation_id AND profiles.class_id = ANY(classes))
$$;

-- How many entities and relations these readers see. What merges join counts once, and loops not at all.
CREATE FUNCTION graph_size(classes integer[], OUT entities bigint, OUT relations bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH merged AS MATERIALIZED (
        SELECT * FROM merged_relations_of(classes)
    ), joined AS (
        SELECT DISTINCT source_id, target_id, predicate FROM merged
        WHERE source_id <> target_id
          AND NOT EXISTS (SELECT FROM relations AS other JOIN profiles ON profiles.subject_id = other.relation_id
                          WHERE other.source_id = merged.source_id AND other.target_id = merged.target_id
                            AND other.predicate = merged.predicate AND profiles.class_id = ANY(classes))
    )
    SELECT count(DISTINCT subject_id) FILTER (WHERE subject = 'entity')
               - (SELECT count(*) FROM merged_entities_of(classes)),
           count(DISTINCT subject_id) FILTER (WHERE subject = 'relation')
               - (SELECT count(*) FROM merged) + (SELECT count(*) FROM joined)
    FROM profiles WHERE class_id = ANY(classes)
$$;
