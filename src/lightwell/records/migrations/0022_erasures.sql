-- A hard deletion outlives the process that was asked for it: whoever comes next carries it out.
ALTER TABLE source_documents ADD COLUMN erase_requested boolean NOT NULL DEFAULT false;
CREATE INDEX source_documents_to_erase ON source_documents (project_id) WHERE erase_requested;
