-- The system of record. Forward only and additive: later files add, none of them takes away.

CREATE EXTENSION IF NOT EXISTS vector;

-- ── the walls ────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE tenants (
    tenant_id  uuid PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE projects (
    project_id uuid PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    name       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, name)
);

-- One row per distinct set of tags. Class 0 is nobody's: what is not published yet carries it.
CREATE TABLE access_classes (
    class_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    tags       text[] NOT NULL,
    UNIQUE (project_id, tags)
);
CREATE INDEX access_classes_tags ON access_classes USING gin (tags);

-- ── documents and chunks ─────────────────────────────────────────────────────────────────────────────

CREATE TABLE source_documents (
    document_id   uuid PRIMARY KEY,
    project_id    uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    tenant_id     uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    global_ref    text NOT NULL,
    source_system text NOT NULL,
    source_type   text NOT NULL,
    source_id     text NOT NULL,
    source_url    text NOT NULL,
    title         text NOT NULL DEFAULT '',
    format        text NOT NULL,
    author        text NOT NULL DEFAULT '',
    author_ref    text,
    topic_tag     text NOT NULL DEFAULT '',
    language      text NOT NULL DEFAULT '',
    raw_payload   jsonb,
    text_content  text NOT NULL DEFAULT '',
    content_hash  text NOT NULL,
    file_size     bigint NOT NULL DEFAULT 0,
    metadata      jsonb NOT NULL DEFAULT '{}',
    acl_tags      text[] NOT NULL,
    class_id      integer NOT NULL,
    status        text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'chunking', 'embedding', 'extracting', 'active', 'failed', 'archived')),
    error_code    text NOT NULL DEFAULT '',
    error_message text NOT NULL DEFAULT '',
    chunk_count   integer NOT NULL DEFAULT 0,
    is_deleted    boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    ingested_at   timestamptz,
    UNIQUE (project_id, global_ref),
    UNIQUE (project_id, source_url)
);
CREATE INDEX source_documents_source ON source_documents (source_system, source_type, updated_at);
CREATE INDEX source_documents_tenant ON source_documents (tenant_id, updated_at);
CREATE INDEX source_documents_hash ON source_documents (content_hash);
CREATE INDEX source_documents_class ON source_documents (class_id, source_url);

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
    layout        jsonb,  -- where the pages and sections it touches begin and end
    has_code      boolean NOT NULL DEFAULT false,
    has_formula   boolean NOT NULL DEFAULT false,
    has_table     boolean NOT NULL DEFAULT false,
    language      text NOT NULL DEFAULT '',
    llm_cache_ids uuid[] NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL DEFAULT now()
);
-- A document being replaced has its old chunks (its class) and its new ones (class 0) side by side.
CREATE UNIQUE INDEX document_chunks_document ON document_chunks (document_id, chunk_index, (class_id = 0));
CREATE INDEX document_chunks_hash ON document_chunks (chunk_hash);

-- The full-text channel: a chunk's terms, with the frequency kept as the number of positions.
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

-- ── embedding spaces; each has its own table of vectors, made when the space is ───────────────────────

CREATE TABLE embedding_spaces (
    space_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    model      text NOT NULL,
    dimension  integer NOT NULL CHECK (dimension > 0),
    metric     text NOT NULL DEFAULT 'cosine',
    status     text NOT NULL CHECK (status IN ('building', 'active', 'retired')),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX embedding_spaces_active ON embedding_spaces (project_id) WHERE status = 'active';

-- Embeddings on their way in: computed once, kept until their document is published.
CREATE TABLE staged_vectors (
    space_id  integer NOT NULL REFERENCES embedding_spaces ON DELETE CASCADE,
    chunk_id  uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    embedding halfvec NOT NULL,
    PRIMARY KEY (chunk_id, space_id)
);

-- Chunks that went or changed their class: their copies in the indexes have still to follow. Until then the
-- reads hide them, since every hit is joined with document_chunks and the reader's classes.
CREATE TABLE index_changes (
    chunk_id   uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE
);

-- ── the graph: mentions are its truth ────────────────────────────────────────────────────────────────

-- What an entity is called, what kind it is and what is said of it stands in its profiles, one per class.
CREATE TABLE entities (
    entity_id       uuid PRIMARY KEY,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    entity_ref      text NOT NULL,
    normalized_name text NOT NULL,
    merged_into     uuid REFERENCES entities ON DELETE SET NULL,
    is_deleted      boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (project_id, entity_ref)
);
CREATE INDEX entities_name ON entities (project_id, normalized_name);

CREATE TABLE document_entity_mentions (
    entity_id    uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
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
    PRIMARY KEY (entity_id, class_id, chunk_id)
);
CREATE INDEX document_entity_mentions_chunk ON document_entity_mentions (chunk_id, entity_id) INCLUDE (class_id);

CREATE TABLE relations (
    relation_id uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    source_id   uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    target_id   uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    predicate   text NOT NULL CHECK (predicate IN
        ('PREREQUISITE', 'RELATED_TO', 'COMPARED_TO', 'PART_OF', 'USES', 'IMPLEMENTS', 'EXAMPLE_OF')),
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (source_id, target_id, predicate)
);
CREATE INDEX relations_target ON relations (target_id);

CREATE TABLE relation_mentions (
    relation_id uuid NOT NULL REFERENCES relations ON DELETE CASCADE,
    chunk_id    uuid NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
    class_id    integer NOT NULL,
    keywords    text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    weight      real NOT NULL CHECK (weight > 0),
    confidence  real NOT NULL CHECK (confidence BETWEEN 0.5 AND 1),
    comparison  text NOT NULL DEFAULT '',
    use_case    text NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (relation_id, class_id, chunk_id)
);
CREATE INDEX relation_mentions_chunk ON relation_mentions (chunk_id);

-- What one class says of one entity or relation; derived, and rebuilt by refresh.
CREATE TABLE profiles (
    subject_id      uuid NOT NULL,
    class_id        integer NOT NULL,
    subject         text NOT NULL CHECK (subject IN ('entity', 'relation')),
    display_name    text NOT NULL,
    entity_kind     text NOT NULL,
    description     text NOT NULL DEFAULT '',
    attributes      jsonb,
    weight          real NOT NULL DEFAULT 0,
    mention_count   integer NOT NULL,
    source_ids      uuid[] NOT NULL,
    source_paths    text[] NOT NULL,
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject_id, class_id)
);
CREATE INDEX profiles_sources ON profiles USING gin (source_ids);

