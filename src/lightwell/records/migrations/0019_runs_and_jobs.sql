-- Which documents a run changed. A reader's counts of a run are those of the documents that the reader sees now, so
-- they follow a document that changes its access tags, and a hard deletion takes them away.
ALTER TABLE ingestion_runs ADD COLUMN scope text NOT NULL DEFAULT '';
CREATE INDEX ingestion_runs_project ON ingestion_runs (project_id, run_id);

CREATE TABLE ingestion_run_documents (
    run_id      uuid NOT NULL REFERENCES ingestion_runs ON DELETE CASCADE,
    document_id uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    change      text NOT NULL CHECK (change IN ('inserted', 'updated', 'deleted')),
    PRIMARY KEY (document_id, run_id)
);
CREATE INDEX ingestion_run_documents_run ON ingestion_run_documents (run_id);

-- A document's jobs, the latest first.
CREATE INDEX ingestion_jobs_history ON ingestion_jobs (document_id, id);
