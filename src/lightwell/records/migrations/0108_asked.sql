-- When a person last asked for a sync: a system that keeps no dates of change is listed in full then.
ALTER TABLE sources ADD COLUMN asked_at timestamptz;
