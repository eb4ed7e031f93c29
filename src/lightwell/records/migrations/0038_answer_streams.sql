-- Streams of answers, kept for some minutes so that a client that lost its connection can read the rest.
-- They hold text of documents: a stream is gone when a chunk that its reader sees is deleted, replaced or moved to another access class.

CREATE UNLOGGED TABLE answer_streams (
    stream_id  uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    owner      text NOT NULL,
    classes    integer[] NOT NULL,
    state      text NOT NULL DEFAULT 'open',
    created_at timestamptz NOT NULL DEFAULT now(),
    touched_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX answer_streams_created ON answer_streams (created_at);
CREATE INDEX answer_streams_project ON answer_streams (project_id);

CREATE UNLOGGED TABLE answer_stream_events (
    stream_id uuid NOT NULL REFERENCES answer_streams ON DELETE CASCADE,
    number    integer NOT NULL,
    kind      text NOT NULL,
    data      text NOT NULL,
    PRIMARY KEY (stream_id, number)
);
ALTER TABLE answer_stream_events ALTER COLUMN data SET STATISTICS 0;

CREATE FUNCTION forget_answer_streams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM answer_streams) THEN
        DELETE FROM answer_streams
        WHERE classes && ARRAY(SELECT DISTINCT class_id FROM withdrawn WHERE class_id <> 0);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION forget_moved_answer_streams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM answer_streams) THEN
        DELETE FROM answer_streams
        WHERE classes && ARRAY(
            SELECT DISTINCT withdrawn.class_id FROM withdrawn JOIN changed USING (chunk_id)
            WHERE withdrawn.class_id NOT IN (0, changed.class_id)
        );
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER forget_answer_streams AFTER DELETE ON document_chunks
    REFERENCING OLD TABLE AS withdrawn FOR EACH STATEMENT EXECUTE FUNCTION forget_answer_streams();
CREATE TRIGGER forget_moved_answer_streams AFTER UPDATE ON document_chunks
    REFERENCING OLD TABLE AS withdrawn NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION forget_moved_answer_streams();
