"""The state of a workspace of Linear, and how it answers for the fields of its objects."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import NAMESPACE_URL, uuid5

from lightwell.testing.linear.filters import matches
from lightwell.testing.linear.graphql import Row

ROOTS = {
    "issues": "Issue",
    "comments": "Comment",
    "projects": "Project",
    "projectUpdates": "ProjectUpdate",
    "initiatives": "Initiative",
    "initiativeUpdates": "InitiativeUpdate",
    "documents": "Document",
    "customers": "Customer",
    "customerNeeds": "CustomerNeed",
    "attachments": "Attachment",
    "issueRelations": "IssueRelation",
    "users": "User",
    "teams": "Team",
    "teamMemberships": "TeamMembership",
}
"""The types of the nodes of the connections at the root."""

_OBJECTS = {
    "issue": "Issue",
    "relatedIssue": "Issue",
    "project": "Project",
    "initiative": "Initiative",
    "parentInitiative": "Initiative",
    "projectUpdate": "ProjectUpdate",
    "initiativeUpdate": "InitiativeUpdate",
    "document": "Document",
    "documentContent": "DocumentContent",
    "customer": "Customer",
    "team": "Team",
    "leadTeam": "Team",
    "cycle": "Cycle",
    "state": "WorkflowState",
    "projectMilestone": "ProjectMilestone",
    "tier": "CustomerTier",
    **dict.fromkeys(("creator", "assignee", "user", "lead", "owner", "updatedBy"), "User"),
    **dict.fromkeys(("externalUser", "externalUserCreator"), "ExternalUser"),
}
"""The types of what fields refer to; a row holds the other one's id."""

_NESTED = {
    ("Issue", "labels"): "IssueLabel",
    ("Project", "labels"): "ProjectLabel",
    ("Project", "teams"): "Team",
    ("Project", "initiatives"): "Initiative",
}
"""The types of the nodes of connections inside an object; a row holds the list of their ids."""

_INVERSE = {
    ("Issue", "attachments"): ("Attachment", "issue"),
    ("Issue", "relations"): ("IssueRelation", "issue"),
    ("Issue", "inverseRelations"): ("IssueRelation", "relatedIssue"),
    ("Issue", "comments"): ("Comment", "issue"),
}
"""The types of the nodes of other connections inside an object, and their field that holds the object's id."""

_STATUS = {"Project": "ProjectStatus", "Customer": "CustomerStatus"}
_HOMES = (
    "issue",
    "project",
    "projectUpdate",
    "document",
    "documentContent",
    "relatedIssue",
    "team",
)
"""Fields that decide who sees an object."""

_PUBLIC = "public"


class BadInput(Exception):
    """A variable that Linear refuses."""


