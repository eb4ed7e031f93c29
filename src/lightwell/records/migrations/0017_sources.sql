-- How many sources a profile lists, and which ones when there are more (S0.9). One value for the project, so that all
-- workers derive the same profiles; an ingestion writes its settings here.
ALTER TABLE projects
    ADD COLUMN max_source_ids integer NOT NULL DEFAULT 50 CHECK (max_source_ids BETWEEN 1 AND 1000),
    ADD COLUMN source_id_strategy text NOT NULL DEFAULT 'FIFO' CHECK (source_id_strategy IN ('FIFO', 'KEEP'));
-- The passages that a person names as the sources of a description (S1.7); null where the person names none.
ALTER TABLE entity_edits ADD COLUMN source_ids uuid[];
