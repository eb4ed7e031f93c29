"""Tenants, projects, access classes: the walls, and who stands behind them."""

from collections.abc import Sequence

from lightwell.domain.access import Reader, Tags, user_of
from lightwell.domain.ids import ClassId, EntityId, ProjectId, new_id
from lightwell.records.database import Connection, Database, repeatable

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

_INTERN = """
INSERT INTO access_classes (project_id, tags) VALUES (%(project_id)s, %(tags)s)
ON CONFLICT (project_id, tags) DO NOTHING
"""

_FIND_CLASS = (
    "SELECT class_id FROM access_classes WHERE project_id = %(project_id)s AND tags = %(tags)s"
)

_VISIBLE = """
SELECT class_id FROM access_classes
WHERE project_id = %(project_id)s AND tags && %(tags)s::text[]
ORDER BY class_id
"""


_KNOWING = """
SELECT class.tags FROM access_classes AS class
WHERE class.class_id = ANY(%(classes)s)
  AND NOT EXISTS (
      SELECT FROM unnest(%(subjects)s::uuid[]) AS subject (id)
      WHERE NOT EXISTS (SELECT FROM profiles
                        WHERE profiles.subject_id = subject.id AND profiles.class_id = class.class_id))
ORDER BY class.class_id
"""


@repeatable
async def project(database: Database, tenant: str, name: str) -> ProjectId:
    """Return the project's id; the tenant and the project are made when they are new."""
    names = {"tenant": tenant, "project": name}
    async with database.transaction() as connection:
        found = await (await connection.execute(_FIND_PROJECT, names)).fetchone()
        if found is None:
            await connection.execute(_TENANT, {"id": new_id(), **names})
            await connection.execute(_PROJECT, {"id": new_id(), **names})
            found = await (await connection.execute(_FIND_PROJECT, names)).fetchone()
    assert found is not None  # noqa: S101 - one of the two statements has just made it
    return ProjectId(found[0])


async def class_of(connection: Connection, project_id: ProjectId, tags: Tags) -> ClassId:
    """Return the access class of exactly these tags, interned when it is new."""
    key = {"project_id": project_id, "tags": sorted(tags)}
    found = await (await connection.execute(_FIND_CLASS, key)).fetchone()
    if found is None:
        await connection.execute(_INTERN, key)
        found = await (await connection.execute(_FIND_CLASS, key)).fetchone()
    assert found is not None  # noqa: S101 - it has just been interned
    return ClassId(found[0])


async def tags_of_classes(
    database: Database, reader: Reader, subjects: Sequence[EntityId]
) -> list[Tags]:
    """Return the tags of those of the reader's classes that know each of these entities by its own name."""
    parameters = {"classes": list(reader.classes), "subjects": list(subjects)}
    return [frozenset(row[0]) for row in await database.rows(_KNOWING, parameters)]


async def reader(database: Database, project_id: ProjectId, tags: Tags, user: str = "") -> Reader:
    """Return the reader whose classes are those that share a tag with these; `user` "" is whom the tags name."""
    rows = await database.rows(_VISIBLE, {"project_id": project_id, "tags": sorted(tags)})
    return Reader(
        project_id=project_id,
        tags=tags,
        classes=tuple(ClassId(row[0]) for row in rows),
        user=user or user_of(tags),
    )
