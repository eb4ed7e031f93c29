-- What one class says of a comparison, derived like its description; the next refresh fills it in.
ALTER TABLE profiles ADD COLUMN comparison text NOT NULL DEFAULT '';
ALTER TABLE profiles ADD COLUMN use_case text NOT NULL DEFAULT '';

INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT profile.subject_id, profile.class_id, relation.project_id, 'relation', 0
FROM profiles AS profile JOIN relations AS relation ON relation.relation_id = profile.subject_id
WHERE relation.predicate = 'COMPARED_TO'
ORDER BY profile.subject_id, profile.class_id
ON CONFLICT (subject_id, class_id) DO NOTHING;
