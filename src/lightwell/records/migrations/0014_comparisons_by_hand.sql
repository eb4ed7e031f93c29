-- What people say of a comparison, and what it is of use for; "" with every other predicate.
ALTER TABLE relation_edits ADD COLUMN comparison text NOT NULL DEFAULT '';
ALTER TABLE relation_edits ADD COLUMN use_case text NOT NULL DEFAULT '';
