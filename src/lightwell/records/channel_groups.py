"""Groups of chat platforms in the database, and the tags of which their members may see what is shared there."""

from lightwell.domain.access import Tags
from lightwell.domain.channels import BoundGroup, Platform
from lightwell.domain.ids import ProjectId
from lightwell.records.database import Database

_BIND = """
INSERT INTO channel_groups (project_id, platform, chat, acl_tags)
VALUES (%(project_id)s, %(platform)s, %(chat)s, %(acl_tags)s)
ON CONFLICT (project_id, platform, chat) DO UPDATE SET acl_tags = EXCLUDED.acl_tags, bound_at = now()
RETURNING platform, chat, acl_tags, bound_at
"""

_UNBIND = """
DELETE FROM channel_groups WHERE project_id = %(project_id)s AND platform = %(platform)s AND chat = %(chat)s
"""

_LIST = """
SELECT platform, chat, acl_tags, bound_at FROM channel_groups
WHERE project_id = %(project_id)s ORDER BY platform, chat
"""

_TAGS = """
SELECT acl_tags FROM channel_groups
WHERE project_id = %(project_id)s AND platform = %(platform)s AND chat = %(chat)s
"""


async def bind(
    database: Database, project_id: ProjectId, platform: Platform, chat: str, tags: Tags
) -> BoundGroup:
    """Bind a group to access tags, instead of those that it is bound to."""
    row = _chat(project_id, platform, chat) | {"acl_tags": sorted(tags)}
    return (await database.rows(_BIND, row, into=BoundGroup))[0]


async def unbind(database: Database, project_id: ProjectId, platform: Platform, chat: str) -> bool:
    """Unbind a group; return whether it was bound."""
    return await database.execute(_UNBIND, _chat(project_id, platform, chat)) > 0


async def list_groups(database: Database, project_id: ProjectId) -> list[BoundGroup]:
    """Return the bound groups by platform and id."""
    return await database.rows(_LIST, {"project_id": project_id}, into=BoundGroup)


async def find_tags(
    database: Database, project_id: ProjectId, platform: Platform, chat: str
) -> Tags | None:
    """Return the tags that a group is bound to, None where it is not bound."""
    tags = await database.value(_TAGS, _chat(project_id, platform, chat))
    return None if tags is None else frozenset(tags)


def _chat(project_id: ProjectId, platform: Platform, chat: str) -> dict[str, object]:
    return {"project_id": project_id, "platform": platform, "chat": chat}
