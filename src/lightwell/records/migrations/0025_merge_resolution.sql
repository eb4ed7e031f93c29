-- A reader's merges cost what their number asks for: next to nothing without merges, and linear in them with.
-- The rules are those of 0013; docs/decisions/0006-merges-apply-per-reader.md says why.
--
-- The functions are PL/pgSQL because the planner puts an SQL function into the query that calls it: these recursions
-- were then planned with every query, and that cost a question more than to answer it.

-- A reader who shares a class with no merge looks at none.
CREATE INDEX merged_entities_classes ON merged_entities USING gin (source_classes) WHERE undone_at IS NULL;

-- The merges that readers of these classes have been told of and whose two sides they know; of no classes: all.
-- OFFSET 0 keeps the planner from reading all profiles of these classes for a few merges.
CREATE OR REPLACE FUNCTION merges_told(classes integer[])
RETURNS TABLE (merge_id uuid, source_id uuid, target_id uuid, place integer, strategy text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT merge.merge_id, source.source_id, merge.target_id, source.place, merge.strategy
    FROM merged_entities AS source JOIN entity_merges AS merge USING (merge_id)
    WHERE source.undone_at IS NULL
      AND (classes IS NULL
           OR source.source_classes && classes AND merge.target_classes && classes
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = source.source_id AND profiles.class_id = ANY(classes) OFFSET 0)
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = merge.target_id AND profiles.class_id = ANY(classes) OFFSET 0))
$$;

-- Which entity stands for which to these readers; an entity that stands for itself has no row. It is the one that
-- was merged into no other, and of several the one that something was merged into last.
CREATE OR REPLACE FUNCTION merged_entities_of(classes integer[]) RETURNS TABLE (entity_id uuid, root_id uuid)
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
       AND NOT EXISTS (SELECT FROM merged_entities WHERE undone_at IS NULL AND source_classes && classes) THEN
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
CREATE OR REPLACE FUNCTION with_merged(entities uuid[], classes integer[]) RETURNS uuid[]
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
CREATE OR REPLACE FUNCTION with_merged_relations(relations uuid[], classes integer[]) RETURNS uuid[]
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
