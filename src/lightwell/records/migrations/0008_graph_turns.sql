-- What the graph said that a turn stands on: each saying is the name, the kind or a part of the description of its subject.
ALTER TABLE conversation_turns ADD COLUMN subject_ids uuid[] NOT NULL DEFAULT '{}';
ALTER TABLE conversation_turns ADD COLUMN sayings text[] NOT NULL DEFAULT '{}';
ALTER TABLE conversation_turns ADD CHECK (cardinality(subject_ids) = cardinality(sayings));
CREATE INDEX conversation_turns_sayings ON conversation_turns (conversation_id) WHERE sayings <> '{}';
