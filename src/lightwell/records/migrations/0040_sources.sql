-- Business systems as sources: what is configured, where each stream goes on, and what waits to be fetched.

CREATE TABLE sources (
    source_id        uuid PRIMARY KEY,
    project_id       uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name             text NOT NULL,
    system           text NOT NULL,
    -- Addresses and names, never a secret: those stay in the environment.
    options          jsonb NOT NULL DEFAULT '{}',
    every_seconds    integer NOT NULL CHECK (every_seconds > 0),
    sweep_seconds    integer NOT NULL CHECK (sweep_seconds > 0),
    -- Whether people whom the directory lacks are added to it, by the e-mail address that the system has verified.
    adds_people      boolean NOT NULL DEFAULT false,
    next_sync_at     timestamptz NOT NULL DEFAULT now(),
    next_sweep_at    timestamptz NOT NULL DEFAULT now(),
    -- A webhook says that people or groups may have changed: they are read again at once.
    directory_due    boolean NOT NULL DEFAULT false,
    is_paused        boolean NOT NULL DEFAULT false,
    -- One process syncs a source at a time, whatever the number of processes.
    leased_by        text,
    leased_until     timestamptz,
    last_error       text NOT NULL DEFAULT '',
    -- What a sweep did not remove, because it was too much at once.
    sweep_warning    text NOT NULL DEFAULT '',
    failures_in_row  integer NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    UNIQUE (project_id, name)
);

-- Where a stream goes on; stored in the transaction that registers what came before.
CREATE TABLE source_cursors (
    source_id  uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    stream     text NOT NULL,
    cursor     text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, stream)
);

-- Items that webhooks name, and items that could not be read: each is fetched by its reference, once for all requests.
CREATE TABLE item_fetches (
    source_id     uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    item_ref      text NOT NULL,
    reason        text NOT NULL DEFAULT '',  -- '' for a webhook's hint, else why the item could not be read
    message       text NOT NULL DEFAULT '',
    attempts      integer NOT NULL DEFAULT 0,
    requested_at  timestamptz NOT NULL DEFAULT now(),
    due_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, item_ref)
);
CREATE INDEX item_fetches_due ON item_fetches (source_id, due_at);

-- Deliveries of webhooks that were taken, so that a repetition has no effect; old ones are deleted.
CREATE TABLE webhook_deliveries (
    source_id   uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    delivery    text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, delivery)
);

-- The refs of a sweep under way: what is stored and not among them is gone. Unlogged, since a sweep that a crash
-- interrupts begins anew.
CREATE UNLOGGED TABLE swept_items (
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    item_ref  text NOT NULL,
    PRIMARY KEY (source_id, item_ref)
);

ALTER TABLE source_documents ADD COLUMN source_key uuid REFERENCES sources ON DELETE SET NULL;
ALTER TABLE source_documents ADD COLUMN item_ref text NOT NULL DEFAULT '';
ALTER TABLE source_documents ADD COLUMN structure jsonb;
-- A hash of what determines the chunks: where it is equal, a changed document is not embedded again.
ALTER TABLE source_documents ADD COLUMN body_hash text NOT NULL DEFAULT '';
CREATE INDEX source_documents_item ON source_documents (source_key, item_ref) WHERE source_key IS NOT NULL;

-- Counts of a source's run, for administrators; `inserted`, `updated` and `deleted` are added up with each page.
ALTER TABLE ingestion_runs ADD COLUMN source_key uuid REFERENCES sources ON DELETE SET NULL;
ALTER TABLE ingestion_runs ADD COLUMN unchanged integer NOT NULL DEFAULT 0;
ALTER TABLE ingestion_runs ADD COLUMN unreadable integer NOT NULL DEFAULT 0;
CREATE INDEX ingestion_runs_source ON ingestion_runs (source_key, run_id) WHERE source_key IS NOT NULL;

-- Groups that a source maintains; what people made by hand has no source and is never touched by a sync.
ALTER TABLE directory_groups ADD COLUMN source_key uuid REFERENCES sources ON DELETE CASCADE;
CREATE INDEX directory_groups_source ON directory_groups (source_key) WHERE source_key IS NOT NULL;

-- What a business system states of an entity has the system's own reference. Its names are not part of its identity: a
-- mention lists them, null where a text names the entity. `is_own` marks the item that the entity is.
ALTER TABLE document_entity_mentions ADD COLUMN names text[];
ALTER TABLE document_entity_mentions ADD COLUMN is_own boolean NOT NULL DEFAULT false;
CREATE INDEX document_entity_mentions_own ON document_entity_mentions (entity_id, class_id) WHERE is_own;

-- Every name that some mention has or had. A reader finds an entity by a name only through a mention with that name.
CREATE TABLE entity_names (
    entity_id       uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    normalized_name text NOT NULL,
    PRIMARY KEY (entity_id, normalized_name)
);
CREATE INDEX entity_names_name ON entity_names (normalized_name);
CREATE INDEX entity_names_similar ON entity_names USING gin (normalized_name gin_trgm_ops);

-- A link that a document's structure states lives and changes its access class with that document.
ALTER TABLE entity_links ADD COLUMN document_id uuid REFERENCES source_documents ON DELETE CASCADE;
CREATE INDEX entity_links_document ON entity_links (document_id) WHERE document_id IS NOT NULL;
