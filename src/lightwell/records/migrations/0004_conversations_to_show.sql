-- What is shown again of an answer: its sentences with their citations. It goes with its turn, and so with the documents that it cites.
ALTER TABLE conversation_turns ADD COLUMN answer jsonb;

-- Titles that people gave to their conversations. One may tell what the answers say, so it goes with their documents, as a turn does.
CREATE TABLE conversation_titles (
    conversation_id uuid PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    title           text NOT NULL CHECK (title <> ''),
    document_ids    uuid[] NOT NULL,
    class_ids       integer[] NOT NULL
);
CREATE INDEX conversation_titles_documents ON conversation_titles USING gin (document_ids);
