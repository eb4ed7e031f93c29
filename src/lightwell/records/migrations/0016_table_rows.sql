-- The rows of the tables in documents, for computing over them: made of the published text alone when a document comes in, like the text read
-- by who may see the chunk in which a row begins. Row 0 of a table names its columns; its `units` are the kinds of columns.
CREATE TABLE table_rows (
    chunk_id     uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    start_offset integer NOT NULL,           -- characters of the document's text
    end_offset   integer NOT NULL,
    document_id  uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    table_number integer NOT NULL,           -- from 1 in the document
    row_number   integer NOT NULL,           -- from 1 in the table
    cells        text[] NOT NULL,
    keys         text[] NOT NULL,            -- one for each cell, '' for a long one
    words        text[],                     -- of row 0: by what words a question may mean the table or its columns
    amounts      numeric[] NOT NULL,         -- one for each cell, NULL where it is none; a day is 20261127
    units        text[] NOT NULL,
    is_total     boolean NOT NULL,           -- adds up others
    PRIMARY KEY (chunk_id, start_offset)
);
CREATE INDEX table_rows_table ON table_rows (document_id, table_number, row_number);
CREATE INDEX table_rows_words ON table_rows USING gin (words) WHERE row_number = 0;

-- Documents whose tables older rules have read, or none, are read again by workers.
ALTER TABLE source_documents ADD COLUMN tables_version integer NOT NULL DEFAULT 0;
CREATE INDEX source_documents_tables ON source_documents (project_id, tables_version);
