-- Nothing wrote it: an entity whose last mention is gone has no row any more.
ALTER TABLE entities DROP COLUMN is_deleted;
