"""Remembers the access tags that `--acl` gave to folders and files."""

from lightwell.domain.access import Tags
from lightwell.domain.folder_tags import FolderTags, urls_at_and_above
from lightwell.domain.ids import ProjectId
from lightwell.records.database import Database, repeatable

_AROUND = """
SELECT folder_url, acl_tags FROM folder_tags
WHERE project_id = %(project_id)s AND (folder_url = ANY(%(above)s) OR starts_with(folder_url, %(inside)s))
ORDER BY folder_url
"""

_FORGET = """
DELETE FROM folder_tags
WHERE project_id = %(project_id)s AND starts_with(folder_url, %(inside)s)
"""

_REMEMBER = """
INSERT INTO folder_tags (project_id, folder_url, acl_tags) VALUES (%(project_id)s, %(url)s, %(tags)s)
ON CONFLICT (project_id, folder_url) DO UPDATE SET acl_tags = excluded.acl_tags
"""


async def list_around(database: Database, project_id: ProjectId, url: str) -> FolderTags:
    """Return what is remembered of this file or folder, of the folders above it, and of all below it.

    `list_around(…, url).find(url)` are the tags of a file for which nothing else names any.
    """
    facts = {
        "project_id": project_id,
        "above": list(urls_at_and_above(url)),
        "inside": _inside(url),
    }
    rows = await database.rows(_AROUND, facts)
    return FolderTags({folder: frozenset(tags) for folder, tags in rows})


@repeatable
async def remember(
    database: Database, project_id: ProjectId, url: str, tags: Tags, *, replaces_inside: bool
) -> None:
    """Remember these tags for a file or folder; `replaces_inside` forgets those of what is in the folder."""
    facts = {"project_id": project_id, "url": url, "inside": _inside(url), "tags": sorted(tags)}
    async with database.transaction() as connection:
        if replaces_inside:
            await connection.execute(_FORGET, facts)
        await connection.execute(_REMEMBER, facts)


def _inside(url: str) -> str:
    """Return how the URLs of all below a folder begin."""
    return url.rstrip("/") + "/"
