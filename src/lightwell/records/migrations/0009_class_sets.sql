-- What a reader sees is a set of access classes, which each query filters by: `sees(classes, class_id)`. A set of few is an integer[],
-- which indexes are searched by; one of many is a bit for each class in a bytea, which costs the same for each row however many there
-- are. Both are put into the query that calls them.
CREATE FUNCTION sees(classes integer[], class_id integer) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT class_id = ANY(classes)
$$;
CREATE FUNCTION sees(classes bytea, class_id integer) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN class_id < 8 * octet_length(classes) THEN get_bit(classes, class_id) = 1 ELSE false END
$$;

-- Whether one of these classes is in the set.
CREATE FUNCTION sees_any(classes integer[], class_ids integer[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT class_ids && classes
$$;
CREATE FUNCTION sees_any(classes bytea, class_ids integer[]) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    class_id integer;
BEGIN
    FOREACH class_id IN ARRAY class_ids LOOP
        IF sees(classes, class_id) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- The classes of the set, ascending.
CREATE FUNCTION class_ids(classes integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT classes
$$;
CREATE FUNCTION class_ids(classes bytea) RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY(SELECT class_id FROM generate_series(0, 8 * octet_length(classes) - 1) AS class_id
                 WHERE sees(classes, class_id) ORDER BY class_id)
$$;

-- The functions of 0001 that took an integer[] take a set of either form.
DROP FUNCTION merges_told, merged_entities_of, with_merged, with_merged_relations, merged_relations_of, graph_size, confirmed_links, with_same;

-- The transaction that made a class: a process that knows the classes of a snapshot asks only for those that were made since, or were
-- being made then.
ALTER TABLE access_classes ADD COLUMN made_by xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX access_classes_made ON access_classes (project_id, made_by);

-- A term's counts lie together, so that those of many classes are summed in one range of the index, which has them.
ALTER TABLE term_counts DROP CONSTRAINT term_counts_pkey, ADD PRIMARY KEY (term, class_id) INCLUDE (chunks);

-- How often an entity is mentioned is summed over the classes without reading their profiles.
ALTER TABLE profiles DROP CONSTRAINT profiles_pkey CASCADE, ADD PRIMARY KEY (subject_id, class_id) INCLUDE (mention_count);
ALTER TABLE long_profiles ADD FOREIGN KEY (subject_id, class_id) REFERENCES profiles ON DELETE CASCADE;
ALTER TABLE entity_keys ADD FOREIGN KEY (entity_id, class_id) REFERENCES profiles (subject_id, class_id) ON DELETE CASCADE;

-- The merges that readers of these classes have been told of and whose two sides they know; of no classes: all.
-- OFFSET 0 keeps the planner from reading all profiles of these classes for a few merges.
CREATE FUNCTION merges_told(classes anyelement)
RETURNS TABLE (merge_id uuid, source_id uuid, target_id uuid, place integer, strategy text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT merge.merge_id, source.source_id, merge.target_id, source.place, merge.strategy
    FROM merged_entities AS source JOIN entity_merges AS merge USING (merge_id)
    WHERE source.undone_at IS NULL
      AND (classes IS NULL
           OR sees_any(classes, source.source_classes) AND sees_any(classes, merge.target_classes)
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = source.source_id AND sees(classes, profiles.class_id) OFFSET 0)
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = merge.target_id AND sees(classes, profiles.class_id) OFFSET 0))
$$;

-- Which entity stands for which to these readers; an entity that stands for itself has no row. It is the one
-- that was merged into no other, and of several the one that something was merged into last.
CREATE FUNCTION merged_entities_of(classes anyelement) RETURNS TABLE (entity_id uuid, root_id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10 AS $$
#variable_conflict use_column
DECLARE
    merges text[];
    sources uuid[];
    targets uuid[];
    ends uuid[];
    source_places integer[];
    target_places integer[];
    labels integer[];
    lower_labels integer[];
BEGIN
    IF classes IS NOT NULL
       AND NOT EXISTS (SELECT FROM merged_entities WHERE undone_at IS NULL AND sees_any(classes, source_classes)) THEN
        RETURN;
    END IF;
    SELECT array_agg(told.merge_id::text), array_agg(told.source_id), array_agg(told.target_id)
    INTO merges, sources, targets FROM merges_told(classes) AS told;
    IF merges IS NULL THEN
        RETURN;
    END IF;
    -- Mostly each was merged once, and into what was merged into nothing.
    IF NOT EXISTS (SELECT FROM unnest(sources) AS id GROUP BY id HAVING count(*) > 1)
       AND NOT EXISTS (SELECT unnest(sources) INTERSECT SELECT unnest(targets)) THEN
        RETURN QUERY SELECT unnest(sources), unnest(targets);
        RETURN;
    END IF;
    ends := ARRAY(SELECT unnest(sources) UNION SELECT unnest(targets));
    WITH place AS MATERIALIZED (
        SELECT id, number::integer FROM unnest(ends) WITH ORDINALITY AS given (id, number)
    )
    SELECT array_agg(source.number), array_agg(target.number), ARRAY(SELECT number FROM place ORDER BY number)
    INTO source_places, target_places, labels
    FROM unnest(sources, targets) AS edge (source_id, target_id)
    JOIN place AS source ON source.id = edge.source_id JOIN place AS target ON target.id = edge.target_id;
    -- What is connected gets one label: each takes the lowest beside it, and then that one's, until none is lower.
    LOOP
        SELECT array_agg(labels[lowest.label] ORDER BY lowest.number) INTO lower_labels
        FROM (
            SELECT beside.number, min(beside.label) AS label
            FROM (
                SELECT own.number, own.label FROM unnest(labels) WITH ORDINALITY AS own (label, number)
                UNION ALL
                SELECT edge.source, labels[edge.target] FROM unnest(source_places, target_places) AS edge (source, target)
                UNION ALL
                SELECT edge.target, labels[edge.source] FROM unnest(source_places, target_places) AS edge (source, target)
            ) AS beside
            GROUP BY beside.number
        ) AS lowest;
        EXIT WHEN lower_labels = labels;
        labels := lower_labels;
    END LOOP;
    RETURN QUERY
    WITH left_at AS (
        SELECT id, min(merge) AS at FROM unnest(merges, sources) AS edge (merge, id) GROUP BY id
    ), joined_at AS (
        SELECT id, max(merge) AS at FROM unnest(merges, targets) AS edge (merge, id) GROUP BY id
    ), ranked AS (
        SELECT id, first_value(id) OVER (PARTITION BY label
                                         ORDER BY left_at.at DESC NULLS FIRST, joined_at.at DESC NULLS LAST, id) AS root
        FROM unnest(ends, labels) AS given (id, label) LEFT JOIN left_at USING (id) LEFT JOIN joined_at USING (id)
    )
    SELECT ranked.id, ranked.root FROM ranked WHERE ranked.id <> ranked.root;
END $$;

-- These entities with all that are one with them to these readers.
CREATE FUNCTION with_merged(entities uuid[], classes anyelement) RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
#variable_conflict use_column
DECLARE
    merged uuid[];
    roots uuid[];
BEGIN
    SELECT array_agg(entity_id), array_agg(root_id) INTO merged, roots FROM merged_entities_of(classes);
    IF merged IS NULL THEN
        RETURN entities;
    END IF;
    RETURN (
        WITH one AS MATERIALIZED (
            SELECT entity_id, root_id FROM unnest(merged, roots) AS given (entity_id, root_id)
        ), root AS (
            SELECT DISTINCT coalesce(one.root_id, given.entity_id) AS entity_id
            FROM unnest(entities) AS given (entity_id) LEFT JOIN one USING (entity_id)
        )
        SELECT ARRAY(SELECT entity_id FROM root
                     UNION ALL
                     SELECT one.entity_id FROM one JOIN root ON root.entity_id = one.root_id)
    );
END $$;

-- These relations with all that state the same of the same to these readers.
CREATE FUNCTION with_merged_relations(relations uuid[], classes anyelement) RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
#variable_conflict use_column
DECLARE
    merged uuid[];
    roots uuid[];
BEGIN
    SELECT array_agg(entity_id), array_agg(root_id) INTO merged, roots FROM merged_entities_of(classes);
    IF merged IS NULL THEN
        RETURN with_merged_relations.relations;
    END IF;
    RETURN with_merged_relations.relations || ARRAY(
        WITH whole AS MATERIALIZED (
            SELECT entity_id, root_id FROM unnest(merged, roots) AS given (entity_id, root_id)
            UNION SELECT root_id, root_id FROM unnest(roots) AS given (root_id)
        )
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
          AND other.relation_id <> ALL(with_merged_relations.relations)
    );
END $$;

-- What relations of merged entities relate to these readers; of all other relations it is what they state.
CREATE FUNCTION merged_relations_of(classes anyelement)
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
                  WHERE profiles.subject_id = touched.relation_id AND sees(classes, profiles.class_id))
$$;

-- How many entities and relations these readers see. What merges join counts once, and loops not at all.
CREATE FUNCTION graph_size(classes anyelement, OUT entities bigint, OUT relations bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH merged AS MATERIALIZED (
        SELECT * FROM merged_relations_of(classes)
    ), joined AS (
        SELECT DISTINCT source_id, target_id, predicate FROM merged
        WHERE source_id <> target_id
          AND NOT EXISTS (SELECT FROM relations AS other JOIN profiles ON profiles.subject_id = other.relation_id
                          WHERE other.source_id = merged.source_id AND other.target_id = merged.target_id
                            AND other.predicate = merged.predicate AND sees(classes, profiles.class_id))
    )
    SELECT count(DISTINCT subject_id) FILTER (WHERE subject = 'entity')
               - (SELECT count(*) FROM merged_entities_of(classes)),
           count(DISTINCT subject_id) FILTER (WHERE subject = 'relation')
               - (SELECT count(*) FROM merged) + (SELECT count(*) FROM joined)
    FROM profiles WHERE sees(classes, class_id)
$$;

-- The confirmed links of these entities for readers of these classes. Of what people decided of a pair, the
-- latest that the reader sees counts, and it overrides what documents state. Whoever follows a link checks that
-- its far end is visible.
CREATE FUNCTION confirmed_links(entities uuid[], classes anyelement)
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
        WHERE sees(classes, class_id) AND sees(classes, coalesce(to_class_id, class_id))
          AND status <> 'proposed' AND (expires_at IS NULL OR expires_at > now())
        ORDER BY near_id, far_id, is_source OR link_type IN ('same_as', 'related_to'), link_type,
                 decided_at DESC NULLS LAST, confidence DESC
    ) AS latest
    WHERE status = 'confirmed'
$$;

-- These entities with all that are one with them to these readers, by merges and by confirmed links `same_as`:
-- at most four links away.
CREATE FUNCTION with_same(entities uuid[], classes anyelement) RETURNS uuid[]
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
