-- Less on the disk.

-- New rows wait in a list before they are sorted into an index of this kind, and searches read all of it. The pages of a list of 4 MB, the
-- default, stay in the index when it is emptied: they made indexes of small stores three to six times as large. A short list is emptied
-- often, and then writes most of the pages of the index.
ALTER INDEX chunk_terms_terms SET (gin_pending_list_limit = 1024);
ALTER INDEX entities_near SET (gin_pending_list_limit = 256);
ALTER INDEX entity_names_similar SET (gin_pending_list_limit = 256);
ALTER INDEX profiles_sources SET (gin_pending_list_limit = 256);
REINDEX INDEX chunk_terms_terms;
REINDEX INDEX entities_near;
REINDEX INDEX entity_names_similar;

-- A profile names its sources; their URLs are read with it. The last line writes the table anew, without what goes.
ALTER TABLE profiles DROP COLUMN primary_url;
ALTER TABLE profiles DROP COLUMN source_paths;
ALTER TABLE profiles ALTER COLUMN mention_count TYPE integer USING mention_count + 0;

-- What is stale is taken by project: its key serves that, too.
DROP INDEX stale_profiles_project;
ALTER TABLE stale_profiles DROP CONSTRAINT stale_profiles_pkey, ADD PRIMARY KEY (project_id, subject_id, class_id);

-- Texts are uploaded, too; where there is nothing to compress, PostgreSQL soon notices.
ALTER TABLE original_parts ALTER COLUMN content SET STORAGE EXTENDED;
