-- Several bear one name: where texts of one access class contradict each other in an attribute that distinguishes, each
-- value has an entity of its own there. See docs/decisions/0008-contradicting-attributes-separate-bearers.md.

CREATE TABLE entity_bearers (
    source_id uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    class_id  integer NOT NULL,
    field     text NOT NULL CHECK (field IN ('email', 'domain', 'owner', 'location')),
    value     text NOT NULL,
    bearer_id uuid NOT NULL REFERENCES entities ON DELETE CASCADE,
    PRIMARY KEY (source_id, class_id, field, value)
);
CREATE INDEX entity_bearers_bearer ON entity_bearers (bearer_id);

CREATE INDEX document_entity_mentions_email ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'email')) WHERE attributes ->> 'email' IS NOT NULL;
CREATE INDEX document_entity_mentions_domain ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'domain')) WHERE attributes ->> 'domain' IS NOT NULL;
CREATE INDEX document_entity_mentions_owner ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'owner')) WHERE attributes ->> 'owner' IS NOT NULL;
CREATE INDEX document_entity_mentions_location ON document_entity_mentions
    (named_as, class_id, lower(attributes ->> 'location')) WHERE attributes ->> 'location' IS NOT NULL;
