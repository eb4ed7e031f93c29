-- Passages that somebody handed in, instead of those of the document's source.
ALTER TABLE document_chunks ADD COLUMN is_supplied boolean NOT NULL DEFAULT false;