@dataclass(slots=True, kw_only=True)
class LinearWorkspace:
    """A workspace. Each change moves `now` on by a second; the API answers for the user `viewer`, for everything if "".

    Rows are objects by type and id: scalars as Linear writes them, and ids of other objects.
    """

    url_key: str = "halden"
    now: datetime = datetime(2026, 11, 2, 9, tzinfo=UTC)
    viewer: str = ""
    rows: dict[str, dict[str, Row]] = field(default_factory=dict[str, dict[str, Row]])
    counters: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, type: str, /, **fields: object) -> str:
        """Create an object with these fields; return its id."""
        number = self._count(type)
        id = str(uuid5(NAMESPACE_URL, f"{self.url_key}/{type}/{number}"))
        moment = self.tick()
        defaults: Row = {
            "__typename": type,
            "id": id,
            "createdAt": moment,
            "updatedAt": moment,
            "archivedAt": None,
        }
        self.rows.setdefault(type, {})[id] = {**defaults, **fields}
        return id

    def edit(self, type: str, id: str, /, **fields: object) -> None:
        """Change an object, as a meaningful update."""
        self.rows[type][id].update(fields, updatedAt=self.tick())

    def edit_silently(self, type: str, id: str, /, **fields: object) -> None:
        """Change an object without touching its `updatedAt`, as Linear does for what it does not find meaningful."""
        self.rows[type][id].update(fields)

    def trash(self, type: str, id: str, /) -> None:
        self.edit(type, id, trashed=True, archivedAt=_stamp(self.now))

    def restore(self, type: str, id: str, /) -> None:
        self.edit(type, id, trashed=None, archivedAt=None)

    def archive(self, type: str, id: str, /) -> None:
        self.edit(type, id, archivedAt=_stamp(self.now))

    def delete(self, type: str, id: str, /) -> None:
        """Delete an object for good: no listing will mention it."""
        del self.rows[type][id]

    def tick(self) -> str:
        """Move the time on; return it as Linear writes it."""
        self.now += timedelta(seconds=1)
        return _stamp(self.now)

    def resolve(self, value: object, name: str, arguments: Mapping[str, object]) -> object:
        """Return the value of a field of an object; `self` stands for the root."""
        if value is self:
            return self._root(name, arguments)
        row = cast("Row", value)
        type = str(row.get("__typename", ""))
        if name == "sharedAccess":
            return self._sharing(row)
        if name == "status" and type in _STATUS:
            return self._object(_STATUS[type], row.get(name))
        if name == "parent" and type == "Issue":
            return self._object("Issue", row.get(name))
        if name in _OBJECTS:
            return self._object(_OBJECTS[name], row.get(name))
        if target := _NESTED.get((type, name)):
            ids = cast("Iterable[str]", row.get(name) or ())
            return self._connection([self.rows[target][id] for id in ids], arguments)
        if inverse := _INVERSE.get((type, name)):
            others = [
                other for other in self._all(inverse[0]) if other.get(inverse[1]) == row["id"]
            ]
            return self._connection(others, arguments)
        return row.get(name)

    def _root(self, name: str, arguments: Mapping[str, object]) -> object:
        if name in ROOTS:
            rows = self._all(ROOTS[name])
            if name == "users" and not arguments.get("includeDisabled"):
                rows = [row for row in rows if row["active"]]
            return self._connection(rows, arguments)
        if name in _OBJECTS:
            owner = self._object(_OBJECTS[name], arguments.get("id"))
            if owner is None:
                raise BadInput(f"Entity not found: {name}")
            return owner
        if name == "viewer":
            return self._object("User", self.viewer or next(iter(self.rows["User"])))
        if name == "organization":
            return {"__typename": "Organization", "id": self.url_key, "urlKey": self.url_key}
        return None

    def _object(self, type: str, id: object) -> Row | None:
        row = self.rows.get(type, {}).get(str(id)) if id else None
        return row if row and self._is_visible(row) else None

    def _all(self, type: str) -> list[Row]:
        return [row for row in self.rows.get(type, {}).values() if self._is_visible(row)]

    def _is_visible(self, row: Row) -> bool:
        """Return whether the viewer sees the object: not what is in a private team without the viewer."""
        if not self.viewer:
            return True
        if row["__typename"] == "Team":
            return row["visibility"] == _PUBLIC or self._is_member(str(row["id"]))
        if row["__typename"] == "Project":
            ids = cast("list[str]", row["teams"])
            return any(self._is_visible(self.rows["Team"][id]) for id in ids)
        if self.viewer in cast("list[str]", row.get("sharedWith", [])):
            return True
        names = ("team",) if row["__typename"] == "Issue" else _HOMES
        homes = [
            self.rows[_OBJECTS[name]][str(row[name])]
            for name in names
            if row.get(name) and str(row[name]) in self.rows.get(_OBJECTS[name], {})
        ]
        return all(self._is_visible(home) for home in homes)

    def _is_member(self, team: str) -> bool:
        rows = self.rows.get("TeamMembership", {}).values()
        return any(row["team"] == team and row["user"] == self.viewer for row in rows)

    def _sharing(self, row: Row) -> Row:
        people = [self.rows["User"][id] for id in cast("list[str]", row.get("sharedWith", []))]
        return {
            "__typename": "IssueSharedAccess",
            "isShared": bool(people),
            "sharedWithUsers": people,
            "sharedWithCount": len(people),
        }

    def _connection(self, rows: Iterable[Row], arguments: Mapping[str, object]) -> Row:
        """Return the page of the rows that the arguments ask for, the latest first."""
        key = "updatedAt" if arguments.get("orderBy") == "updatedAt" else "createdAt"
        wanted = cast("Mapping[str, object]", arguments.get("filter", {}))
        archived = bool(arguments.get("includeArchived"))
        listed = [
            row
            for row in rows
            if (archived or not row.get("archivedAt")) and matches(row, wanted, self.resolve)
        ]
        listed.sort(key=lambda row: (str(row[key]), str(row["id"])), reverse=True)
        if after := arguments.get("after"):
            last = _read_cursor(str(after))
            listed = [row for row in listed if (str(row[key]), str(row["id"])) < last]
        first = cast("int", arguments.get("first", 50))
        page = listed[:first]
        return {
            "__typename": "Connection",
            "nodes": page,
            "pageInfo": {
                "__typename": "PageInfo",
                "hasNextPage": len(listed) > first,
                "hasPreviousPage": bool(after),
                "endCursor": _write_cursor(page[-1], key) if page else None,
                "startCursor": _write_cursor(page[0], key) if page else None,
            },
        }

    def _count(self, what: str) -> int:
        self.counters[what] = self.counters.get(what, 0) + 1
        return self.counters[what]

    def next_number(self, key: str) -> int:
        """Return the number of the next issue of the team with this key."""
        return self._count(f"number of {key}")


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _write_cursor(row: Row, key: str) -> str:
    return base64.b64encode(json.dumps([row[key], row["id"]]).encode()).decode()


def _read_cursor(text: str) -> tuple[str, str]:
    try:
        value, id = json.loads(base64.b64decode(text, validate=True))
    except ValueError:
        raise BadInput("Argument Validation Error: after is not a cursor") from None
    return str(value), str(id)
