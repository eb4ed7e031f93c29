-- A person has confirmed that the next sweep may remove many items at once; the sweep takes it back.
ALTER TABLE sources ADD COLUMN allows_mass_deletion boolean NOT NULL DEFAULT false;
-- What the access tags of this source begin with after the system's name, so that two installations of one system share none:
-- '' for the first of its system in the project.
ALTER TABLE sources ADD COLUMN tag_scope text NOT NULL DEFAULT '';
-- Webhooks by what became of them, for monitoring: they name no item.
ALTER TABLE sources ADD COLUMN webhooks_taken bigint NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN webhooks_repeated bigint NOT NULL DEFAULT 0;

-- Whom an account of the system was found to be, by a verified e-mail address: it stays that person when the address changes.
CREATE TABLE source_people (
    source_key  uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    external_id text NOT NULL,
    person_id   uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    PRIMARY KEY (source_key, external_id)
);
CREATE INDEX source_people_person ON source_people (person_id);
