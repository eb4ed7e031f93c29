-- Conversations, each its reader's own.

-- `owner` is a hash of exactly the tags that began it: nobody else finds it.
CREATE TABLE conversations (
    conversation_id uuid PRIMARY KEY,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    owner           text NOT NULL CHECK (length(owner) = 64),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX conversations_owner ON conversations (project_id, owner, updated_at);

-- A question and its answer both name the documents that the answer cites: they are read back together or not at all.
CREATE TABLE conversation_turns (
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    place           integer NOT NULL CHECK (place >= 0),
    role            text NOT NULL CHECK (role IN ('user', 'assistant', 'system')),
    content         text NOT NULL,
    document_ids    uuid[] NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, place)
);
CREATE INDEX conversation_turns_documents ON conversation_turns USING gin (document_ids);

-- Names that nearly fit: a brief on "Marlowe" offers Marlowe Dairy and Marlowe Ltd.
CREATE INDEX entities_near ON entities USING gin (normalized_name gin_trgm_ops);
