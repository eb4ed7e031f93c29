-- What the extraction of a job's document has cost so far, and how many of its relations had a predicate outside the list.
ALTER TABLE ingestion_jobs ADD COLUMN model_calls integer NOT NULL DEFAULT 0;
ALTER TABLE ingestion_jobs ADD COLUMN input_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE ingestion_jobs ADD COLUMN output_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE ingestion_jobs ADD COLUMN unknown_predicates integer NOT NULL DEFAULT 0;
