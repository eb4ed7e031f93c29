-- The fields of concepts in profiles, and their aliases in the form in which names are compared: an alias finds its entity.
ALTER TABLE document_entity_mentions ADD COLUMN alias_names text[];
ALTER TABLE entity_edits ADD COLUMN attributes jsonb NOT NULL DEFAULT '{}';
ALTER TABLE entity_edits ADD COLUMN alias_names text[];
ALTER TABLE profiles ADD COLUMN alias_names text[];
-- When the last statement of the class came; `created_at` is when the first one did.
ALTER TABLE profiles ADD COLUMN stated_at timestamptz NOT NULL DEFAULT now();
UPDATE profiles SET created_at = coalesce(created_at, updated_at), stated_at = updated_at;
CREATE INDEX profiles_alias_names ON profiles USING gin (alias_names) WHERE alias_names IS NOT NULL;

-- Nearly what the program does with a name; texts that are extracted again get exactly that.
UPDATE document_entity_mentions SET alias_names = regexp_split_to_array(
    lower(btrim(regexp_replace(attributes ->> 'aliases', '[[:space:]_-]+', ' ', 'g'))), ' ?[,;] ?')
WHERE attributes ->> 'aliases' <> '';

INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT DISTINCT profile.subject_id, profile.class_id, entity.project_id, 'entity', 0
FROM profiles AS profile JOIN entities AS entity ON entity.entity_id = profile.subject_id
JOIN document_entity_mentions AS mention
  ON mention.entity_id = profile.subject_id AND mention.class_id = profile.class_id
WHERE mention.attributes ?| ARRAY['aliases', 'category', 'difficulty', 'tags']
ORDER BY 1, 2
ON CONFLICT (subject_id, class_id) DO NOTHING;
