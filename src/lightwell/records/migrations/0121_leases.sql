-- Whether nobody holds what was leased until this moment. No lease lasts two hours, so one that ends later was given before
-- the clock was set back: a process that died then would have held its work until the clock is there again.
CREATE FUNCTION lease_is_over(ends timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT ends IS NULL OR ends < now() OR ends > now() + interval '2 hours'
$$;
