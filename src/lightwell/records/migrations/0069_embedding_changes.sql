-- A change of the embedding model: a second space is filled beside the active one, then takes its place.
--
--     preparing -> building -> active -> retired -> dropping
--
-- preparing: its tables are being made. building: it is being filled. retired: it was active, and is kept up to date with deletions and
-- access, so that a change back needs only what is missing. dropping: its tables are being removed.

ALTER TABLE embedding_spaces DROP CONSTRAINT embedding_spaces_status_check;
ALTER TABLE embedding_spaces ADD CONSTRAINT embedding_spaces_status_check
    CHECK (status IN ('preparing', 'building', 'active', 'retired', 'dropping'));

-- `is_queued`: all that was published when the filling began is in the queues below. `tokens`: how many were embedded for the change.
ALTER TABLE embedding_spaces
    ADD COLUMN is_queued  boolean NOT NULL DEFAULT true,
    ADD COLUMN tokens     bigint NOT NULL DEFAULT 0,
    ADD COLUMN started_at timestamptz,
    ADD COLUMN ended_at   timestamptz;

-- A project changes to one model at a time.
CREATE UNIQUE INDEX embedding_spaces_building ON embedding_spaces (project_id) WHERE status IN ('preparing', 'building');

-- Published chunks without a vector in a space. Publishing adds those whose vector was not staged for it.
CREATE TABLE chunk_gaps (
    chunk_id    uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    space_id    integer NOT NULL REFERENCES embedding_spaces ON DELETE CASCADE,
    taken_until timestamptz,
    PRIMARY KEY (chunk_id, space_id)
);
CREATE INDEX chunk_gaps_space ON chunk_gaps (space_id, chunk_id);

-- Profiles whose vector in a space that is not active is missing, or is of an earlier text. For the active space,
-- `described_profiles.changed` says so. Whoever writes a vector holds the claim in `described_profiles`.
CREATE TABLE profile_gaps (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    space_id   integer NOT NULL REFERENCES embedding_spaces ON DELETE CASCADE,
    PRIMARY KEY (subject_id, class_id, space_id),
    FOREIGN KEY (subject_id, class_id) REFERENCES described_profiles ON DELETE CASCADE
);
CREATE INDEX profile_gaps_space ON profile_gaps (space_id, subject_id, class_id);
