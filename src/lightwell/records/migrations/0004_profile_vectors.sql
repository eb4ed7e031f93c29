-- Profiles by meaning. A profile that says something has a vector in an index; the table of each embedding space is
-- made when the space is, like that of the chunks.

-- Which profiles have a vector or want one. `changed`: the vector, if there is one, is not of what the profile says
-- now; no read shows it. `text_hash`: of what the vector was made of. Whoever embeds takes rows for a while.
-- Without a foreign key to profiles: of one that went, the index has still to follow.
CREATE TABLE described_profiles (
    subject_id  uuid NOT NULL,
    class_id    integer NOT NULL,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    changed     boolean NOT NULL DEFAULT true,
    text_hash   bytea,
    taken_until timestamptz,
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX described_profiles_changed ON described_profiles (project_id, subject_id, class_id) WHERE changed;

INSERT INTO described_profiles (subject_id, class_id, project_id)
SELECT profile.subject_id, profile.class_id, coalesce(entity.project_id, relation.project_id)
FROM profiles AS profile
LEFT JOIN entities AS entity ON entity.entity_id = profile.subject_id
LEFT JOIN relations AS relation ON relation.relation_id = profile.subject_id
WHERE profile.description <> '' AND coalesce(entity.project_id, relation.project_id) IS NOT NULL;
