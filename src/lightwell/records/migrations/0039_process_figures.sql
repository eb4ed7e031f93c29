-- What each process of a server has counted since it started, so that any of them can report the sums. No text, no names.

CREATE UNLOGGED TABLE process_figures (
    process_id uuid PRIMARY KEY,
    figures    jsonb NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT now()
);
