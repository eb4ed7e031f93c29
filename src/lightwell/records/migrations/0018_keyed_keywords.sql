-- The hash of a question could be guessed: the kept keywords of questions are found by a keyed one.
UPDATE extraction_cache SET content_hash = keyed_hash(project_id, content_hash) WHERE cache_type = 'KEYWORD_EXTRACTION';
