-- Items that a business system has merged into others: what named or linked the former one means the survivor from then on.
CREATE TABLE item_merges (
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    former_ref   text NOT NULL,
    survivor_ref text NOT NULL CHECK (survivor_ref <> former_ref),
    source_key   uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    -- What the former item was called, and the access tags of the document that called it so.
    names        text[] NOT NULL DEFAULT '{}',
    acl_tags     text[] NOT NULL DEFAULT '{}',
    merged_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, former_ref)
);
CREATE INDEX item_merges_survivor ON item_merges (project_id, survivor_ref);
