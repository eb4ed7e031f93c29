-- What speaks for a proposal, summed and named when its row is written, so that the review queue does not unpack the evidence of
-- every proposal.
CREATE FUNCTION evidence_points(evidence jsonb) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sum(points::float8) FROM jsonb_each_text(evidence -> 'points') AS said (name, points)
$$;
CREATE FUNCTION evidence_rule(evidence jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM jsonb_each_text(evidence -> 'points') AS said (name, points)
$$;
ALTER TABLE entity_links
    ADD COLUMN points float8 GENERATED ALWAYS AS (evidence_points(evidence)) STORED,
    ADD COLUMN points_rule text GENERATED ALWAYS AS (evidence_rule(evidence)) STORED;
