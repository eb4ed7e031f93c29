-- Which replies a merge's summary is made of; they are kept as long as the summary is.
ALTER TABLE merge_summaries ADD COLUMN reply_ids uuid[] NOT NULL DEFAULT '{}';
CREATE INDEX merge_summaries_replies ON merge_summaries USING gin (reply_ids);

-- What is deleted by hand, for hard deletion to look through.
CREATE INDEX entities_hidden ON entities (project_id) WHERE hidden_for IS NOT NULL;
CREATE INDEX relations_hidden ON relations (project_id) WHERE hidden_for IS NOT NULL;
