-- The passages that a person names as the sources of a description (S1.7); null where the person names none.
ALTER TABLE entity_edits ADD COLUMN source_ids uuid[];
