"""Ingestion runs (one sync of one source), and cursors."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lightwell.domain.ids import RunId


class RunState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class RunChange(StrEnum):
    """How a run changed a document."""

    INSERTED = "inserted"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One sync of one source, as one reader sees it.

    The counts include only documents that the reader may see now. `failed` counts new and changed documents
    that could not be read; `inserted` and `updated` exclude them. `scope` is the URL prefix of the source's
    documents. `error` says why the sync of the source failed, "" if it did not.
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
    """The position of the last complete sync of a source.

    `key` names the part of the source system: a folder's URL, a workspace, an inbox. `value` is defined by the
    source: for files, the ISO time at which that sync began; for a business system, whose key is the source's name, the ISO time of the last change
    that the reader sees.
    """

    system: str
    key: str
    value: str
    updated_at: datetime
