"""Business systems as sources of a project: what is configured, how syncs went, and which items could not be read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NewType
from uuid import UUID

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef, ProjectId, RunId
from lightwell.domain.runs import RunState

SourceId = NewType("SourceId", UUID)

SYNC_SECONDS, SWEEP_SECONDS = 600, 86_400
"""By default a source is synced every ten minutes, and looked through for deletions once a day."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_MIN_SECONDS, _MAX_SECONDS = 30, 30 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """A source to create. `options` are addresses and names that its connector needs, never a secret.

    With `adds_people`, people whom the directory lacks are added to it, by the e-mail address that the system has verified.
    """

    name: str
    system: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    every_seconds: int = SYNC_SECONDS
    sweep_seconds: int = SWEEP_SECONDS
    adds_people: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source as it is stored. Times without an event are in the past.

    `error` says why the last sync failed, "" if it did not; `failures` counts the failed syncs since the last good one.
    `warning` says what a sweep did not remove because it was too much at once. `is_running` is true while a process syncs.
    """

    id: SourceId
    project_id: ProjectId
    name: str
    system: str
    options: Mapping[str, str]
    every_seconds: int
    sweep_seconds: int
    adds_people: bool
    next_sync_at: datetime
    next_sweep_at: datetime
    is_sync_due: bool
    is_sweep_due: bool
    is_directory_due: bool
    is_paused: bool
    is_running: bool
    error: str
    warning: str
    failures: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    """What a sync did: documents, and items that could not be read."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    unreadable: int = 0

    def __add__(self, other: "SourceCounts") -> "SourceCounts":
        return SourceCounts(
            inserted=self.inserted + other.inserted,
            updated=self.updated + other.updated,
            deleted=self.deleted + other.deleted,
            unchanged=self.unchanged + other.unchanged,
            unreadable=self.unreadable + other.unreadable,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """One sync of a source, for administrators; `error` is "" unless it failed."""

    id: RunId
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    counts: SourceCounts
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFailure:
    """An item that could not be read, and when it is fetched again. `reason` is a stable word."""

    ref: GlobalRef
    reason: str
    message: str
    attempts: int
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPosition:
    """Where a stream goes on; only its connector understands the cursor."""

    stream: str
    cursor: str
    updated_at: datetime


def check_new_source(source: NewSource) -> NewSource:
    """Return the source; raise `Invalid` for a name or an interval that is not allowed."""
    if not _NAME.fullmatch(source.name):
        raise Invalid(
            "The name of a source has small letters, digits and hyphens, and begins with a letter; at most 40"
        )
    for what, seconds in (
        ("between two syncs", source.every_seconds),
        ("between two sweeps", source.sweep_seconds),
    ):
        if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
            raise Invalid(f"The time {what} is {_MIN_SECONDS} seconds to 30 days")
    return source
