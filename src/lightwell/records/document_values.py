"""Which systems, types and authors a reader's documents have, of those that a question names."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.access import Reader
from lightwell.records.database import Database
from lightwell.records.filters import is_by

_NAMED = f"""
SELECT 'system' AS field, wanted.name AS named, wanted.name AS value FROM unnest(%(systems)s::text[]) AS wanted (name)
WHERE EXISTS (SELECT FROM source_documents AS document
              WHERE document.project_id = %(project_id)s AND sees(%(classes)s, document.class_id) AND NOT document.is_deleted
                AND document.source_system = wanted.name)
UNION ALL
SELECT 'type', wanted.name, wanted.name FROM unnest(%(kinds)s::text[]) AS wanted (name)
WHERE EXISTS (SELECT FROM source_documents AS document
              WHERE document.project_id = %(project_id)s AND sees(%(classes)s, document.class_id) AND NOT document.is_deleted
                AND document.source_type = wanted.name)
UNION ALL
SELECT DISTINCT 'author', wanted.name, document.author
FROM source_documents AS document JOIN unnest(%(authors)s::text[]) AS wanted (name) ON {is_by("document.author", "wanted.name")}
WHERE document.project_id = %(project_id)s AND sees(%(classes)s, document.class_id) AND NOT document.is_deleted
  AND document.author <> ''
ORDER BY field, named, value
"""  # noqa: S608 - only our own words


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedValue:
    """A value of the field `system`, `type` or `author` that documents have, and how it was named."""

    field: str
    named: str
    value: str


async def find_named(
    database: Database,
    reader: Reader,
    *,
    systems: Sequence[str],
    kinds: Sequence[str],
    authors: Sequence[str],
) -> list[NamedValue]:
    """Return those of the systems and types that the reader's documents have, and the authors with such names, in order."""
    parameters = {
        **reader.parameters,
        "systems": list(systems),
        "kinds": list(kinds),
        "authors": list(authors),
    }
    return await database.rows(_NAMED, parameters, into=NamedValue)
