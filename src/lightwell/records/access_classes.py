"""Tenants, projects, access classes, and the resolution of readers."""

from collections import OrderedDict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import LiteralString

from lightwell.domain.access import ClassSet, Reader, Tags, is_visible, user_from_tags
from lightwell.domain.ids import ClassId, EntityId, ProjectId, new_id
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.rows import fetch_values

_MAX_REMEMBERED = 200_000
"""How many classes a process remembers for a project, of all readers together: the latest reader's in any case."""

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

# Which store answers, and what it has committed: of the transactions before this one, everything. A dump that is restored into the same
# database makes the table anew, in another file.
_STATE: LiteralString = """
(SELECT oid::text FROM pg_database WHERE datname = current_database()) || ' ' || pg_postmaster_start_time()
    || ' ' || pg_relation_filenode('access_classes') AS store,
pg_snapshot_xmin(pg_current_snapshot())::text AS known_until"""

_VISIBLE = f"""
SELECT {_STATE}, coalesce(array_agg(class_id ORDER BY class_id), '{{}}') AS classes,
       coalesce(array_agg(class_id ORDER BY class_id) FILTER (WHERE tags <@ %(tags)s::text[]), '{{}}') AS own_classes
FROM access_classes
WHERE project_id = %(project_id)s AND tags && %(tags)s::text[]
"""  # noqa: S608 - only our own words

# A transaction after this one made no class that is seen: such a number came with a backup of another server, and so did the class.
_MADE_SINCE = f"""
SELECT {_STATE}, class.class_id, class.tags
FROM (SELECT) AS always
LEFT JOIN access_classes AS class
    ON project_id = %(project_id)s AND made_by >= %(since)s::xid8 AND made_by < pg_snapshot_xmax(pg_current_snapshot())
"""  # noqa: S608 - only our own words

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleClasses:
    """The classes that some tags see, and those of them of which they are all tags.

    They are complete for the transactions before `known_until`; `store` differs where another database answers, or a restarted or restored one.
    """

    store: str
    known_until: str
    classes: ClassSet
    own_classes: ClassSet


class Readers:
    """Resolves the readers of one project, and remembers the classes of those who see many.

    Each request reads the classes that were made since, so that what is remembered is what a new resolution would find. Readers with
    the same tags share it, and nobody else's request is quicker for it.
    """

    def __init__(self, database: Database, project_id: ProjectId) -> None:
        self._database = database
        self._project_id = project_id
        self._known: OrderedDict[Tags, VisibleClasses] = OrderedDict()

    async def resolve(self, tags: Tags, user: str = "") -> Reader:
        """Return the reader that `resolve_reader` returns."""
        visible = await self._follow(tags)
        if visible is None:
            visible = await _read_visible(self._database, self._project_id, tags)
        self._remember(tags, visible)
        return _make_reader(self._project_id, tags, user, visible)

    async def _follow(self, tags: Tags) -> VisibleClasses | None:
        """Return what is remembered with the classes that were made since, None where nothing is."""
        remembered = self._known.get(tags)
        if remembered is None:
            return None
        parameters = {"project_id": self._project_id, "since": remembered.known_until}
        made = await self._database.rows(_MADE_SINCE, parameters)
        (store, known_until, *_), *_ = made
        if store != remembered.store:
            return None
        new = {class_id: frozenset(theirs) for *_, class_id, theirs in made if class_id is not None}
        visible = {class_id for class_id, theirs in new.items() if is_visible(theirs, tags)}
        return VisibleClasses(
            store=store,
            known_until=known_until,
            classes=_with(remembered.classes, visible),
            own_classes=_with(
                remembered.own_classes, {class_id for class_id in visible if new[class_id] <= tags}
            ),
        )

    def _remember(self, tags: Tags, visible: VisibleClasses) -> None:
        self._known.pop(tags, None)
        if not visible.classes.is_listed:
            self._known[tags] = visible
        while len(self._known) > 1 and sum(len(its.classes) for its in self._known.values()) > (
            _MAX_REMEMBERED
        ):
            self._known.popitem(last=False)


async def resolve_reader(
    database: Database, project_id: ProjectId, tags: Tags, user: str = ""
) -> Reader:
    """Return the reader with the classes that share a tag with `tags`; without `user`, the user that the tags name."""
    return _make_reader(project_id, tags, user, await _read_visible(database, project_id, tags))


async def _read_visible(database: Database, project_id: ProjectId, tags: Tags) -> VisibleClasses:
    parameters = {"project_id": project_id, "tags": sorted(tags)}
    ((store, known_until, classes, own_classes),) = await database.rows(_VISIBLE, parameters)
    return VisibleClasses(
        store=store,
        known_until=known_until,
        classes=ClassSet(classes),
        own_classes=ClassSet(own_classes),
    )


def _make_reader(project_id: ProjectId, tags: Tags, user: str, visible: VisibleClasses) -> Reader:
    return Reader(
        project_id=project_id,
        tags=tags,
        classes=visible.classes,
        own_classes=visible.own_classes,
        user=user or user_from_tags(tags),
    )


def _with(classes: ClassSet, more: Set[ClassId]) -> ClassSet:
    """Return the set itself where it has these already: its bits are made once."""
    new = [class_id for class_id in more if class_id not in classes]
    return ClassSet(sorted({*classes, *new})) if new else classes


def page_parameters(reader: Reader, *, after: object, limit: int) -> dict[str, object]:
    """Return the parameters of a query for a page of what applies to a reader, beyond the entry `after`."""
    return {**reader.parameters, "after": after, "limit": limit}
