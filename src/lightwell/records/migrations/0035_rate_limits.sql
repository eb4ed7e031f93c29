-- When the bucket of each caller is full again. It may be lost in a crash: then all buckets are full.

CREATE UNLOGGED TABLE rate_limits (
    name    text PRIMARY KEY,
    quota   double precision NOT NULL,
    full_at timestamptz NOT NULL
) WITH (fillfactor = 50);
