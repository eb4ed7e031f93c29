-- A person splits an entity: what some documents or passages say of it is said of another entity, its part.
-- See docs/decisions/0007-a-split-moves-mentions.md.

CREATE TABLE entity_splits (
    split_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    part_id    uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    name       text NOT NULL CHECK (name <> ''),
    made_by    text[] NOT NULL,
    made_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX entity_splits_part ON entity_splits (part_id);

-- Which mentions move: those that name `source_id` in this document while it has this access class. `chunk_hash`
-- restricts that to the passage with this text; null: the whole document.
CREATE TABLE split_passages (
    split_id    uuid NOT NULL REFERENCES entity_splits ON DELETE CASCADE,
    source_id   uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    document_id uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    class_id    integer NOT NULL,
    chunk_hash  bytea,
    undone_by   text[],
    undone_at   timestamptz,
    UNIQUE NULLS NOT DISTINCT (split_id, source_id, document_id, chunk_hash)
);
CREATE INDEX split_passages_source ON split_passages (source_id);
CREATE INDEX split_passages_document ON split_passages (document_id);

-- The name that a person gave the part to which this mention was moved; null: the mention stands where its text puts it.
ALTER TABLE document_entity_mentions ADD COLUMN part_name text;
