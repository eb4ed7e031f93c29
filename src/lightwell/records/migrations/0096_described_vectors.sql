-- Documents of which something changed that an index of vectors keeps beside their passages, such as the URL, while the passages stayed.
CREATE TABLE index_descriptions (
    document_id uuid PRIMARY KEY REFERENCES source_documents ON DELETE CASCADE,
    project_id  uuid NOT NULL,
    change_id   bigint NOT NULL GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX index_descriptions_project ON index_descriptions (project_id, change_id);
