"""Sources: business systems that are synced into the project."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from pydantic import Field

from lightwell.domain.business_systems import (
    SWEEP_SECONDS,
    SYNC_SECONDS,
    NewSource,
    Source,
    SourceChange,
)
from lightwell.entrypoints import json_sources
from lightwell.entrypoints.operations.replies import Schema

if TYPE_CHECKING:
    from lightwell.knowledge_base.sources import SourceDetails


class SourceBody(Schema):
    """A source to add. `options` are addresses and names that its connector needs; secrets are in the server's environment."""

    name: Annotated[str, Field(max_length=40, examples=["tracker"])]
    system: Annotated[str, Field(max_length=40, examples=["linear"])]
    options: Annotated[dict[str, str], Field(max_length=50, default_factory=dict[str, str])]
    every_seconds: Annotated[int, Field(ge=30, le=2_592_000)] = SYNC_SECONDS
    sweep_seconds: Annotated[int, Field(ge=30, le=2_592_000)] = SWEEP_SECONDS
    adds_people: Annotated[
        bool,
        Field(description="Add people whom the directory lacks, by their verified e-mail address."),
    ] = False

    def to_source(self) -> NewSource:
        return NewSource(
            name=self.name,
            system=self.system,
            options=self.options,
            every_seconds=self.every_seconds,
            sweep_seconds=self.sweep_seconds,
            adds_people=self.adds_people,
        )


class SourceChangeBody(Schema):
    """What to change of a source; what is left out stays as it is. `options` replaces all options."""

    options: Annotated[dict[str, str] | None, Field(max_length=50)] = None
    every_seconds: Annotated[int | None, Field(ge=30, le=2_592_000)] = None
    sweep_seconds: Annotated[int | None, Field(ge=30, le=2_592_000)] = None
    adds_people: bool | None = None

    def to_change(self) -> SourceChange:
        return SourceChange(
            options=self.options,
            every_seconds=self.every_seconds,
            sweep_seconds=self.sweep_seconds,
            adds_people=self.adds_people,
        )


class SourceSchema(Schema):
    """A source. `error` says why the last sync failed, `warning` what a sweep did not remove, each "" for nothing."""

    source_id: UUID
    name: Annotated[str, Field(examples=["tracker"])]
    system: Annotated[str, Field(examples=["linear"])]
    options: dict[str, str]
    every_seconds: int
    sweep_seconds: int
    adds_people: bool
    paused: bool
    running: bool
    next_sync_at: str
    next_sweep_at: str
    failures_in_row: int
    error: str
    warning: str
    webhook_path: Annotated[str, Field(description="Where the system sends its webhooks.")]
    created_at: str


class SourceList(Schema):
    sources: list[SourceSchema]


class SourceRunSchema(Schema):
    """One sync: counts of documents, and of items that could not be read (`unreadable`)."""

    run_id: UUID
    state: Annotated[str, Field(examples=["complete"])]
    started_at: str
    finished_at: str | None
    inserted: int
    updated: int
    deleted: int
    unchanged: int
    unreadable: int
    error: str


class ItemFailureSchema(Schema):
    """An item that could not be read, and when it is tried again."""

    item_ref: Annotated[str, Field(examples=["linear:issue:ENG-42"])]
    reason: Annotated[str, Field(examples=["invalid"])]
    message: str
    attempts: int
    due_at: str


class StreamSchema(Schema):
    stream: Annotated[str, Field(examples=["issues"])]
    updated_at: str


class SourceDetailsSchema(SourceSchema):
    """A source with its latest syncs, the items that could not be read, and how many of these there are."""

    documents: Annotated[dict[str, int], Field(description="How many documents it has, by kind.")]
    failed_items: int
    runs: list[SourceRunSchema]
    failures: list[ItemFailureSchema]
    streams: list[StreamSchema]


class SourceQuery(Schema):
    """How much of a source's history to return."""

    limit: Annotated[int, Field(ge=1, le=1000, description="Most syncs, and most failures.")] = 10


class SyncBody(Schema):
    """How to sync."""

    sweep: Annotated[
        bool, Field(description="Also look for items that were deleted in the system.")
    ] = False
    allow_mass_deletion: Annotated[
        bool,
        Field(
            description="Look for deleted items, and remove them although more than a fifth of the items is gone:"
            " confirms the source's `warning`."
        ),
    ] = False
    start_over: Annotated[
        bool,
        Field(description="Read all items again; what is unchanged is not ingested again."),
    ] = False


class RetrySchema(Schema):
    retried: Annotated[int, Field(description="How many items will be tried again.")]


def source_schema(source: Source) -> SourceSchema:
    """Return the source as the server sends it."""
    return SourceSchema.model_validate(json_sources.source(source))


def details_schema(details: "SourceDetails") -> SourceDetailsSchema:
    """Return the source with its runs and failures as the server sends it."""
    return SourceDetailsSchema.model_validate(json_sources.details(details))
