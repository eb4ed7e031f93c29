-- The whole schema, by subject: walls, documents, search, vectors, graph, corrections, links, copies of the
-- graph, models' replies, work, sources, people, conversations, and what servers share. Later migrations change
-- it.
--
-- Made at run time, for each embedding space N of a project (stores/postgres/): `chunk_vectors_N` (embeddings
-- of published chunks) with `chunk_vectors_N_signs` (their signs, compared first), `entity_vectors_N` and
-- `relation_vectors_N` (embeddings of profiles).

CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- ── the walls ────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE tenants (
    tenant_id  uuid PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- `id_key` and `hash_key` are 244 random bits each, the project's own: the default is volatile.
-- `max_source_ids` and `source_id_strategy`: how many sources a profile lists, and which ones when there are
-- more (S0.9); one value for the project, so that all workers derive the same profiles; an ingestion writes its
-- settings here. `owner_tag`: the tag of the person whose own store it is, who asks on the command line where
-- no tag is named; '' for none.
CREATE TABLE projects (
    project_id         uuid PRIMARY KEY,
    tenant_id          uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    name               text NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    id_key             bytea NOT NULL DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    hash_key           bytea NOT NULL DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    max_source_ids     integer NOT NULL DEFAULT 50 CHECK (max_source_ids BETWEEN 1 AND 1000),
    source_id_strategy text NOT NULL DEFAULT 'FIFO' CHECK (source_id_strategy IN ('FIFO', 'KEEP')),
    owner_tag          text NOT NULL DEFAULT '',
    UNIQUE (tenant_id, name)
);

-- A UUID v8 of a keyed hash: equal names have equal ids, and without the key nobody can compute one. So the ids
-- of entities and relations say nothing of when or by whom a name was first heard
-- (docs/decisions/0006-merges-apply-per-reader.md).
CREATE FUNCTION keyed_id(key bytea, name text) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT encode(set_byte(set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128),
                           8, (get_byte(digest, 8) & 63) | 128), 'hex')::uuid
    FROM (SELECT substring(sha256(key || sha256(key || convert_to(name, 'UTF8'))) FOR 16) AS digest) AS hashed
$$;

CREATE FUNCTION entity_key(project uuid, ref text) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT keyed_id(id_key, ref) FROM projects WHERE project_id = project
$$;

CREATE FUNCTION relation_key(project uuid, source uuid, target uuid, predicate text) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT keyed_id(id_key, source || ' ' || predicate || ' ' || target) FROM projects WHERE project_id = project
$$;

CREATE FUNCTION link_key(project uuid, source uuid, target uuid, link_type text) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT keyed_id(id_key, 'link ' || source || ' ' || link_type || ' ' || target)
    FROM projects WHERE project_id = project
$$;

-- What is kept as a hash of words that somebody could guess is keyed: a question, a person's tags, a pair of
-- names. `digest` is a SHA-256 in hexadecimal, so that the words themselves are not sent to the server.
CREATE FUNCTION keyed_hash(project uuid, digest text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT encode(sha256(hash_key || convert_to(digest, 'UTF8')), 'hex') FROM projects WHERE project_id = project);

-- One row per distinct set of tags. Class 0 is nobody's: what is not published yet has it, so no reader sees
-- it.
CREATE TABLE access_classes (
    class_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    tags       text[] NOT NULL,
    UNIQUE (project_id, tags)
);
CREATE INDEX access_classes_tags ON access_classes USING gin (tags);

-- The access tags that `--acl` gave to folders and files: those of the nearest folder at or above a file apply
-- to it, where the file and its settings name none. An empty list is nobody.
CREATE TABLE folder_tags (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    folder_url text NOT NULL,
    acl_tags   text[] NOT NULL,
    PRIMARY KEY (project_id, folder_url)
);

-- ── documents and chunks ─────────────────────────────────────────────────────────────────────────────

-- One row per document, tombstones of deleted ones included. `omitted_chunks`: left out, because it has more
-- than the settings allow. `erase_requested`: a hard deletion outlives the process that was asked for it;
-- whoever comes next carries it out. `source_key` and `item_ref`: the item of a business system that it is.
-- `body_hash` is of what determines the chunks: where it is equal, a changed document is not embedded again.
-- `is_dated`: whether `updated_at` is a date that the document or its system states; that of a file that states
-- none is the file's own time, which says nothing of what is in it.
CREATE TABLE source_documents (
    document_id     uuid PRIMARY KEY,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    global_ref      text NOT NULL,
    source_system   text NOT NULL,
    source_type     text NOT NULL,
    source_id       text NOT NULL,
    source_url      text NOT NULL,
    title           text NOT NULL DEFAULT '',
    format          text NOT NULL,
    author          text NOT NULL DEFAULT '',
    author_ref      text,
    topic_tag       text NOT NULL DEFAULT '',
    language        text NOT NULL DEFAULT '',
    raw_payload     jsonb,
    text_content    text NOT NULL DEFAULT '',
    content_hash    text NOT NULL,
    file_size       bigint NOT NULL DEFAULT 0,
    metadata        jsonb NOT NULL DEFAULT '{}',
    acl_tags        text[] NOT NULL,
    class_id        integer NOT NULL,
    status          text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'chunking', 'embedding', 'extracting', 'active', 'failed', 'archived')),
    error_code      text NOT NULL DEFAULT '',
    error_message   text NOT NULL DEFAULT '',
    chunk_count     integer NOT NULL DEFAULT 0,
    is_deleted      boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    ingested_at     timestamptz,
    erase_requested boolean NOT NULL DEFAULT false,
    omitted_chunks  integer NOT NULL DEFAULT 0 CHECK (omitted_chunks >= 0),
    source_key      uuid,
    item_ref        text NOT NULL DEFAULT '',
    structure       jsonb,
    body_hash       text NOT NULL DEFAULT '',
    is_dated        boolean NOT NULL DEFAULT false,
    UNIQUE (project_id, global_ref)
);
-- A page of the web may be in the store several times, for different access tags: whoever hands one in must not
-- notice that others have it. Such a page is identified by its source_id; all other documents by their URL.
CREATE UNIQUE INDEX source_documents_url ON source_documents
    (project_id, source_url, (CASE source_system WHEN 'web' THEN source_id ELSE '' END));
CREATE INDEX source_documents_source ON source_documents (source_system, source_type, updated_at);
CREATE INDEX source_documents_tenant ON source_documents (tenant_id, updated_at);
CREATE INDEX source_documents_hash ON source_documents (content_hash);
CREATE INDEX source_documents_class ON source_documents (class_id, source_url);
CREATE INDEX source_documents_to_erase ON source_documents (project_id) WHERE erase_requested;
CREATE INDEX source_documents_item ON source_documents (source_key, item_ref) WHERE source_key IS NOT NULL;
CREATE INDEX source_documents_item_ref ON source_documents (project_id, item_ref) WHERE item_ref <> '';

-- The unit of embedding and citation. `layout`: where the pages and sections that it touches begin and end.
-- `llm_cache_ids`: the replies that its mentions come from. `is_supplied`: somebody handed it in, instead of
-- those of the document's source.
CREATE TABLE document_chunks (
    chunk_id      uuid PRIMARY KEY,
    chunk_ref     text NOT NULL,
    document_id   uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    class_id      integer NOT NULL DEFAULT 0,
    chunk_index   integer NOT NULL CHECK (chunk_index >= 0),
    chunk_text    text NOT NULL CHECK (chunk_text <> ''),
    chunk_hash    bytea NOT NULL,
    token_count   integer NOT NULL CHECK (token_count BETWEEN 0 AND 2000),
    start_offset  integer NOT NULL,
    end_offset    integer NOT NULL,
    page_number   integer,
    last_page     integer,
    section_path  text[] NOT NULL DEFAULT '{}',
    layout        jsonb,
    has_code      boolean NOT NULL DEFAULT false,
    has_formula   boolean NOT NULL DEFAULT false,
    has_table     boolean NOT NULL DEFAULT false,
    language      text NOT NULL DEFAULT '',
    llm_cache_ids uuid[] NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL DEFAULT now(),
    is_supplied   boolean NOT NULL DEFAULT false
);
-- A document being replaced has its old chunks (its class) and its new ones (class 0) side by side.
CREATE UNIQUE INDEX document_chunks_document ON document_chunks (document_id, chunk_index, (class_id = 0));
CREATE INDEX document_chunks_hash ON document_chunks (chunk_hash);
CREATE INDEX document_chunks_replies ON document_chunks USING gin (llm_cache_ids) WHERE llm_cache_ids <> '{}';

-- ── full-text search ─────────────────────────────────────────────────────────────────────────────────

