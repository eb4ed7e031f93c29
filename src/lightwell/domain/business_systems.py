"""Business systems as sources of a project: what is configured, how syncs went, and which items could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NewType
from uuid import UUID

from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef, ProjectId, RunId, new_id
from lightwell.domain.jobs import RunState
from lightwell.domain.texts import split_at_commas
from lightwell.text.regex import regex

SourceId = NewType("SourceId", UUID)

SYNC_SECONDS, SWEEP_SECONDS = 600, 86_400
"""By default a source is synced every ten minutes, and looked through for deletions once a day."""

NOTHING_TO_READ = "Programs push into this source (docs/push.md), so there is nothing to read of it"
"""Why a source of the system `push` is not synced."""

_NAME = regex(r"[a-z][a-z0-9-]{0,39}")
_MIN_SECONDS, _MAX_SECONDS = 30, 30 * 86_400


TAGS_OPTION = "acl_tags"
"""The option by which whoever adds a source says who sees what it reads, where the system itself does not: for all, or as `acl_tags/finance` for a place."""


@dataclass(frozen=True, slots=True)
class StatedTags:
    """The access tags that a source's options state, by place; "" is the whole source."""

    places: Mapping[str, Tags]

    @property
    def all(self) -> Tags:
        return frozenset(tag for tags in self.places.values() for tag in tags)

    def place_of(self, path: str) -> str:
        """Return the nearest place that has tags, at or above a path such as `finance/2026.pdf`; "" where none has."""
        place = _as_place(path)
        while place and place not in self.places:
            place = place.rpartition("/")[0]
        return place

    def find(self, path: str) -> Tags:
        """Return the tags of what is at a path, none where no place above it has any."""
        return self.places.get(self.place_of(path), frozenset())


def _as_place(path: str) -> str:
    """Return the path without slashes that lead nowhere: `finance//2026` lies in the same place as `finance/2026`."""
    return "/".join(filter(None, path.split("/")))


def parse_stated_tags(options: Mapping[str, str]) -> StatedTags:
    """Return the access tags that options state; raise `Invalid` for a word that is no tag."""
    return StatedTags(
        {
            _as_place(name.removeprefix(TAGS_OPTION)): parse_tags(split_at_commas(words))
            for name, words in options.items()
            if name == TAGS_OPTION or name.startswith(f"{TAGS_OPTION}/")
        }
    )


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
    `warning` says what a sweep did not remove because it was too much at once; `allows_mass_deletion` is true when a person has
    confirmed it for the next sweep. `is_running` is true while a process syncs. `tag_scope` keeps the access tags of several
    installations of one system apart, "" for the first. `asked_at` is when a person last asked for a sync, which is to find every change.
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
    allows_mass_deletion: bool
    error: str
    warning: str
    failures: int
    tag_scope: str
    created_at: datetime
    asked_at: datetime | None = None

    @property
    def stated_tags(self) -> Tags:
        """The tags that its options state: those whose documents may have them although they are not the system's own."""
        return parse_stated_tags(self.options).all

    def scope_tag(self, tag: str) -> str:
        """Return an access tag of the system as it is stored: that of a second installation has the source's name in it, unless the source's options state it."""
        if not self.tag_scope or tag in self.stated_tags:
            return tag
        system, _, rest = tag.partition(":")
        return f"{system}:@{self.tag_scope}:{rest}"


def not_stored(source: NewSource, project_id: ProjectId, now: datetime) -> Source:
    """Return the source as it would be if it were stored, to try its connector with."""
    return Source(
        id=SourceId(new_id()),
        project_id=project_id,
        name=source.name,
        system=source.system,
        options=source.options,
        every_seconds=source.every_seconds,
        sweep_seconds=source.sweep_seconds,
        adds_people=source.adds_people,
        next_sync_at=now,
        next_sweep_at=now,
        is_sync_due=True,
        is_sweep_due=True,
        is_directory_due=True,
        is_paused=False,
        is_running=False,
        allows_mass_deletion=False,
        error="",
        warning="",
        failures=0,
        tag_scope="",
        created_at=now,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrial:
    """What the system showed of itself, or why it did not: `problem` is "" where all is well. No word of its items."""

    problem: str
    streams: tuple[str, ...] = ()
    people: int = 0
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """What to change of a source; None leaves a field as it is. `options` replaces all of them."""

    options: Mapping[str, str] | None = None
    every_seconds: int | None = None
    sweep_seconds: int | None = None
    adds_people: bool | None = None


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
    _check_interval("between two syncs", source.every_seconds)
    _check_interval("between two sweeps", source.sweep_seconds)
    return source


def check_change(change: SourceChange) -> SourceChange:
    """Return the change; raise `Invalid` for one that changes nothing, or for an interval that is not allowed."""
    if change == SourceChange():
        raise Invalid("Name what to change: options, everySeconds, sweepSeconds or addsPeople")
    if change.every_seconds is not None:
        _check_interval("between two syncs", change.every_seconds)
    if change.sweep_seconds is not None:
        _check_interval("between two sweeps", change.sweep_seconds)
    return change


def _check_interval(what: str, seconds: int) -> None:
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        raise Invalid(f"The time {what} is {_MIN_SECONDS} seconds to 30 days")
