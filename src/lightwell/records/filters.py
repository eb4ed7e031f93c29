"""The filters of a question. They belong inside each query: filtering afterwards would leave fewer results than the limit."""

from typing import LiteralString

_WORDS: LiteralString = "regexp_split_to_array(lower({}), '[[:space:],;]+')"


def is_by(author: LiteralString, name: LiteralString) -> LiteralString:
    """Return SQL for whether the author's name has all words of the other name, in any case; blanks alone separate these words.

    Of 100,000 names taking words apart takes 500 ms, and 40 of those that contain the first word.
    """
    contains = f"strpos(lower({author}), lower(split_part({name}, ' ', 1))) > 0"
    return f"({contains} AND {_WORDS.replace('{}', author)} @> {_WORDS.replace('{}', name)})"


def matches_document(document: LiteralString) -> LiteralString:
    """Return SQL for whether the row of `source_documents` is one that `domain.questions.Filters` are about, but for its topic."""
    return f"""(%(systems)s::text[] = '{{}}' OR {document}.source_system = ANY(%(systems)s::text[]))
          AND (%(kinds)s::text[] = '{{}}' OR {document}.source_type = ANY(%(kinds)s::text[]))
          AND (%(sources)s::text[] = '{{}}' OR EXISTS (
              SELECT FROM sources AS named WHERE named.source_id = {document}.source_key AND named.name = ANY(%(sources)s::text[])))
          AND (%(authors)s::text[] = '{{}}' OR EXISTS (
              SELECT FROM unnest(%(authors)s::text[]) AS wanted (name) WHERE {is_by(document + ".author", "wanted.name")}))
          AND (%(access_tags)s::text[] = '{{}}' OR {document}.acl_tags && %(access_tags)s::text[])
          AND (%(metadata)s::jsonb = '{{}}' OR {document}.metadata @> %(metadata)s::jsonb)
          AND (%(since)s::date IS NULL OR {document}.is_dated AND ({document}.updated_at AT TIME ZONE 'UTC')::date >= %(since)s::date)
          AND (%(until)s::date IS NULL OR {document}.is_dated AND ({document}.updated_at AT TIME ZONE 'UTC')::date <= %(until)s::date)"""  # noqa: S608 - only our own words


def matches_filters(chunk: LiteralString) -> LiteralString:
    """Return SQL for whether the chunk is of a document that `domain.questions.Filters` are about, of its `parameters`."""
    return f"""(%(topic)s = '' OR EXISTS (
        SELECT FROM chunk_terms AS drawn WHERE drawn.chunk_id = {chunk} AND drawn.topic_tag = %(topic)s))
    AND (NOT %(are_by_document)s OR EXISTS (
        SELECT FROM document_chunks AS part JOIN source_documents AS origin USING (document_id)
        WHERE part.chunk_id = {chunk} AND sees(%(classes)s, origin.class_id)
          AND {matches_document("origin")}))"""  # noqa: S608 - only our own words