-- A chunk's terms, with the frequency kept as the number of positions.
CREATE TABLE chunk_terms (
    chunk_id  uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    class_id  integer NOT NULL,
    topic_tag text NOT NULL,
    length    integer NOT NULL,
    terms     tsvector NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE chunk_terms ALTER COLUMN terms SET STORAGE EXTERNAL;
CREATE INDEX chunk_terms_terms ON chunk_terms USING gin (terms);
CREATE INDEX chunk_terms_class ON chunk_terms (class_id);

-- How often a term stands in a chunk, 0 to 8: ts_rank with unit weights grows with it as the partial sums of
-- 1/1² + 1/2² + ..., and the bounds lie half way between those.
CREATE FUNCTION term_frequency(terms tsvector, term tsquery) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT width_bucket(
        ts_rank('{1,1,1,1}', terms, term)::float8,
        '{0.3,0.684,0.794,0.846,0.878,0.898,0.913,0.924}'::float8[])
$$;

-- Document frequencies and lengths per class, so that BM25's weights see the reader's classes only.
CREATE TABLE term_counts (
    class_id integer NOT NULL,
    term     text NOT NULL,
    chunks   integer NOT NULL,
    PRIMARY KEY (class_id, term)
) WITH (fillfactor = 70);

CREATE TABLE class_totals (
    class_id  integer PRIMARY KEY,
    documents integer NOT NULL,
    chunks    integer NOT NULL,
    length    bigint NOT NULL
) WITH (fillfactor = 50);

-- ── vectors ──────────────────────────────────────────────────────────────────────────────────────────

-- The model that embeds a project. A change of it fills a second space beside the active one, which then takes
-- its place:
--
--     preparing -> building -> active -> retired -> dropping
--
-- preparing: its tables are being made. building: it is being filled. retired: it was active, and is kept up to
-- date with deletions and access, so that a change back needs only what is missing. dropping: its tables are
-- being removed. `is_queued`: all that was published when the filling began is in the queues below. `tokens`:
-- how many were embedded for the change.
CREATE TABLE embedding_spaces (
    space_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    model      text NOT NULL,
    dimension  integer NOT NULL CHECK (dimension > 0),
    metric     text NOT NULL DEFAULT 'cosine',
    status     text NOT NULL CHECK (status IN ('preparing', 'building', 'active', 'retired', 'dropping')),
    created_at timestamptz NOT NULL DEFAULT now(),
    is_queued  boolean NOT NULL DEFAULT true,
    tokens     bigint NOT NULL DEFAULT 0,
    started_at timestamptz,
    ended_at   timestamptz
);
CREATE UNIQUE INDEX embedding_spaces_active ON embedding_spaces (project_id) WHERE status = 'active';
-- A project changes to one model at a time.
CREATE UNIQUE INDEX embedding_spaces_building ON embedding_spaces (project_id) WHERE status IN ('preparing', 'building');

-- Embeddings on their way in: computed once, kept until their document is published.
CREATE TABLE staged_vectors (
    space_id  integer NOT NULL REFERENCES embedding_spaces ON DELETE CASCADE,
    chunk_id  uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    embedding halfvec NOT NULL,
    PRIMARY KEY (chunk_id, space_id)
);

-- Chunks that went or changed their class: their copies in the indexes have still to follow. Until then the
-- reads hide them, since every hit is joined with document_chunks and the reader's classes. A later change of a
-- chunk is not done by carrying out an earlier one.
CREATE TABLE index_changes (
    chunk_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    change_id  bigint NOT NULL GENERATED ALWAYS AS IDENTITY
);

-- Documents of which something changed that an index of vectors keeps beside their chunks, such as the URL,
-- while the chunks stayed.
CREATE TABLE index_descriptions (
    document_id uuid PRIMARY KEY REFERENCES source_documents ON DELETE CASCADE,
    project_id  uuid NOT NULL,
    change_id   bigint NOT NULL GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX index_descriptions_project ON index_descriptions (project_id, change_id);

-- Published chunks without a vector in a space. Publishing adds those whose vector was not staged for it.
CREATE TABLE chunk_gaps (
    chunk_id    uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    space_id    integer NOT NULL REFERENCES embedding_spaces ON DELETE CASCADE,
    taken_until timestamptz,
    PRIMARY KEY (chunk_id, space_id)
);
CREATE INDEX chunk_gaps_space ON chunk_gaps (space_id, chunk_id);

-- The vectors of windows and tokens of English chunks, for late interaction. Like a chunk's text they are read
-- by who may see the chunk.
CREATE TABLE chunk_multi_vectors (
    chunk_id  uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE,
    model     text NOT NULL,
    text_hash bytea NOT NULL,      -- of the project and exactly what was encoded: equal hashes have equal vectors
    starts    integer[] NOT NULL,  -- where each window begins and ends in the chunk, and how many tokens it has
    ends      integer[] NOT NULL,
    tokens    integer[] NOT NULL,
    wholes    bytea NOT NULL,      -- the vectors of the windows, a signed byte each number
    signs     bytea NOT NULL       -- the signs of the vectors of the head's tokens, then of the windows', a bit each number
);
CREATE INDEX chunk_multi_vectors_hash ON chunk_multi_vectors (text_hash);
ALTER TABLE chunk_multi_vectors ALTER COLUMN wholes SET STORAGE EXTERNAL, ALTER COLUMN signs SET STORAGE EXTERNAL;

-- Published English chunks that are still to be encoded. Publishing adds those that have no vectors.
CREATE TABLE multi_vector_gaps (
    chunk_id uuid PRIMARY KEY REFERENCES document_chunks ON DELETE CASCADE
);

-- ── the graph: mentions are its truth ────────────────────────────────────────────────────────────────

-- What an entity is called, what kind it is and what is said of it stands in its profiles, one per class. An
-- entity whose last mention is gone has no row. `hidden_in`: the access classes in which a person deleted it by
-- hand.
CREATE TABLE entities (
    entity_id       uuid PRIMARY KEY,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    entity_ref      text NOT NULL,
    normalized_name text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    hidden_in       integer[],
    UNIQUE (project_id, entity_ref)
);
CREATE INDEX entities_name ON entities (project_id, normalized_name);
-- Names that nearly fit: a brief on "Marlowe" offers Marlowe Dairy and Marlowe Ltd.
CREATE INDEX entities_near ON entities USING gin (normalized_name gin_trgm_ops);
-- What is deleted by hand, for hard deletion to look through.
CREATE INDEX entities_hidden_in ON entities (project_id) WHERE hidden_in IS NOT NULL;

-- What one chunk states about one entity. `named_as` is whom its text names, `entity_id` whom it stands for: an
-- alias and what that stands for may be named by one chunk. `entity_id` is null where it is hidden by hand.
-- `named_as` is removed by refresh, when nothing holds it any more: a foreign key would need one more index on
-- the largest table. `part_name`: the name that a person gave the part to which this mention was moved; null:
-- the mention stands where its text puts it. `names`: all names that a business system gives the entity, null
-- where a text names it; `is_own` marks the item that the entity is. `alias_names`: its aliases in the form in
-- which names are compared. `quote`: the sentence that rules quote from the chunk to describe the entity, and
-- `quote_rank` how well it does; a lower rank is better.
CREATE TABLE document_entity_mentions (
    entity_id    uuid REFERENCES entities ON DELETE CASCADE,
    chunk_id     uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    class_id     integer NOT NULL,
    name         text NOT NULL,
    entity_kind  text NOT NULL,
    description  text NOT NULL DEFAULT '',
    mention_type text NOT NULL CHECK (mention_type IN ('explicit', 'inferred', 'metadata')),
    confidence   real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    frequency    integer NOT NULL DEFAULT 1 CHECK (frequency > 0),
    attributes   jsonb,
    created_at   timestamptz NOT NULL DEFAULT now(),
    named_as     uuid NOT NULL,
    part_name    text,
    names        text[],
    is_own       boolean NOT NULL DEFAULT false,
    alias_names  text[],
    quote        text NOT NULL DEFAULT '',
    quote_rank   smallint NOT NULL DEFAULT 0,
    CONSTRAINT document_entity_mentions_key UNIQUE NULLS NOT DISTINCT (entity_id, class_id, chunk_id, named_as)
);
CREATE INDEX document_entity_mentions_chunk ON document_entity_mentions (chunk_id, entity_id) INCLUDE (class_id);
CREATE INDEX document_entity_mentions_named ON document_entity_mentions (named_as, class_id, chunk_id)
    WHERE entity_id IS DISTINCT FROM named_as;
CREATE INDEX document_entity_mentions_time ON document_entity_mentions (entity_id, created_at);
CREATE INDEX document_entity_mentions_own ON document_entity_mentions (entity_id, class_id) WHERE is_own;
CREATE INDEX document_entity_mentions_email ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'email')) WHERE attributes ->> 'email' IS NOT NULL;
CREATE INDEX document_entity_mentions_domain ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'domain')) WHERE attributes ->> 'domain' IS NOT NULL;
CREATE INDEX document_entity_mentions_owner ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'owner')) WHERE attributes ->> 'owner' IS NOT NULL;
CREATE INDEX document_entity_mentions_location ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'location')) WHERE attributes ->> 'location' IS NOT NULL;

