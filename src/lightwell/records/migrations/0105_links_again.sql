-- Links are proposed by other keys and other companies than before: all entities of business systems are proposed for again,
-- and what no longer holds is withdrawn.
INSERT INTO link_subjects (entity_id, class_id, project_id)
SELECT profile.subject_id, profile.class_id, entity.project_id
FROM profiles AS profile JOIN entities AS entity ON entity.entity_id = profile.subject_id
WHERE profile.subject = 'entity' AND entity.entity_ref NOT LIKE 'kg:%'
ON CONFLICT (entity_id, class_id) DO NOTHING;
