-- A document's text stands in its chunks, and nowhere else.

-- The published text of a document of this access class, from `first` to before `past`. White space between two chunks stands in none of
-- them; `text_between_chunks` in domain/documents.py has the same rule.
CREATE FUNCTION document_text(document uuid, class integer, first integer DEFAULT 0, past integer DEFAULT 2147483647)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(substr(string_agg(gap || chunk_text, '' ORDER BY chunk_index),
                           first - min(start_offset - length(gap)) + 1, greatest(past - first, 0)), '')
    FROM (
        SELECT chunk_index, start_offset, end_offset, chunk_text,
               CASE start_offset - earlier WHEN 1 THEN ' ' ELSE repeat(E'\n', start_offset - earlier) END AS gap
        FROM (
            SELECT chunk_index, start_offset, end_offset, chunk_text, lag(end_offset, 1, 0) OVER (ORDER BY chunk_index) AS earlier
            FROM document_chunks WHERE document_id = document AND class_id = class AND class_id <> 0
        ) AS chunk
    ) AS piece
    WHERE end_offset > first AND start_offset - length(gap) < past
$$;

-- The last line writes the table anew, without what goes.
ALTER TABLE source_documents DROP COLUMN text_content;
ALTER TABLE source_documents ALTER COLUMN chunk_count TYPE integer USING chunk_count + 0;