-- Every name that some mention gives or gave to an entity of a business system. A reader finds an entity by a
-- name only through a mention with that name.
CREATE TABLE entity_names (
    entity_id       uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    normalized_name text NOT NULL,
    PRIMARY KEY (entity_id, normalized_name)
);
CREATE INDEX entity_names_name ON entity_names (normalized_name);
CREATE INDEX entity_names_similar ON entity_names USING gin (normalized_name gin_trgm_ops);

-- Several bear one name: where texts of one access class contradict each other in an attribute that
-- distinguishes, each value has an entity of its own there. See
-- docs/decisions/0008-contradicting-attributes-separate-bearers.md.
CREATE TABLE entity_bearers (
    source_id uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    class_id  integer NOT NULL,
    field     text NOT NULL CHECK (field IN ('email', 'domain', 'owner', 'location')),
    value     text NOT NULL,
    bearer_id uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    PRIMARY KEY (source_id, class_id, field, value)
);
CREATE INDEX entity_bearers_bearer ON entity_bearers (bearer_id);

CREATE TABLE relations (
    relation_id uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    source_id   uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    target_id   uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    predicate   text NOT NULL CHECK (predicate IN
        ('PREREQUISITE', 'RELATED_TO', 'COMPARED_TO', 'PART_OF', 'USES', 'IMPLEMENTS', 'EXAMPLE_OF')),
    created_at  timestamptz NOT NULL DEFAULT now(),
    hidden_in   integer[],
    UNIQUE (source_id, target_id, predicate)
);
CREATE INDEX relations_target ON relations (target_id);
CREATE INDEX relations_hidden_in ON relations (project_id) WHERE hidden_in IS NOT NULL;

-- What one chunk states about one relation: `stated_as` is what its text states, `relation_id` what that stands
-- for; null where it is hidden by hand.
CREATE TABLE relation_mentions (
    relation_id uuid REFERENCES relations ON DELETE CASCADE,
    chunk_id    uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    class_id    integer NOT NULL,
    keywords    text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    weight      real NOT NULL CHECK (weight > 0),
    confidence  real NOT NULL CHECK (confidence BETWEEN 0.5 AND 1),
    comparison  text NOT NULL DEFAULT '',
    use_case    text NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    stated_as   uuid NOT NULL,
    quote       text NOT NULL DEFAULT '',
    quote_rank  smallint NOT NULL DEFAULT 0,
    CONSTRAINT relation_mentions_key UNIQUE NULLS NOT DISTINCT (relation_id, class_id, chunk_id, stated_as)
);
CREATE INDEX relation_mentions_chunk ON relation_mentions (chunk_id);
CREATE INDEX relation_mentions_stated ON relation_mentions (stated_as, class_id, chunk_id)
    WHERE relation_id IS DISTINCT FROM stated_as;

