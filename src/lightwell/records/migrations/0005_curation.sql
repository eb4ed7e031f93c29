-- Which replies a merge's summary is made of; they are kept as long as the summary is.
ALTER TABLE merge_summaries ADD COLUMN reply_ids uuid[] NOT NULL DEFAULT '{}';
CREATE INDEX merge_summaries_replies ON merge_summaries USING gin (reply_ids);
