-- A graph store other than PostgreSQL holds a copy of each project's graph. What the copy must still apply is recorded
-- here, by the transaction that changes a mention. Without such a store these tables stay empty.

-- The copy of one project. All of it carries `graph_id`, which a rebuild replaces. `fence` grows with each batch that is
-- written: a writer that was overtaken is refused by the store. Reads use the copy once it is filled.
CREATE TABLE graph_copies (
    project_id uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    store      text NOT NULL CHECK (store IN ('neo4j', 'age')),
    graph_id   uuid NOT NULL,
    fence      bigint NOT NULL DEFAULT 0,
    is_filled  boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Chunks whose mentions changed. An applied change is kept for some minutes: a question that was asked before it was
-- applied may have read the older state, and leaves the chunk out.
CREATE TABLE graph_changes (
    chunk_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL,
    change_id  bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    changed_at timestamptz NOT NULL DEFAULT now(),
    applied_at timestamptz
);
CREATE INDEX graph_changes_open ON graph_changes (project_id, change_id) WHERE applied_at IS NULL;
CREATE INDEX graph_changes_applied ON graph_changes (project_id, applied_at) WHERE applied_at IS NOT NULL;

-- Copies of deleted projects and of earlier rebuilds, which their store must still delete.
CREATE TABLE dropped_graphs (
    graph_id uuid PRIMARY KEY,
    store    text NOT NULL
);

CREATE FUNCTION drop_graph_copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dropped_graphs (graph_id, store) VALUES (OLD.graph_id, OLD.store);
    DELETE FROM graph_changes WHERE project_id = OLD.project_id;
    RETURN NULL;
END $$;
CREATE TRIGGER drop_graph_copy AFTER DELETE ON graph_copies FOR EACH ROW EXECUTE FUNCTION drop_graph_copy();

CREATE FUNCTION record_graph_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        INSERT INTO graph_changes (chunk_id, project_id)
        SELECT DISTINCT chunk_id, project_id
        FROM changed JOIN access_classes USING (class_id) JOIN graph_copies USING (project_id)
        ORDER BY chunk_id
        ON CONFLICT (chunk_id) DO UPDATE
        SET change_id = DEFAULT,
            changed_at = CASE WHEN graph_changes.applied_at IS NULL THEN graph_changes.changed_at ELSE now() END,
            applied_at = NULL;
    END IF;
    RETURN NULL;
END $$;

DO $$
DECLARE
    mentions text;
BEGIN
    FOREACH mentions IN ARRAY ARRAY['document_entity_mentions', 'relation_mentions'] LOOP
        EXECUTE format('CREATE TRIGGER graph_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
                        FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes()', mentions);
        EXECUTE format('CREATE TRIGGER graph_update AFTER UPDATE ON %I REFERENCING NEW TABLE AS changed
                        FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes()', mentions);
        EXECUTE format('CREATE TRIGGER graph_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
                        FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes()', mentions);
    END LOOP;
END $$;
