-- Where an entity is best looked up, as one access class knows it: the URL that its texts give it, else the first
-- document that speaks of it.
ALTER TABLE profiles ADD COLUMN primary_url text
    GENERATED ALWAYS AS (coalesce(attributes ->> 'url', source_paths[1], '')) STORED;
CREATE INDEX profiles_kind ON profiles (entity_kind, lower(display_name)) WHERE subject = 'entity';
CREATE INDEX document_entity_mentions_time ON document_entity_mentions (entity_id, created_at);
