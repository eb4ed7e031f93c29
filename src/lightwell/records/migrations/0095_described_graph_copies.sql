-- A copy of the graph holds all published chunks and their documents, and what each access class says of entities and
-- relations. A copy of an earlier version is written anew.

ALTER TABLE graph_copies ADD COLUMN version integer NOT NULL DEFAULT 1;

-- When a class first said something of the subject; not known of profiles from before.
ALTER TABLE profiles ADD COLUMN IF NOT EXISTS created_at timestamptz;
ALTER TABLE profiles ALTER COLUMN created_at SET DEFAULT now();

-- Documents (with class 0) and profiles that changed. No question reads them in the copy, so what is applied is forgotten.
CREATE TABLE graph_description_changes (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    subject    text NOT NULL CHECK (subject IN ('document', 'entity', 'relation')),
    project_id uuid NOT NULL,
    change_id  bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX graph_description_changes_open ON graph_description_changes (project_id, change_id);

CREATE OR REPLACE FUNCTION drop_graph_copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dropped_graphs (graph_id, store) VALUES (OLD.graph_id, OLD.store);
    DELETE FROM graph_changes WHERE project_id = OLD.project_id;
    DELETE FROM graph_description_changes WHERE project_id = OLD.project_id;
    RETURN NULL;
END $$;

-- What a document mentions is counted over its chunks, so with a chunk its document changes, too.
CREATE FUNCTION record_chunk_changes(chunks uuid[], documents uuid[], classes integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO graph_changes (chunk_id, project_id)
    SELECT DISTINCT chunk_id, project_id
    FROM unnest(chunks, classes) AS changed (chunk_id, class_id)
    JOIN access_classes USING (class_id) JOIN graph_copies USING (project_id)
    ORDER BY chunk_id
    ON CONFLICT (chunk_id) DO UPDATE
    SET change_id = DEFAULT,
        changed_at = CASE WHEN graph_changes.applied_at IS NULL THEN graph_changes.changed_at ELSE now() END,
        applied_at = NULL;
    INSERT INTO graph_description_changes (subject_id, class_id, subject, project_id)
    SELECT DISTINCT document_id, 0, 'document', project_id
    FROM unnest(documents, classes) AS changed (document_id, class_id)
    JOIN access_classes USING (class_id) JOIN graph_copies USING (project_id)
    WHERE document_id IS NOT NULL
    ORDER BY document_id
    ON CONFLICT (subject_id, class_id) DO UPDATE SET change_id = DEFAULT;
END $$;

-- A mention without its chunk went with it.
CREATE OR REPLACE FUNCTION record_graph_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        PERFORM record_chunk_changes(array_agg(chunk_id), array_agg(chunk.document_id), array_agg(changed.class_id))
        FROM changed LEFT JOIN document_chunks AS chunk USING (chunk_id);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION record_moved_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        PERFORM record_chunk_changes(array_agg(chunk_id), array_agg(changed.document_id), array_agg(changed.class_id))
        FROM changed JOIN earlier USING (chunk_id) WHERE changed.class_id <> earlier.class_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_update AFTER UPDATE ON document_chunks REFERENCING OLD TABLE AS earlier NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_moved_chunks();

CREATE FUNCTION record_deleted_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        PERFORM record_chunk_changes(array_agg(chunk_id), array_agg(document_id), array_agg(class_id)) FROM deleted;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_delete AFTER DELETE ON document_chunks REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION record_deleted_chunks();

CREATE FUNCTION record_document_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        INSERT INTO graph_description_changes (subject_id, class_id, subject, project_id)
        SELECT document_id, 0, 'document', changed.project_id
        FROM changed JOIN earlier USING (document_id) JOIN graph_copies ON graph_copies.project_id = changed.project_id
        WHERE changed.ingested_at IS NOT NULL
          AND (changed.class_id, changed.source_url, changed.title, changed.format, changed.author, changed.ingested_at,
               changed.chunk_count, changed.status, changed.is_deleted)
              IS DISTINCT FROM
              (earlier.class_id, earlier.source_url, earlier.title, earlier.format, earlier.author, earlier.ingested_at,
               earlier.chunk_count, earlier.status, earlier.is_deleted)
        ORDER BY document_id
        ON CONFLICT (subject_id, class_id) DO UPDATE SET change_id = DEFAULT;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_update AFTER UPDATE ON source_documents REFERENCING OLD TABLE AS earlier NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_document_changes();

CREATE FUNCTION record_profile_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        INSERT INTO graph_description_changes (subject_id, class_id, subject, project_id)
        SELECT subject_id, class_id, subject, project_id
        FROM changed JOIN access_classes USING (class_id) JOIN graph_copies USING (project_id)
        ORDER BY subject_id, class_id
        ON CONFLICT (subject_id, class_id) DO UPDATE SET change_id = DEFAULT;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_insert AFTER INSERT ON profiles REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_profile_changes();
CREATE TRIGGER graph_update AFTER UPDATE ON profiles REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_profile_changes();
CREATE TRIGGER graph_delete AFTER DELETE ON profiles REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_profile_changes();
