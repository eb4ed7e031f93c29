-- What people correct. What a text states stays as it is stated (`named_as`, `stated_as`); what it stands for
-- (`entity_id`, `relation_id`) follows from the facts below, so that taking a fact back restores what was.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- `merged_into` is where a chain of merges ends. `hidden_for`: deleted by hand for the classes that meet these tags.
ALTER TABLE entities ADD COLUMN hidden_for text[];
ALTER TABLE relations ADD COLUMN hidden_for text[];
CREATE INDEX entities_merged ON entities (merged_into) WHERE merged_into IS NOT NULL;

-- An alias and what it stands for may be named by one chunk. Null: hidden by hand. `named_as` is removed by
-- refresh, when nothing holds it any more: a foreign key would need one more index on the largest table.
ALTER TABLE document_entity_mentions ADD COLUMN named_as uuid;
UPDATE document_entity_mentions SET named_as = entity_id;
ALTER TABLE document_entity_mentions DROP CONSTRAINT document_entity_mentions_pkey;
ALTER TABLE document_entity_mentions
    ALTER COLUMN named_as SET NOT NULL,
    ALTER COLUMN entity_id DROP NOT NULL,
    ADD CONSTRAINT document_entity_mentions_key UNIQUE NULLS NOT DISTINCT (entity_id, class_id, chunk_id, named_as);
CREATE INDEX document_entity_mentions_named ON document_entity_mentions (named_as, class_id, chunk_id)
    WHERE entity_id IS DISTINCT FROM named_as;

-- Null: a loop since a merge, or hidden by hand.
ALTER TABLE relation_mentions ADD COLUMN stated_as uuid;
UPDATE relation_mentions SET stated_as = relation_id;
ALTER TABLE relation_mentions DROP CONSTRAINT relation_mentions_pkey;
ALTER TABLE relation_mentions
    ALTER COLUMN stated_as SET NOT NULL,
    ALTER COLUMN relation_id DROP NOT NULL,
    ADD CONSTRAINT relation_mentions_key UNIQUE NULLS NOT DISTINCT (relation_id, class_id, chunk_id, stated_as);
CREATE INDEX relation_mentions_stated ON relation_mentions (stated_as, class_id, chunk_id)
    WHERE relation_id IS DISTINCT FROM stated_as;

-- ── merges ───────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE entity_merges (
    merge_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    target_id  uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    strategy   text NOT NULL CHECK (strategy IN ('CONCATENATE', 'KEEP_FIRST', 'KEEP_LONGEST', 'LLM_SUMMARIZE')),
    made_by    text[] NOT NULL,
    merged_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX entity_merges_target ON entity_merges (target_id);

CREATE TABLE merged_entities (
    merge_id   uuid NOT NULL REFERENCES entity_merges ON DELETE CASCADE,
    source_id  uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    place      integer NOT NULL,
    undone_by  text[],
    undone_at  timestamptz,
    PRIMARY KEY (merge_id, source_id)
);
CREATE UNIQUE INDEX merged_entities_active ON merged_entities (source_id) WHERE undone_at IS NULL;
CREATE INDEX merged_entities_source ON merged_entities (source_id);

-- What a model made of one class's descriptions; it holds as long as these are the same.
CREATE TABLE merge_summaries (
    merge_id    uuid NOT NULL REFERENCES entity_merges ON DELETE CASCADE,
    class_id    integer NOT NULL,
    inputs_hash text NOT NULL CHECK (length(inputs_hash) = 64),
    summary     text NOT NULL,
    PRIMARY KEY (merge_id, class_id)
);

-- By hashes of the two references, in order: it outlives both and says nothing about them.
CREATE TABLE rejected_merges (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    one         text NOT NULL,
    other       text NOT NULL,
    rejected_by text[] NOT NULL,
    rejected_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, one, other)
);

-- ── a person's word, in the access class that the person named ───────────────────────────────────────

-- Null: nothing said. `known_name` and `known_kind` are what the class called it then, for when its texts are gone.
CREATE TABLE entity_edits (
    named_as        uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    entity_id       uuid REFERENCES entities ON DELETE CASCADE,
    class_id        integer NOT NULL,
    name            text,
    entity_kind     text,
    description     text,
    known_name      text NOT NULL,
    known_kind      text NOT NULL,
    normalized_name text NOT NULL,
    said_by         text[] NOT NULL,
    said_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (named_as, class_id)
);
CREATE INDEX entity_edits_entity ON entity_edits (entity_id, class_id);
CREATE INDEX entity_edits_name ON entity_edits (normalized_name);

CREATE TABLE relation_edits (
    stated_as   uuid NOT NULL REFERENCES relations ON DELETE CASCADE,
    relation_id uuid REFERENCES relations ON DELETE CASCADE,
    class_id    integer NOT NULL,
    keywords    text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    weight      real NOT NULL CHECK (weight > 0),
    said_by     text[] NOT NULL,
    said_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (stated_as, class_id)
);
CREATE INDEX relation_edits_relation ON relation_edits (relation_id, class_id);

-- `entity_ref` is what its readers know the entity under, null: its own; `by_hand` which of its fields a person said.
ALTER TABLE profiles ADD COLUMN entity_ref text;
ALTER TABLE profiles ADD COLUMN by_hand text[] NOT NULL DEFAULT '{}';
CREATE INDEX profiles_email ON profiles (lower(attributes ->> 'email')) WHERE attributes ->> 'email' IS NOT NULL;
CREATE INDEX profiles_domain ON profiles (lower(attributes ->> 'domain')) WHERE attributes ->> 'domain' IS NOT NULL;
