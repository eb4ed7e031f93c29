-- Whether `updated_at` is a date that the document or its system states. That of a file that states none is the file's own time,
-- which says nothing of what is in it. Files that are here already are dated when they are read again.
ALTER TABLE source_documents ADD COLUMN is_dated boolean NOT NULL DEFAULT false;
UPDATE source_documents SET is_dated = true WHERE source_system <> 'file';
