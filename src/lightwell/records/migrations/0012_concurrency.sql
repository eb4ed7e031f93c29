-- What two transactions may do at once.

-- A refresh takes what is stale in its own project only.
ALTER TABLE stale_profiles ADD COLUMN project_id uuid REFERENCES projects ON DELETE CASCADE;
UPDATE stale_profiles AS stale SET project_id = coalesce(
    (SELECT project_id FROM access_classes AS class WHERE class.class_id = stale.class_id),
    (SELECT project_id FROM entities WHERE entity_id = stale.subject_id),
    (SELECT project_id FROM relations WHERE relation_id = stale.subject_id));
DELETE FROM stale_profiles WHERE project_id IS NULL;
ALTER TABLE stale_profiles ALTER COLUMN project_id SET NOT NULL;
CREATE INDEX stale_profiles_project ON stale_profiles (project_id, subject_id, class_id);

-- Which change of a chunk an index has still to follow: a later one is not done by carrying out an earlier one.
ALTER TABLE index_changes ADD COLUMN change_id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
