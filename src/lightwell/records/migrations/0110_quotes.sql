-- The sentence that rules quote from a chunk to describe an entity or a relation, and how well it does: a lower rank is better.
-- A profile holds the best of its own class; readers see it where nobody states a description.
ALTER TABLE document_entity_mentions ADD COLUMN quote text NOT NULL DEFAULT '', ADD COLUMN quote_rank smallint NOT NULL DEFAULT 0;
ALTER TABLE relation_mentions ADD COLUMN quote text NOT NULL DEFAULT '', ADD COLUMN quote_rank smallint NOT NULL DEFAULT 0;
ALTER TABLE profiles ADD COLUMN quote text NOT NULL DEFAULT '', ADD COLUMN quote_rank smallint NOT NULL DEFAULT 0;
