"""The filters of a question. They belong inside each query: filtering afterwards would leave fewer results than the limit."""

from typing import LiteralString


def matches_filters(chunk: LiteralString) -> LiteralString:
    """Return SQL for whether the chunk is of a document that `domain.questions.Filters` are about, of its `parameters`."""
    return f"""(%(topic)s = '' OR EXISTS (
        SELECT FROM chunk_terms AS drawn WHERE drawn.chunk_id = {chunk} AND drawn.topic_tag = %(topic)s))
    AND (NOT %(are_by_document)s OR EXISTS (
        SELECT FROM document_chunks AS part JOIN source_documents AS origin USING (document_id)
        WHERE part.chunk_id = {chunk} AND sees(%(classes)s, origin.class_id)
          AND (%(system)s = '' OR origin.source_system = %(system)s) AND (%(kind)s = '' OR origin.source_type = %(kind)s)
          AND (%(since)s::date IS NULL OR origin.is_dated AND (origin.updated_at AT TIME ZONE 'UTC')::date >= %(since)s::date)
          AND (%(until)s::date IS NULL OR origin.is_dated AND (origin.updated_at AT TIME ZONE 'UTC')::date <= %(until)s::date)))"""  # noqa: S608 - only our own words