-- What one class says of one entity or relation; derived from mentions and edits, and rebuilt by refresh.
-- `attributes` holds the fields of a concept, too: aliases (`alias_names` finds by them), category, difficulty,
-- tags. `entity_ref` is what its readers know the entity under, null: its own; `by_hand` which of its fields a
-- person said. `summary_ids`: the replies that its description is made of; empty while it is the descriptions
-- joined. `primary_url`: where the entity is best looked up, the URL that its texts give it, else the first
-- document that speaks of it. `comparison` and `use_case` are those of a COMPARED_TO. `created_at`: when the
-- class first said something of the subject; `stated_at`: when its last statement came. `quote`: the best of
-- its class, shown where nobody states a description.
CREATE TABLE profiles (
    subject_id    uuid NOT NULL,
    class_id      integer NOT NULL,
    subject       text NOT NULL CHECK (subject IN ('entity', 'relation')),
    display_name  text NOT NULL,
    entity_kind   text NOT NULL,
    description   text NOT NULL DEFAULT '',
    attributes    jsonb,
    weight        real NOT NULL DEFAULT 0,
    mention_count integer NOT NULL,
    source_ids    uuid[] NOT NULL,
    source_paths  text[] NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    entity_ref    text,
    by_hand       text[] NOT NULL DEFAULT '{}',
    summary_ids   uuid[] NOT NULL DEFAULT '{}',
    primary_url   text GENERATED ALWAYS AS (coalesce(attributes ->> 'url', source_paths[1], '')) STORED,
    created_at    timestamptz DEFAULT now(),
    comparison    text NOT NULL DEFAULT '',
    use_case      text NOT NULL DEFAULT '',
    alias_names   text[],
    stated_at     timestamptz NOT NULL DEFAULT now(),
    quote         text NOT NULL DEFAULT '',
    quote_rank    smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX profiles_sources ON profiles USING gin (source_ids);
CREATE INDEX profiles_email ON profiles (lower(attributes ->> 'email')) WHERE attributes ->> 'email' IS NOT NULL;
CREATE INDEX profiles_domain ON profiles (lower(attributes ->> 'domain')) WHERE attributes ->> 'domain' IS NOT NULL;
CREATE INDEX profiles_summaries ON profiles USING gin (summary_ids) WHERE summary_ids <> '{}';
CREATE INDEX profiles_kind ON profiles (entity_kind, lower(display_name)) WHERE subject = 'entity';
CREATE INDEX profiles_alias_names ON profiles USING gin (alias_names) WHERE alias_names IS NOT NULL;

-- What refresh has still to do; `delta` is by how many mentions the subject grew or shrank since. A refresh
-- takes what is stale in its own project only.
CREATE TABLE stale_profiles (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    subject    text NOT NULL CHECK (subject IN ('entity', 'relation')),
    delta      integer NOT NULL,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX stale_profiles_project ON stale_profiles (project_id, subject_id, class_id);

-- Profiles that refresh left with a long description: to be summarised where that is too long. Whoever asks a
-- model takes them for a while, so that no other pays for the same summary.
CREATE TABLE long_profiles (
    subject_id  uuid NOT NULL,
    class_id    integer NOT NULL,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    taken_until timestamptz,
    PRIMARY KEY (subject_id, class_id),
    FOREIGN KEY (subject_id, class_id) REFERENCES profiles ON DELETE CASCADE
);
CREATE INDEX long_profiles_project ON long_profiles (project_id);

-- Profiles with a description, which have a vector or want one. `changed`: the vector, if there is one, is not
-- of what the profile says now; no read shows it. `text_hash`: of what the vector was made of. Whoever embeds
-- takes rows for a while. Without a foreign key to profiles: of one that went, the index has still to follow.
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

-- Profiles whose vector in a space that is not active is missing, or is of an earlier text. For the active
-- space, `described_profiles.changed` says so. Whoever writes a vector holds the claim in `described_profiles`.
CREATE TABLE profile_gaps (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    space_id   integer NOT NULL REFERENCES embedding_spaces ON DELETE CASCADE,
    PRIMARY KEY (subject_id, class_id, space_id),
    FOREIGN KEY (subject_id, class_id) REFERENCES described_profiles ON DELETE CASCADE
);
CREATE INDEX profile_gaps_space ON profile_gaps (space_id, subject_id, class_id);

-- ── corrections: merges ──────────────────────────────────────────────────────────────────────────────

-- Merges apply per reader, when somebody reads; no mention changes. See
-- docs/decisions/0006-merges-apply-per-reader.md. `target_classes` and `source_classes`: the classes, of those
-- that the merging person saw, in which each side was known then: whoever shares none of them has not been told
-- of the merge, whatever else names the two.
CREATE TABLE entity_merges (
    merge_id       uuid PRIMARY KEY,
    project_id     uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    target_id      uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    strategy       text NOT NULL CHECK (strategy IN ('CONCATENATE', 'KEEP_FIRST', 'KEEP_LONGEST', 'LLM_SUMMARIZE')),
    made_by        text[] NOT NULL,
    merged_at      timestamptz NOT NULL DEFAULT now(),
    target_classes integer[] NOT NULL DEFAULT '{}'
);
CREATE INDEX entity_merges_target ON entity_merges (target_id);

-- A name may be merged twice, by people of whom neither sees the other's merge.
CREATE TABLE merged_entities (
    merge_id       uuid NOT NULL REFERENCES entity_merges ON DELETE CASCADE,
    source_id      uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    place          integer NOT NULL,
    undone_by      text[],
    undone_at      timestamptz,
    source_classes integer[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (merge_id, source_id)
);
CREATE INDEX merged_entities_active ON merged_entities (merge_id) WHERE undone_at IS NULL;
CREATE INDEX merged_entities_source ON merged_entities (source_id);
-- A reader who shares a class with no merge looks at none.
CREATE INDEX merged_entities_classes ON merged_entities USING gin (source_classes) WHERE undone_at IS NULL;

-- What a model made of one class's descriptions of `members`; it holds as long as these are the same.
-- `reply_ids`: the replies that it is made of, which are kept as long as it is.
CREATE TABLE merge_summaries (
    merge_id    uuid NOT NULL REFERENCES entity_merges ON DELETE CASCADE,
    class_id    integer NOT NULL,
    inputs_hash text NOT NULL CHECK (length(inputs_hash) = 64),
    summary     text NOT NULL,
    reply_ids   uuid[] NOT NULL DEFAULT '{}',
    members     uuid[] NOT NULL,
    PRIMARY KEY (merge_id, class_id)
);
CREATE INDEX merge_summaries_replies ON merge_summaries USING gin (reply_ids);

-- By hashes of the two references, in order: it outlives both and says nothing about them.
CREATE TABLE rejected_merges (
    project_id    uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    one           text NOT NULL,
    other         text NOT NULL,
    rejected_by   text[] NOT NULL,
    rejected_at   timestamptz NOT NULL DEFAULT now(),
    one_classes   integer[] NOT NULL DEFAULT '{}',
    other_classes integer[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (project_id, one, other, rejected_by)
);

-- The functions below cost what the number of merges asks for: next to nothing without merges, and linear in
-- them with. Some are PL/pgSQL because the planner puts an SQL function into the query that calls it: these
-- recursions were then planned with every query, and that cost a question more than to answer it.

-- The merges that readers of these classes have been told of and whose two sides they know; of no classes: all.
-- OFFSET 0 keeps the planner from reading all profiles of these classes for a few merges.
CREATE FUNCTION merges_told(classes integer[])
RETURNS TABLE (merge_id uuid, source_id uuid, target_id uuid, place integer, strategy text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT merge.merge_id, source.source_id, merge.target_id, source.place, merge.strategy
    FROM merged_entities AS source JOIN entity_merges AS merge USING (merge_id)
    WHERE source.undone_at IS NULL
      AND (classes IS NULL
           OR source.source_classes && classes AND merge.target_classes && classes
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = source.source_id AND profiles.class_id = ANY(classes) OFFSET 0)
              AND EXISTS (SELECT FROM profiles
                          WHERE profiles.subject_id = merge.target_id AND profiles.class_id = ANY(classes) OFFSET 0))
$$;

-- Which entity stands for which to these readers; an entity that stands for itself has no row. It is the one
-- that was merged into no other, and of several the one that something was merged into last.
CREATE FUNCTION merged_entities_of(classes integer[]) RETURNS TABLE (entity_id uuid, root_id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10 AS $$
#variable_conflict use_column
DECLARE
    merges text[];
    sources uuid[];
    targets uuid[];
    ends uuid[];
    source_places integer[];
    target_places integer[];
    labels integer[];
    lower_labels integer[];
BEGIN
    IF classes IS NOT NULL
       AND NOT EXISTS (SELECT FROM merged_entities WHERE undone_at IS NULL AND source_classes && classes) THEN
        RETURN;
    END IF;
    SELECT array_agg(told.merge_id::text), array_agg(told.source_id), array_agg(told.target_id)
    INTO merges, sources, targets FROM merges_told(classes) AS told;
    IF merges IS NULL THEN
        RETURN;
    END IF;
    -- Mostly each was merged once, and into what was merged into nothing.
    IF NOT EXISTS (SELECT FROM unnest(sources) AS id GROUP BY id HAVING count(*) > 1)
       AND NOT EXISTS (SELECT unnest(sources) INTERSECT SELECT unnest(targets)) THEN
        RETURN QUERY SELECT unnest(sources), unnest(targets);
        RETURN;
    END IF;
    ends := ARRAY(SELECT unnest(sources) UNION SELECT unnest(targets));
    WITH place AS MATERIALIZED (
        SELECT id, number::integer FROM unnest(ends) WITH ORDINALITY AS given (id, number)
    )
    SELECT array_agg(source.number), array_agg(target.number), ARRAY(SELECT number FROM place ORDER BY number)
    INTO source_places, target_places, labels
    FROM unnest(sources, targets) AS edge (source_id, target_id)
    JOIN place AS source ON source.id = edge.source_id JOIN place AS target ON target.id = edge.target_id;
    -- What is connected gets one label: each takes the lowest beside it, and then that one's, until none is lower.
    LOOP
        SELECT array_agg(labels[lowest.label] ORDER BY lowest.number) INTO lower_labels
        FROM (
            SELECT beside.number, min(beside.label) AS label
            FROM (
                SELECT own.number, own.label FROM unnest(labels) WITH ORDINALITY AS own (label, number)
                UNION ALL
                SELECT edge.source, labels[edge.target] FROM unnest(source_places, target_places) AS edge (source, target)
                UNION ALL
                SELECT edge.target, labels[edge.source] FROM unnest(source_places, target_places) AS edge (source, target)
            ) AS beside
            GROUP BY beside.number
        ) AS lowest;
        EXIT WHEN lower_labels = labels;
        labels := lower_labels;
    END LOOP;
    RETURN QUERY
    WITH left_at AS (
        SELECT id, min(merge) AS at FROM unnest(merges, sources) AS edge (merge, id) GROUP BY id
    ), joined_at AS (
        SELECT id, max(merge) AS at FROM unnest(merges, targets) AS edge (merge, id) GROUP BY id
    ), ranked AS (
        SELECT id, first_value(id) OVER (PARTITION BY label
                                         ORDER BY left_at.at DESC NULLS FIRST, joined_at.at DESC NULLS LAST, id) AS root
        FROM unnest(ends, labels) AS given (id, label) LEFT JOIN left_at USING (id) LEFT JOIN joined_at USING (id)
    )
    SELECT ranked.id, ranked.root FROM ranked WHERE ranked.id <> ranked.root;
END $$;

-- These entities with all that are one with them to these readers.
CREATE FUNCTION with_merged(entities uuid[], classes integer[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
#variable_conflict use_column
DECLARE
    merged uuid[];
    roots uuid[];
BEGIN
    SELECT array_agg(entity_id), array_agg(root_id) INTO merged, roots FROM merged_entities_of(classes);
    IF merged IS NULL THEN
        RETURN entities;
    END IF;
    RETURN (
        WITH one AS MATERIALIZED (
            SELECT entity_id, root_id FROM unnest(merged, roots) AS given (entity_id, root_id)
        ), root AS (
            SELECT DISTINCT coalesce(one.root_id, given.entity_id) AS entity_id
            FROM unnest(entities) AS given (entity_id) LEFT JOIN one USING (entity_id)
        )
        SELECT ARRAY(SELECT entity_id FROM root
                     UNION ALL
                     SELECT one.entity_id FROM one JOIN root ON root.entity_id = one.root_id)
    );
END $$;

-- These relations with all that state the same of the same to these readers.
CREATE FUNCTION with_merged_relations(relations uuid[], classes integer[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
#variable_conflict use_column
DECLARE
    merged uuid[];
    roots uuid[];
BEGIN
    SELECT array_agg(entity_id), array_agg(root_id) INTO merged, roots FROM merged_entities_of(classes);
    IF merged IS NULL THEN
        RETURN with_merged_relations.relations;
    END IF;
    RETURN with_merged_relations.relations || ARRAY(
        WITH whole AS MATERIALIZED (
            SELECT entity_id, root_id FROM unnest(merged, roots) AS given (entity_id, root_id)
            UNION SELECT root_id, root_id FROM unnest(roots) AS given (root_id)
        )
        SELECT DISTINCT other.relation_id
        FROM relations AS given
        LEFT JOIN whole AS source ON source.entity_id = given.source_id
        LEFT JOIN whole AS target ON target.entity_id = given.target_id
        CROSS JOIN LATERAL (
            SELECT given.source_id AS entity_id
            UNION SELECT whole.entity_id FROM whole WHERE whole.root_id = source.root_id
        ) AS any_source
        CROSS JOIN LATERAL (
            SELECT given.target_id AS entity_id
            UNION SELECT whole.entity_id FROM whole WHERE whole.root_id = target.root_id
        ) AS any_target
        JOIN relations AS other
          ON other.source_id = any_source.entity_id AND other.target_id = any_target.entity_id
         AND other.predicate = given.predicate
        WHERE given.relation_id = ANY(with_merged_relations.relations)
          AND (source.entity_id IS NOT NULL OR target.entity_id IS NOT NULL)
          AND other.relation_id <> ALL(with_merged_relations.relations)
    );
END $$;

-- What relations of merged entities relate to these readers; of all other relations it is what they state.
CREATE FUNCTION merged_relations_of(classes integer[])
RETURNS TABLE (relation_id uuid, source_id uuid, target_id uuid, predicate text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    WITH merged AS MATERIALIZED (
        SELECT entity_id, root_id FROM merged_entities_of(classes)
    ), touched AS (
        SELECT relation.* FROM merged JOIN relations AS relation ON relation.source_id = merged.entity_id
        UNION
        SELECT relation.* FROM merged JOIN relations AS relation ON relation.target_id = merged.entity_id
    )
    SELECT touched.relation_id, coalesce(source.root_id, touched.source_id),
           coalesce(target.root_id, touched.target_id), touched.predicate
    FROM touched
    LEFT JOIN merged AS source ON source.entity_id = touched.source_id
    LEFT JOIN merged AS target ON target.entity_id = touched.target_id
    WHERE EXISTS (SELECT FROM profiles
                  WHERE profiles.subject_id = touched.relation_id AND profiles.class_id = ANY(classes))
$$;

-- How many entities and relations these readers see. What merges join counts once, and loops not at all.
CREATE FUNCTION graph_size(classes integer[], OUT entities bigint, OUT relations bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH merged AS MATERIALIZED (
        SELECT * FROM merged_relations_of(classes)
    ), joined AS (
        SELECT DISTINCT source_id, target_id, predicate FROM merged
        WHERE source_id <> target_id
          AND NOT EXISTS (SELECT FROM relations AS other JOIN profiles ON profiles.subject_id = other.relation_id
                          WHERE other.source_id = merged.source_id AND other.target_id = merged.target_id
                            AND other.predicate = merged.predicate AND profiles.class_id = ANY(classes))
    )
    SELECT count(DISTINCT subject_id) FILTER (WHERE subject = 'entity')
               - (SELECT count(*) FROM merged_entities_of(classes)),
           count(DISTINCT subject_id) FILTER (WHERE subject = 'relation')
               - (SELECT count(*) FROM merged) + (SELECT count(*) FROM joined)
    FROM profiles WHERE class_id = ANY(classes)
$$;

-- ── corrections: splits and edits ────────────────────────────────────────────────────────────────────

-- A person splits an entity: what some documents or chunks say of it is said of another entity, its part. See
-- docs/decisions/0007-a-split-moves-mentions.md.
CREATE TABLE entity_splits (
    split_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    part_id    uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    name       text NOT NULL CHECK (name <> ''),
    made_by    text[] NOT NULL,
    made_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX entity_splits_part ON entity_splits (part_id);

-- Which mentions move: those that name `source_id` in this document while it has this access class.
-- `chunk_hash` restricts that to the chunk with this text; null: the whole document.
CREATE TABLE split_passages (
    split_id    uuid NOT NULL REFERENCES entity_splits ON DELETE CASCADE,
    source_id   uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    document_id uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    class_id    integer NOT NULL,
    chunk_hash  bytea,
    undone_by   text[],
    undone_at   timestamptz,
    UNIQUE NULLS NOT DISTINCT (split_id, source_id, document_id, chunk_hash)
);
CREATE INDEX split_passages_source ON split_passages (source_id);
CREATE INDEX split_passages_document ON split_passages (document_id);

-- A person's word, in the access class that the person named; it overrides what documents state. Null: nothing
-- said. `known_name` and `known_kind` are what the class called it then, for when its texts are gone.
-- `source_ids`: the chunks that the person names as the sources of a description (S1.7).
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
    source_ids      uuid[],
    attributes      jsonb NOT NULL DEFAULT '{}',
    alias_names     text[],
    PRIMARY KEY (named_as, class_id)
);
CREATE INDEX entity_edits_entity ON entity_edits (entity_id, class_id);
CREATE INDEX entity_edits_name ON entity_edits (normalized_name);

-- `comparison`: what people say of it, and `use_case`: what it is of use for; '' with every predicate but
-- COMPARED_TO.
CREATE TABLE relation_edits (
    stated_as   uuid NOT NULL REFERENCES relations ON DELETE CASCADE,
    relation_id uuid REFERENCES relations ON DELETE CASCADE,
    class_id    integer NOT NULL,
    keywords    text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    weight      real NOT NULL CHECK (weight > 0),
    said_by     text[] NOT NULL,
    said_at     timestamptz NOT NULL DEFAULT now(),
    comparison  text NOT NULL DEFAULT '',
    use_case    text NOT NULL DEFAULT '',
    PRIMARY KEY (stated_as, class_id)
);
CREATE INDEX relation_edits_relation ON relation_edits (relation_id, class_id);

-- ── links across systems: stated, proposed by rules, decided by people ───────────────────────────────

-- What speaks for a proposal, summed and named when its row is written, so that the review queue does not
-- unpack the evidence of every proposal.
CREATE FUNCTION evidence_points(evidence jsonb) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sum(points::float8) FROM jsonb_each_text(evidence -> 'points') AS said (name, points)
$$;
CREATE FUNCTION evidence_rule(evidence jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM jsonb_each_text(evidence -> 'points') AS said (name, points)
$$;

-- A row of a proposal or a decision is about two entities as two access classes know them: `class_id` is the
-- class of `from_ref`, `to_class_id` that of `to_ref`. Readers see it where they see both. A link that a
-- document states has `to_class_id` and `pair_id` null: it lives and changes its access class, `class_id`, with
-- that document. `pair_id` is the same for all rows about one pair and type: what readers see as the link's id.
-- `rule`: the names of the evidence that its proposer or decider saw; decisions are learned for equal rules. A
-- decision outlives the documents that name its ends, as a merge does, and holds no name: ids of entities
-- follow from their references (docs/decisions/0006), so it applies again when they return. So `from_ref` and
-- `to_ref` have no foreign keys.
CREATE TABLE entity_links (
    link_id     uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    from_ref    uuid NOT NULL,
    to_ref      uuid NOT NULL,
    class_id    integer NOT NULL,
    link_type   text NOT NULL CHECK (link_type IN
        ('same_as', 'related_to', 'belongs_to', 'mapped_to', 'thread_of', 'mentions')),
    directional boolean NOT NULL,
    confidence  real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    evidence    jsonb NOT NULL,
    created_by  text NOT NULL CHECK (created_by IN ('system', 'user', 'admin')),
    status      text NOT NULL CHECK (status IN ('proposed', 'confirmed', 'rejected')),
    expires_at  timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    document_id uuid REFERENCES source_documents ON DELETE CASCADE,
    to_class_id integer,
    pair_id     uuid,
    rule        text NOT NULL DEFAULT '',
    decided_by  text NOT NULL DEFAULT '',
    decided_at  timestamptz,
    points      float8 GENERATED ALWAYS AS (evidence_points(evidence)) STORED,
    points_rule text GENERATED ALWAYS AS (evidence_rule(evidence)) STORED,
    CHECK (pair_id IS NULL OR to_class_id IS NOT NULL)
);
CREATE INDEX entity_links_from ON entity_links (from_ref, link_type, status);
CREATE INDEX entity_links_to ON entity_links (to_ref, link_type, status);
CREATE INDEX entity_links_document ON entity_links (document_id) WHERE document_id IS NOT NULL;
CREATE UNIQUE INDEX entity_links_pair ON entity_links (pair_id, class_id, to_class_id) WHERE pair_id IS NOT NULL;
CREATE INDEX entity_links_decided ON entity_links (project_id, link_type, rule) WHERE decided_at IS NOT NULL;

-- Keys that find what may be linked: entities of business systems; derived from profiles, and gone with them.
CREATE TABLE entity_keys (
    entity_id  uuid NOT NULL,
    class_id   integer NOT NULL,
    project_id uuid NOT NULL,
    kind       text NOT NULL,
    value      text NOT NULL,
    PRIMARY KEY (entity_id, class_id, kind, value),
    FOREIGN KEY (entity_id, class_id) REFERENCES profiles (subject_id, class_id) ON DELETE CASCADE
);
CREATE INDEX entity_keys_value ON entity_keys (project_id, kind, md5(value), class_id);

-- Entities of business systems whose profile in a class has changed: links are proposed for these alone.
CREATE TABLE link_subjects (
    entity_id  uuid NOT NULL,
    class_id   integer NOT NULL,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    PRIMARY KEY (entity_id, class_id)
);
CREATE INDEX link_subjects_project ON link_subjects (project_id);

-- The confirmed links of these entities for readers of these classes. Of what people decided of a pair, the
-- latest that the reader sees counts, and it overrides what documents state. Whoever follows a link checks that
-- its far end is visible.
CREATE FUNCTION confirmed_links(entities uuid[], classes integer[])
RETURNS TABLE (near_id uuid, far_id uuid, link_type text, confidence real)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 AS $$
    SELECT near_id, far_id, link_type, confidence FROM (
        SELECT DISTINCT ON (near_id, far_id, is_source OR link_type IN ('same_as', 'related_to'), link_type)
               near_id, far_id, link_type, confidence, status
        FROM (
            SELECT from_ref AS near_id, to_ref AS far_id, true AS is_source, entity_links.* FROM entity_links
            WHERE from_ref = ANY(entities)
            UNION ALL
            SELECT to_ref, from_ref, false, entity_links.* FROM entity_links WHERE to_ref = ANY(entities)
        ) AS link
        WHERE class_id = ANY(classes) AND coalesce(to_class_id, class_id) = ANY(classes)
          AND status <> 'proposed' AND (expires_at IS NULL OR expires_at > now())
        ORDER BY near_id, far_id, is_source OR link_type IN ('same_as', 'related_to'), link_type,
                 decided_at DESC NULLS LAST, confidence DESC
    ) AS latest
    WHERE status = 'confirmed'
$$;

-- These entities with all that are one with them to these readers, by merges and by confirmed links `same_as`:
-- at most four links away.
CREATE FUNCTION with_same(entities uuid[], classes integer[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    members uuid[] := with_merged(entities, classes);
    found uuid[];
BEGIN
    FOR step IN 1..4 LOOP
        SELECT array_agg(DISTINCT far_id) INTO found FROM confirmed_links(members, classes)
        WHERE link_type = 'same_as' AND far_id <> ALL(members);
        EXIT WHEN found IS NULL;
        members := with_merged(members || found, classes);
    END LOOP;
    RETURN members;
END $$;

-- ── copies of the graph in another store; empty where the graph is in PostgreSQL ─────────────────────

-- The copy of one project: all published chunks and their documents, and what each access class says of
-- entities and relations. All of it carries `graph_id`, which a rebuild replaces; so does another `version` of
-- what is copied. `fence` grows with each batch that is written: a writer that was overtaken is refused by the
-- store. Reads use the copy once it is filled.
CREATE TABLE graph_copies (
    project_id uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    store      text NOT NULL CHECK (store IN ('neo4j', 'age')),
    graph_id   uuid NOT NULL,
    fence      bigint NOT NULL DEFAULT 0,
    is_filled  boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    version    integer NOT NULL DEFAULT 1
);

-- What the copy must still apply is recorded by the transaction that changes it, with the triggers below: here
-- chunks that changed, or whose mentions did. An applied change is kept for some minutes: a question that was
-- asked before it was applied may have read the older state, and leaves the chunk out.
CREATE TABLE graph_changes (
    chunk_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL,
    change_id  bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    changed_at timestamptz NOT NULL DEFAULT now(),
    applied_at timestamptz
);
CREATE INDEX graph_changes_open ON graph_changes (project_id, change_id) WHERE applied_at IS NULL;
CREATE INDEX graph_changes_applied ON graph_changes (project_id, applied_at) WHERE applied_at IS NOT NULL;

-- Documents (with class 0) and profiles that changed. No question reads them in the copy, so what is applied is
-- forgotten.
CREATE TABLE graph_description_changes (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    subject    text NOT NULL CHECK (subject IN ('document', 'entity', 'relation')),
    project_id uuid NOT NULL,
    change_id  bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX graph_description_changes_open ON graph_description_changes (project_id, change_id);

-- Copies of deleted projects and of earlier rebuilds, which their store must still delete.
CREATE TABLE dropped_graphs (
    graph_id uuid PRIMARY KEY,
    store    text NOT NULL
);

CREATE FUNCTION drop_graph_copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dropped_graphs (graph_id, store) VALUES (OLD.graph_id, OLD.store);
    DELETE FROM graph_changes WHERE project_id = OLD.project_id;
    DELETE FROM graph_description_changes WHERE project_id = OLD.project_id;
    RETURN NULL;
END $$;
CREATE TRIGGER drop_graph_copy AFTER DELETE ON graph_copies FOR EACH ROW EXECUTE FUNCTION drop_graph_copy();

-- What a document mentions is counted over its chunks, so with a chunk its document changes, too.
CREATE FUNCTION record_chunk_changes(chunks uuid[], documents uuid[], classes integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO graph_changes (chunk_id, project_id)
    SELECT DISTINCT chunk_id, project_id
    FROM unnest(chunks, classes) AS changed (chunk_id, class_id)
    JOIN access_classes USING (class_id) JOIN graph_copies USING (project_id)
    ORDER BY chunk_id
    ON CONFLICT (chunk_id) DO UPDATE
    SET change_id = DEFAULT,
        changed_at = CASE WHEN graph_changes.applied_at IS NULL THEN graph_changes.changed_at ELSE now() END,
        applied_at = NULL;
    INSERT INTO graph_description_changes (subject_id, class_id, subject, project_id)
    SELECT DISTINCT document_id, 0, 'document', project_id
    FROM unnest(documents, classes) AS changed (document_id, class_id)
    JOIN access_classes USING (class_id) JOIN graph_copies USING (project_id)
    WHERE document_id IS NOT NULL
    ORDER BY document_id
    ON CONFLICT (subject_id, class_id) DO UPDATE SET change_id = DEFAULT;
END $$;

-- A mention without its chunk went with it.
CREATE FUNCTION record_graph_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        PERFORM record_chunk_changes(array_agg(chunk_id), array_agg(chunk.document_id), array_agg(changed.class_id))
        FROM changed LEFT JOIN document_chunks AS chunk USING (chunk_id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_insert AFTER INSERT ON document_entity_mentions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes();
CREATE TRIGGER graph_update AFTER UPDATE ON document_entity_mentions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes();
CREATE TRIGGER graph_delete AFTER DELETE ON document_entity_mentions REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes();
CREATE TRIGGER graph_insert AFTER INSERT ON relation_mentions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes();
CREATE TRIGGER graph_update AFTER UPDATE ON relation_mentions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes();
CREATE TRIGGER graph_delete AFTER DELETE ON relation_mentions REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_graph_changes();

CREATE FUNCTION record_moved_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        PERFORM record_chunk_changes(array_agg(chunk_id), array_agg(changed.document_id), array_agg(changed.class_id))
        FROM changed JOIN earlier USING (chunk_id) WHERE changed.class_id <> earlier.class_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_update AFTER UPDATE ON document_chunks REFERENCING OLD TABLE AS earlier NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_moved_chunks();

CREATE FUNCTION record_deleted_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        PERFORM record_chunk_changes(array_agg(chunk_id), array_agg(document_id), array_agg(class_id)) FROM deleted;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_delete AFTER DELETE ON document_chunks REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION record_deleted_chunks();

CREATE FUNCTION record_document_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        INSERT INTO graph_description_changes (subject_id, class_id, subject, project_id)
        SELECT document_id, 0, 'document', changed.project_id
        FROM changed JOIN earlier USING (document_id) JOIN graph_copies ON graph_copies.project_id = changed.project_id
        WHERE changed.ingested_at IS NOT NULL
          AND (changed.class_id, changed.source_url, changed.title, changed.format, changed.author, changed.ingested_at,
               changed.chunk_count, changed.status, changed.is_deleted)
              IS DISTINCT FROM
              (earlier.class_id, earlier.source_url, earlier.title, earlier.format, earlier.author, earlier.ingested_at,
               earlier.chunk_count, earlier.status, earlier.is_deleted)
        ORDER BY document_id
        ON CONFLICT (subject_id, class_id) DO UPDATE SET change_id = DEFAULT;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_update AFTER UPDATE ON source_documents REFERENCING OLD TABLE AS earlier NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_document_changes();

CREATE FUNCTION record_profile_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_copies) THEN
        INSERT INTO graph_description_changes (subject_id, class_id, subject, project_id)
        SELECT subject_id, class_id, subject, project_id
        FROM changed JOIN access_classes USING (class_id) JOIN graph_copies USING (project_id)
        ORDER BY subject_id, class_id
        ON CONFLICT (subject_id, class_id) DO UPDATE SET change_id = DEFAULT;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_insert AFTER INSERT ON profiles REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_profile_changes();
CREATE TRIGGER graph_update AFTER UPDATE ON profiles REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_profile_changes();
CREATE TRIGGER graph_delete AFTER DELETE ON profiles REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION record_profile_changes();

-- ── what models said, so that nothing is paid for twice ──────────────────────────────────────────────

-- Replies of chat models. `expires_at`: replies that are kept for a time only, since keywords are words of a
-- question; these are found by a keyed hash.
CREATE TABLE extraction_cache (
    id           uuid PRIMARY KEY,
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    cache_type   text NOT NULL CHECK (cache_type IN
        ('ENTITY_EXTRACTION', 'GLEANING', 'SUMMARIZATION', 'KEYWORD_EXTRACTION')),
    chunk_id     uuid REFERENCES document_chunks ON DELETE SET NULL,
    content_hash text NOT NULL CHECK (length(content_hash) = 64),
    result       text NOT NULL,
    is_complete  boolean NOT NULL DEFAULT true,
    model        text NOT NULL DEFAULT '',
    input_tokens integer,
    tokens_used  integer,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    UNIQUE (project_id, cache_type, content_hash)
);
CREATE INDEX extraction_cache_chunk ON extraction_cache (chunk_id);
CREATE INDEX extraction_cache_loose ON extraction_cache (project_id) WHERE chunk_id IS NULL;
CREATE INDEX extraction_cache_expires ON extraction_cache (expires_at) WHERE expires_at IS NOT NULL;

-- ── durable work ─────────────────────────────────────────────────────────────────────────────────────

-- Whether nobody holds what was leased until this moment. No lease lasts two hours, so one that ends later was
-- given before the clock was set back: a process that died then would have held its work until the clock is
-- there again.
CREATE FUNCTION lease_is_over(ends timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT ends IS NULL OR ends < now() OR ends > now() + interval '2 hours'
$$;

-- One read of one source. Counts of a business system's run are for administrators; they are added up with each
-- page.
CREATE TABLE ingestion_runs (
    run_id        uuid PRIMARY KEY,
    project_id    uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    source_system text NOT NULL,
    started_at    timestamptz NOT NULL DEFAULT now(),
    finished_at   timestamptz,
    status        text NOT NULL CHECK (status IN ('running', 'complete', 'failed')),
    inserted      integer NOT NULL DEFAULT 0,
    updated       integer NOT NULL DEFAULT 0,
    deleted       integer NOT NULL DEFAULT 0,
    error_summary text NOT NULL DEFAULT '',
    scope         text NOT NULL DEFAULT '',
    source_key    uuid,
    unchanged     integer NOT NULL DEFAULT 0,
    unreadable    integer NOT NULL DEFAULT 0
);
CREATE INDEX ingestion_runs_project ON ingestion_runs (project_id, run_id);
CREATE INDEX ingestion_runs_source ON ingestion_runs (source_key, run_id) WHERE source_key IS NOT NULL;

-- Which documents a run changed. A reader's counts of a run are those of the documents that the reader sees
-- now, so they follow a document that changes its access tags, and a hard deletion takes them away.
CREATE TABLE ingestion_run_documents (
    run_id      uuid NOT NULL REFERENCES ingestion_runs ON DELETE CASCADE,
    document_id uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    change      text NOT NULL CHECK (change IN ('inserted', 'updated', 'deleted')),
    PRIMARY KEY (document_id, run_id)
);
CREATE INDEX ingestion_run_documents_run ON ingestion_run_documents (run_id);

-- Where the reading of a folder goes on.
CREATE TABLE ingestion_cursors (
    project_id    uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    source_system text NOT NULL,
    cursor_key    text NOT NULL,
    cursor_value  text NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, source_system, cursor_key)
);

-- `upload`: the bytes of a document that was handed in. `model_calls`, `input_tokens`, `output_tokens`: what
-- the extraction of the job's document has cost so far; `unknown_predicates`: how many of its relations had a
-- predicate outside the list.
CREATE TABLE ingestion_jobs (
    id                 uuid PRIMARY KEY,
    project_id         uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    document_id        uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    status             text NOT NULL DEFAULT 'queued' CHECK (status IN
        ('queued', 'chunking', 'embedding', 'extracting', 'complete', 'failed', 'cancelled')),
    current_step       text NOT NULL DEFAULT '',
    progress           integer NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    total_chunks       integer,
    processed_chunks   integer NOT NULL DEFAULT 0,
    error_code         text NOT NULL DEFAULT '',
    error_message      text NOT NULL DEFAULT '',
    attempts           integer NOT NULL DEFAULT 0,
    leased_by          text,
    leased_until       timestamptz,
    upload             bytea STORAGE EXTERNAL,
    started_at         timestamptz,
    completed_at       timestamptz,
    created_at         timestamptz NOT NULL DEFAULT now(),
    model_calls        integer NOT NULL DEFAULT 0,
    input_tokens       bigint NOT NULL DEFAULT 0,
    output_tokens      bigint NOT NULL DEFAULT 0,
    unknown_predicates integer NOT NULL DEFAULT 0
);
-- At most one unfinished job per document: what is newer replaces what has not begun.
CREATE UNIQUE INDEX ingestion_jobs_document ON ingestion_jobs (document_id)
    WHERE status IN ('queued', 'chunking', 'embedding', 'extracting');
CREATE INDEX ingestion_jobs_open ON ingestion_jobs (project_id, created_at, id)
    WHERE status IN ('queued', 'chunking', 'embedding', 'extracting');
-- A document's jobs, the latest first.
CREATE INDEX ingestion_jobs_history ON ingestion_jobs (document_id, id);

-- What a client got for a request of the last day that must have no second effect, so that the same request
-- again gets the same. `owner` is who sent it.
CREATE TABLE idempotency_keys (
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    owner        text NOT NULL,
    key          text NOT NULL,
    fingerprint  bytea NOT NULL,
    jobs         jsonb NOT NULL DEFAULT '[]',
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, owner, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (project_id, created_at);

-- ── business systems as sources ──────────────────────────────────────────────────────────────────────

-- What is configured, and how it goes.
CREATE TABLE sources (
    source_id            uuid PRIMARY KEY,
    project_id           uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name                 text NOT NULL,
    system               text NOT NULL,
    -- Addresses and names, never a secret: those stay in the environment.
    options              jsonb NOT NULL DEFAULT '{}',
    every_seconds        integer NOT NULL CHECK (every_seconds > 0),
    sweep_seconds        integer NOT NULL CHECK (sweep_seconds > 0),
    -- Whether people whom the directory lacks are added to it, by the e-mail address that the system has
    -- verified.
    adds_people          boolean NOT NULL DEFAULT false,
    next_sync_at         timestamptz NOT NULL DEFAULT now(),
    next_sweep_at        timestamptz NOT NULL DEFAULT now(),
    -- A webhook says that people or groups may have changed: they are read again at once.
    directory_due        boolean NOT NULL DEFAULT false,
    is_paused            boolean NOT NULL DEFAULT false,
    -- One process syncs a source at a time, whatever the number of processes.
    leased_by            text,
    leased_until         timestamptz,
    last_error           text NOT NULL DEFAULT '',
    -- What a sweep did not remove, because it was too much at once.
    sweep_warning        text NOT NULL DEFAULT '',
    failures_in_row      integer NOT NULL DEFAULT 0,
    created_at           timestamptz NOT NULL DEFAULT now(),
    -- A person has confirmed that the next sweep may remove many items at once; the sweep takes it back.
    allows_mass_deletion boolean NOT NULL DEFAULT false,
    -- What the access tags of this source begin with after the system's name, so that two installations of one
    -- system share none: '' for the first of its system in the project.
    tag_scope            text NOT NULL DEFAULT '',
    -- Webhooks by what became of them, for monitoring: they name no item.
    webhooks_taken       bigint NOT NULL DEFAULT 0,
    webhooks_repeated    bigint NOT NULL DEFAULT 0,
    -- When a person last asked for a sync: a system that keeps no dates of change is listed in full then.
    asked_at             timestamptz,
    UNIQUE (project_id, name)
);

-- What came from a source stays when the source is removed.
ALTER TABLE source_documents ADD FOREIGN KEY (source_key) REFERENCES sources ON DELETE SET NULL;
ALTER TABLE ingestion_runs ADD FOREIGN KEY (source_key) REFERENCES sources ON DELETE SET NULL;

-- Where a stream goes on; stored in the transaction that registers what came before.
CREATE TABLE source_cursors (
    source_id  uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    stream     text NOT NULL,
    cursor     text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, stream)
);

-- Items that webhooks name, and items that could not be read: each is fetched by its reference, once for all
-- requests.
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

-- The refs of a sweep under way: what is stored and not among them is gone. Unlogged, since a sweep that a
-- crash interrupts begins anew.
CREATE UNLOGGED TABLE swept_items (
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    item_ref  text NOT NULL,
    PRIMARY KEY (source_id, item_ref)
);

-- Items that a business system has merged into others: what named or linked the former one means the survivor
-- from then on.
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

-- ── people, groups and keys: who somebody is, and which access tags that person has now ──────────────

CREATE TABLE people (
    person_id    uuid PRIMARY KEY,
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    email        text NOT NULL DEFAULT '',
    display_name text NOT NULL DEFAULT '',
    acl_tags     text[] NOT NULL DEFAULT '{}',
    is_active    boolean NOT NULL DEFAULT true,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX people_email ON people (project_id, email) WHERE email <> '';
CREATE INDEX people_project ON people (project_id, person_id);

-- What other systems call a person: the account in a chat, the subject of an issuer's tokens.
CREATE TABLE person_external_ids (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    system      text NOT NULL,
    external_id text NOT NULL,
    person_id   uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    PRIMARY KEY (project_id, system, external_id)
);
CREATE INDEX person_external_ids_person ON person_external_ids (person_id);

-- Whom an account of a source was found to be, by a verified e-mail address: it stays that person when the
-- address changes.
CREATE TABLE source_people (
    source_key  uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    external_id text NOT NULL,
    person_id   uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    PRIMARY KEY (source_key, external_id)
);
CREATE INDEX source_people_person ON source_people (person_id);

-- `source_key`: the source that maintains it; what people made by hand has none and is never touched by a sync.
CREATE TABLE directory_groups (
    group_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name       text NOT NULL,
    acl_tags   text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    source_key uuid REFERENCES sources ON DELETE CASCADE,
    UNIQUE (project_id, name)
);
CREATE INDEX directory_groups_source ON directory_groups (source_key) WHERE source_key IS NOT NULL;

CREATE TABLE group_members (
    group_id  uuid NOT NULL REFERENCES directory_groups ON DELETE CASCADE,
    person_id uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    PRIMARY KEY (group_id, person_id)
);
CREATE INDEX group_members_person ON group_members (person_id);

-- Who may call the server. The secret itself is not stored, only its SHA-256: it is 32 random bytes. A key has
-- access tags of its own, or names a person, whose current tags it has. After a rotation the old secret stays
-- valid until `previous_until`.
CREATE TABLE api_keys (
    key_id         uuid PRIMARY KEY,
    project_id     uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name           text NOT NULL,
    secret_hash    bytea NOT NULL,
    scopes         text[] NOT NULL,
    acl_tags       text[] NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz,
    last_used_at   timestamptz,
    revoked_at     timestamptz,
    person_id      uuid REFERENCES people ON DELETE CASCADE,
    previous_hash  bytea,
    previous_until timestamptz
);
CREATE INDEX api_keys_project ON api_keys (project_id, created_at);
CREATE INDEX api_keys_person ON api_keys (person_id) WHERE person_id IS NOT NULL;

-- ── conversations, and how questions went ────────────────────────────────────────────────────────────

-- Each is its reader's own. `owner` is a hash of exactly the tags that began it: nobody else finds it.
CREATE TABLE conversations (
    conversation_id uuid PRIMARY KEY,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    owner           text NOT NULL CHECK (length(owner) = 64),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX conversations_owner ON conversations (project_id, owner, updated_at);

-- A question and its answer both name the documents that the answer cites: they are read back together or not
-- at all. `sayings` is what the graph said that a turn stands on: each is the name, the kind or a part of the
-- description of its subject. `class_ids`: what the reader saw when it was said; null where it was said before
-- this was kept.
CREATE TABLE conversation_turns (
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    place           integer NOT NULL CHECK (place >= 0),
    role            text NOT NULL CHECK (role IN ('user', 'assistant', 'system')),
    content         text NOT NULL,
    document_ids    uuid[] NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    subject_ids     uuid[] NOT NULL DEFAULT '{}',
    sayings         text[] NOT NULL DEFAULT '{}',
    class_ids       integer[],
    PRIMARY KEY (conversation_id, place),
    CHECK (cardinality(subject_ids) = cardinality(sayings))
);
CREATE INDEX conversation_turns_documents ON conversation_turns USING gin (document_ids);
CREATE INDEX conversation_turns_sayings ON conversation_turns (conversation_id) WHERE sayings <> '{}';

-- How questions went, without their words: people and questions only as hashes. A conversation is one session;
-- a question by itself has one of its own, without `conversation_hash`.
CREATE TABLE analytics_sessions (
    id                uuid PRIMARY KEY,
    project_id        uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    user_hash         text NOT NULL,
    started_at        timestamptz NOT NULL DEFAULT now(),
    ended_at          timestamptz,
    conversation_hash text UNIQUE
);
CREATE INDEX analytics_sessions_user ON analytics_sessions (project_id, user_hash, id);

-- `document_ids`: the documents that the answer cites; what people say about the answer goes when one of them
-- is deleted.
CREATE TABLE rag_queries (
    id                uuid PRIMARY KEY,
    project_id        uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    session_id        uuid REFERENCES analytics_sessions ON DELETE CASCADE,
    timestamp         timestamptz NOT NULL DEFAULT now(),
    query_hash        text NOT NULL,
    execution_time_ms integer NOT NULL,
    vector_hits       integer NOT NULL,
    graph_hits        integer NOT NULL,
    strategy_used     text NOT NULL CHECK (strategy_used IN ('vector_only', 'graph_only', 'hybrid')),
    document_ids      uuid[] NOT NULL DEFAULT '{}'
);
CREATE INDEX rag_queries_documents ON rag_queries USING gin (document_ids) WHERE document_ids <> '{}';
CREATE INDEX rag_queries_session ON rag_queries (session_id, id);

CREATE TABLE feedback_events (
    id         uuid PRIMARY KEY,
    query_id   uuid NOT NULL REFERENCES rag_queries ON DELETE CASCADE,
    rating     integer NOT NULL CHECK (rating BETWEEN 0 AND 5),
    comment    text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX feedback_events_query ON feedback_events (query_id);

-- `channels`: how each channel of a question did, {"words": {"ms": 4, "hits": 100}, ...}.
CREATE TABLE retrieval_metrics (
    id                       uuid PRIMARY KEY,
    query_id                 uuid NOT NULL REFERENCES rag_queries ON DELETE CASCADE,
    vector_search_ms         integer NOT NULL,
    vector_result_count      integer NOT NULL,
    vector_top_score         real NOT NULL,
    vector_avg_score         real NOT NULL,
    graph_traversal_ms       integer NOT NULL,
    graph_result_count       integer NOT NULL,
    graph_max_depth          integer NOT NULL,
    concepts_found           integer NOT NULL,
    fusion_ms                integer NOT NULL,
    overlap_count            integer NOT NULL,
    rrf_top_score            real NOT NULL,
    rerank_ms                integer NOT NULL,
    rerank_top_score         real NOT NULL,
    confidence_threshold_met boolean NOT NULL,
    final_context_tokens     integer NOT NULL,
    citation_count           integer NOT NULL,
    created_at               timestamptz NOT NULL DEFAULT now(),
    channels                 jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX retrieval_metrics_query ON retrieval_metrics (query_id);

-- ── what the processes of a server share; unlogged, so a crash may take it ───────────────────────────

-- When the bucket of each caller's quota is full again. After a crash all buckets are full.
CREATE UNLOGGED TABLE rate_limits (
    name    text PRIMARY KEY,
    quota   double precision NOT NULL,
    full_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- What each process has counted since it started, for `/metrics`: any of them can report the sums. No text, no
-- names.
CREATE UNLOGGED TABLE process_figures (
    process_id uuid PRIMARY KEY,
    figures    jsonb NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT now()
);

-- Streams of answers, kept for five minutes so that a client that lost its connection can read the rest. They
-- hold text of documents: a stream is gone when a chunk that its reader sees is deleted, replaced or moved to
-- another access class.
CREATE UNLOGGED TABLE answer_streams (
    stream_id  uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    owner      text NOT NULL,
    classes    integer[] NOT NULL,
    state      text NOT NULL DEFAULT 'open',
    created_at timestamptz NOT NULL DEFAULT now(),
    touched_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX answer_streams_created ON answer_streams (created_at);
CREATE INDEX answer_streams_project ON answer_streams (project_id);

CREATE UNLOGGED TABLE answer_stream_events (
    stream_id uuid NOT NULL REFERENCES answer_streams ON DELETE CASCADE,
    number    integer NOT NULL,
    kind      text NOT NULL,
    data      text NOT NULL,
    PRIMARY KEY (stream_id, number)
);
ALTER TABLE answer_stream_events ALTER COLUMN data SET STATISTICS 0;

CREATE FUNCTION forget_answer_streams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM answer_streams) THEN
        DELETE FROM answer_streams
        WHERE classes && ARRAY(SELECT DISTINCT class_id FROM withdrawn WHERE class_id <> 0);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_answer_streams AFTER DELETE ON document_chunks
    REFERENCING OLD TABLE AS withdrawn FOR EACH STATEMENT EXECUTE FUNCTION forget_answer_streams();

CREATE FUNCTION forget_moved_answer_streams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM answer_streams) THEN
        DELETE FROM answer_streams
        WHERE classes && ARRAY(
            SELECT DISTINCT withdrawn.class_id FROM withdrawn JOIN changed USING (chunk_id)
            WHERE withdrawn.class_id NOT IN (0, changed.class_id)
        );
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_moved_answer_streams AFTER UPDATE ON document_chunks
    REFERENCING OLD TABLE AS withdrawn NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION forget_moved_answer_streams();
