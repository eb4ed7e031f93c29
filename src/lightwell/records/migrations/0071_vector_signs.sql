-- Beside each table of chunk vectors one of their signs: what a reader sees of a large space is compared by these first.

DO $$
DECLARE
    space record;
BEGIN
    FOR space IN
        SELECT relname AS vectors, relname || '_signs' AS signs, relname || '_signs_class' AS class_index, atttypmod AS dimension
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'embedding'
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname ~ '^chunk_vectors_[0-9]+$'
    LOOP
        EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', space.vectors);
        EXECUTE format(
            'CREATE TABLE %I (chunk_id uuid NOT NULL, class_id integer NOT NULL, signs bit(%s) STORAGE PLAIN NOT NULL)',
            space.signs, space.dimension);
        EXECUTE format(
            'INSERT INTO %I (chunk_id, class_id, signs) SELECT chunk_id, class_id, binary_quantize(embedding) FROM %I',
            space.signs, space.vectors);
        EXECUTE format(
            'ALTER TABLE %I ADD PRIMARY KEY (chunk_id), ADD FOREIGN KEY (chunk_id) REFERENCES document_chunks ON DELETE CASCADE',
            space.signs);
        EXECUTE format('CREATE INDEX %I ON %I (class_id)', space.class_index, space.signs);
    END LOOP;
END
$$;
