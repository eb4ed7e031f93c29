-- A conversation is one analytics session; a question by itself has one of its own, without this.
ALTER TABLE analytics_sessions ADD COLUMN conversation_hash text UNIQUE;
