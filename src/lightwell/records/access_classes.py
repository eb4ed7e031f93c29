"""Tenants, projects, access classes, and the resolution of readers."""

from collections.abc import Sequence

from lightwell.domain.access import ClassSet, Reader, Tags, user_from_tags
from lightwell.domain.ids import ClassId, EntityId, ProjectId, new_id
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.rows import fetch_values

_TENANT = """
INSERT INTO tenants (tenant_id, name) VALUES (%(id)s, %(tenant)s) ON CONFLICT (name) DO NOTHING
"""

_PROJECT = """
INSERT INTO projects (project_id, tenant_id, name)
SELECT %(id)s, tenant_id, %(project)s FROM tenants WHERE name = %(tenant)s
ON CONFLICT (tenant_id, name) DO NOTHING
"""

_FIND_PROJECT = """
SELECT project_id FROM projects JOIN tenants USING (tenant_id)
WHERE tenants.name = %(tenant)s AND projects.name = %(project)s
"""

_INSERT_CLASS = """
INSERT INTO access_classes (project_id, tags) VALUES (%(project_id)s, %(tags)s)
ON CONFLICT (project_id, tags) DO NOTHING
"""

_FIND_CLASS = (
    "SELECT class_id FROM access_classes WHERE project_id = %(project_id)s AND tags = %(tags)s"
)

_VISIBLE = """
SELECT class_id, tags <@ %(tags)s::text[] FROM access_classes
WHERE project_id = %(project_id)s AND tags && %(tags)s::text[]
ORDER BY class_id
"""


_CLASSES_WITH_PROFILES = """
SELECT class.tags FROM access_classes AS class
WHERE sees(%(classes)s, class.class_id)
  AND NOT EXISTS (
      SELECT FROM unnest(%(subjects)s::uuid[]) AS subject (id)
      WHERE NOT EXISTS (SELECT FROM profiles
                        WHERE profiles.subject_id = subject.id AND profiles.class_id = class.class_id))
ORDER BY class.class_id
"""


@repeatable
async def get_or_create_project(database: Database, tenant: str, name: str) -> ProjectId:
    """Return the project's id; create the tenant and the project if they do not exist."""
    names = {"tenant": tenant, "project": name}
    async with database.transaction() as connection:
        projects = await fetch_values(connection, _FIND_PROJECT, names)
        if not projects:
            await connection.execute(_TENANT, {"id": new_id(), **names})
            await connection.execute(_PROJECT, {"id": new_id(), **names})
            projects = await fetch_values(connection, _FIND_PROJECT, names)
    return projects[0]


async def get_or_create_class(connection: Connection, project_id: ProjectId, tags: Tags) -> ClassId:
    """Return the access class of exactly these tags; create it if it does not exist."""
    key = {"project_id": project_id, "tags": sorted(tags)}
    classes = await fetch_values(connection, _FIND_CLASS, key)
    if not classes:
        await connection.execute(_INSERT_CLASS, key)
        classes = await fetch_values(connection, _FIND_CLASS, key)
    return classes[0]


async def list_class_tags(
    database: Database, reader: Reader, subjects: Sequence[EntityId]
) -> list[Tags]:
    """Return the tags of those of the reader's own classes that have a profile of each of these entities."""
    parameters = {"classes": reader.own_classes, "subjects": list(subjects)}
    return [frozenset(tags) for tags in await database.values(_CLASSES_WITH_PROFILES, parameters)]


async def resolve_reader(
    database: Database, project_id: ProjectId, tags: Tags, user: str = ""
) -> Reader:
    """Return the reader with the classes that share a tag with `tags`; without `user`, the user that the tags name."""
    rows = await database.rows(_VISIBLE, {"project_id": project_id, "tags": sorted(tags)})
    return Reader(
        project_id=project_id,
        tags=tags,
        classes=ClassSet(class_id for class_id, _ in rows),
        own_classes=ClassSet(class_id for class_id, is_own in rows if is_own),
        user=user or user_from_tags(tags),
    )


def page_parameters(reader: Reader, *, after: object, limit: int) -> dict[str, object]:
    """Return the parameters of a query for a page of what applies to a reader, beyond the entry `after`."""
    return {**reader.parameters, "after": after, "limit": limit}