-- What refresh has still to do; `delta` is by how many mentions the subject grew or shrank since.
CREATE TABLE stale_profiles (
    subject_id uuid NOT NULL,
    class_id   integer NOT NULL,
    subject    text NOT NULL CHECK (subject IN ('entity', 'relation')),
    delta      integer NOT NULL,
    PRIMARY KEY (subject_id, class_id)
);

CREATE TABLE entity_links (
    link_id     uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    from_ref    uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    to_ref      uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    class_id    integer NOT NULL,
    link_type   text NOT NULL CHECK (link_type IN
        ('same_as', 'related_to', 'belongs_to', 'mapped_to', 'thread_of', 'mentions')),
    directional boolean NOT NULL,
    confidence  real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    evidence    jsonb NOT NULL,
    created_by  text NOT NULL CHECK (created_by IN ('system', 'user', 'admin')),
    status      text NOT NULL CHECK (status IN ('proposed', 'confirmed', 'rejected')),
    expires_at  timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX entity_links_from ON entity_links (from_ref, link_type, status);
CREATE INDEX entity_links_to ON entity_links (to_ref, link_type, status);

-- ── what models said, so that nothing is paid for twice ──────────────────────────────────────────────

CREATE TABLE extraction_cache (
    id            uuid PRIMARY KEY,
    project_id    uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    cache_type    text NOT NULL CHECK (cache_type IN
        ('ENTITY_EXTRACTION', 'GLEANING', 'SUMMARIZATION', 'KEYWORD_EXTRACTION')),
    chunk_id      uuid REFERENCES document_chunks ON DELETE SET NULL,
    content_hash  text NOT NULL CHECK (length(content_hash) = 64),
    result        text NOT NULL,
    is_complete   boolean NOT NULL DEFAULT true,
    model         text NOT NULL DEFAULT '',
    input_tokens  integer,
    tokens_used   integer,
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (project_id, cache_type, content_hash)
);
CREATE INDEX extraction_cache_chunk ON extraction_cache (chunk_id);

-- ── durable work ─────────────────────────────────────────────────────────────────────────────────────

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
    error_summary text NOT NULL DEFAULT ''
);

CREATE TABLE ingestion_cursors (
    project_id    uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    source_system text NOT NULL,
    cursor_key    text NOT NULL,
    cursor_value  text NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, source_system, cursor_key)
);

CREATE TABLE ingestion_jobs (
    id               uuid PRIMARY KEY,
    project_id       uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    document_id      uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    status           text NOT NULL DEFAULT 'queued' CHECK (status IN
        ('queued', 'chunking', 'embedding', 'extracting', 'complete', 'failed', 'cancelled')),
    current_step     text NOT NULL DEFAULT '',
    progress         integer NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    total_chunks     integer,
    processed_chunks integer NOT NULL DEFAULT 0,
    error_code       text NOT NULL DEFAULT '',
    error_message    text NOT NULL DEFAULT '',
    attempts         integer NOT NULL DEFAULT 0,
    leased_by        text,
    leased_until     timestamptz,
    upload           bytea,
    started_at       timestamptz,
    completed_at     timestamptz,
    created_at       timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE ingestion_jobs ALTER COLUMN upload SET STORAGE EXTERNAL;
-- At most one unfinished job per document: what is newer replaces what has not begun.
CREATE UNIQUE INDEX ingestion_jobs_document ON ingestion_jobs (document_id)
    WHERE status IN ('queued', 'chunking', 'embedding', 'extracting');
CREATE INDEX ingestion_jobs_open ON ingestion_jobs (project_id, created_at, id)
    WHERE status IN ('queued', 'chunking', 'embedding', 'extracting');

-- ── what was asked, and how it went; people and questions only as hashes ─────────────────────────────

CREATE TABLE analytics_sessions (
    id         uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    user_hash  text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz
);

CREATE TABLE rag_queries (
    id                uuid PRIMARY KEY,
    project_id        uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    session_id        uuid REFERENCES analytics_sessions ON DELETE CASCADE,
    timestamp         timestamptz NOT NULL DEFAULT now(),
    query_hash        text NOT NULL,
    execution_time_ms integer NOT NULL,
    vector_hits       integer NOT NULL,
    graph_hits        integer NOT NULL,
    strategy_used     text NOT NULL CHECK (strategy_used IN ('vector_only', 'graph_only', 'hybrid'))
);

CREATE TABLE feedback_events (
    id         uuid PRIMARY KEY,
    query_id   uuid NOT NULL REFERENCES rag_queries ON DELETE CASCADE,
    rating     integer NOT NULL CHECK (rating BETWEEN 0 AND 5),
    comment    text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now()
);

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
    created_at               timestamptz NOT NULL DEFAULT now()
);
