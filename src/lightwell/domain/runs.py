"""Ingestion runs: one sync of one source, and where it left off."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lightwell.domain.ids import RunId


class RunState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class RunChange(StrEnum):
    """What a run did to a document."""

    INSERTED = "inserted"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One sync of one source, as one reader sees it.

    The counts are those of documents that the reader may see now; `failed` counts the new and changed ones that could not be
    read, and `inserted` and `updated` leave these out. `scope` is the URL that the source's documents begin
    with. `error` says why the source as a whole could not be followed, "" if it could.
    """

    id: RunId
    system: str
    scope: str
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    inserted: int
    updated: int
    deleted: int
    error: str
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where the last complete sync of a source left off.

    `key` names the part of the source system: a folder's URL, a workspace, an inbox. `value` is the source's own: for
    files the ISO time at which that sync began.
    """

    system: str
    key: str
    value: str
    updated_at: datetime
