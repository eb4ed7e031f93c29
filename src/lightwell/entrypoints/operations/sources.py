"""Sources: business systems that are synced into the project. All of it needs the scope `admin`."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

import lightwell.domain.business_systems as values
from lightwell.domain.api_keys import Scope
from lightwell.domain.business_systems import SWEEP_SECONDS, SYNC_SECONDS, SourceChange
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import Moment, Reply, Schema, read_from

sources = Subject(prefix="/v1/sources", tag="sources")

Seconds = Annotated[int, Field(ge=30, le=2_592_000)]


class NewSource(Schema):
    """A source to add. `options` are addresses and names that its connector needs; secrets are in the server's environment."""

    name: Annotated[str, Field(max_length=40, examples=["tracker"])]
    system: Annotated[str, Field(max_length=40, examples=["linear"])]
    options: Annotated[dict[str, str], Field(max_length=50, default_factory=dict[str, str])]
    every_seconds: Seconds = SYNC_SECONDS
    sweep_seconds: Seconds = SWEEP_SECONDS
    adds_people: Annotated[
        bool,
        Field(description="Add people whom the directory lacks, by their verified e-mail address."),
    ] = False


def _sort(options: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(options.items()))


def _make_webhook_path(value: object) -> object:
    return f"/v1/webhooks/{value}" if isinstance(value, UUID) else value


class Source(Reply):
    """A source. `error` says why the last sync failed, `warning` what a sweep did not remove, each "" for nothing."""

    source_id: Annotated[UUID, read_from("sourceId", "id")]
    name: Annotated[str, Field(examples=["tracker"])]
    system: Annotated[str, Field(examples=["linear"])]
    options: Annotated[dict[str, str], AfterValidator(_sort)]
    every_seconds: int
    sweep_seconds: int
    adds_people: bool
    paused: Annotated[bool, read_from("paused", "is_paused")]
    running: Annotated[bool, read_from("running", "is_running")]
    next_sync_at: Moment
    next_sweep_at: Moment
    failures_in_row: Annotated[int, read_from("failuresInRow", "failures")]
    error: str
    warning: str
    webhook_path: Annotated[
        str,
        BeforeValidator(_make_webhook_path),
        read_from("webhookPath", "id"),
        Field(description="Where the system sends its webhooks."),
    ]
    created_at: Moment


class SourceList(Reply):
    """The sources of the project by name, and the systems that have a connector here."""

    sources: list[Source]
    systems: list[str]


class SourceTrial(Reply):
    """What a system shows of itself: what is read of it (`streams`), its people and groups. `problem` says why it shows nothing, "" if it does."""

    problem: str
    streams: list[str]
    people: int
    groups: list[str]


class SourceRun(Reply):
    """One sync: counts of documents, and of items that could not be read (`unreadable`)."""

    run_id: Annotated[UUID, read_from("runId", "id")]
    state: Annotated[str, Field(examples=["complete"])]
    started_at: Moment
    finished_at: Moment | None
    inserted: Annotated[int, read_from("inserted", "counts.inserted")]
    updated: Annotated[int, read_from("updated", "counts.updated")]
    deleted: Annotated[int, read_from("deleted", "counts.deleted")]
    unchanged: Annotated[int, read_from("unchanged", "counts.unchanged")]
    unreadable: Annotated[int, read_from("unreadable", "counts.unreadable")]
    error: str


class ItemFailure(Reply):
    """An item that could not be read, and when it is tried again."""

    item_ref: Annotated[str, read_from("itemRef", "ref"), Field(examples=["linear:issue:ENG-42"])]
    reason: Annotated[str, Field(examples=["invalid"])]
    message: str
    attempts: int
    due_at: Moment


class Stream(Reply):
    """What is read of a system in one go, and when it was last."""

    stream: Annotated[str, Field(examples=["issues"])]
    updated_at: Moment


class SourceDetails(Source):
    """A source with its latest syncs, the items that could not be read, and how many of these there are."""

    documents: Annotated[dict[str, int], Field(description="How many documents it has, by kind.")]
    failed_items: int
    runs: list[SourceRun]
    failures: list[ItemFailure]
    streams: list[Stream]


class Retry(Reply):
    """What is tried again."""

    retried: Annotated[int, Field(description="How many items will be tried again.")]


@sources.operation("GET", scope=Scope.ADMIN)
async def list_sources(caller: Caller) -> SourceList:
    """List the sources of the project by name."""
    kept = caller.knowledge_base.sources
    shown = [Source.model_validate(source) for source in await kept.list()]
    return SourceList(sources=shown, systems=[*kept.systems])


@sources.operation("POST", "/test", scope=Scope.ADMIN, is_repeatable=True)
async def test_source(caller: Caller, source: NewSource) -> SourceTrial:
    """Ask a system for its people and groups as a source would, and store nothing.

    A token that is missing or refused is a `problem`, in words that say what to do.
    """
    new_source = values.NewSource(**dict(source))
    return SourceTrial.model_validate(await caller.knowledge_base.sources.try_out(new_source))


@sources.operation("POST", scope=Scope.ADMIN, status=201)
async def add_source(caller: Caller, source: NewSource) -> Source:
    """Add a source; its token must be in the server's environment. It is synced at once, and regularly from then on."""
    new_source = values.NewSource(**dict(source))
    return Source.model_validate(await caller.knowledge_base.sources.create(new_source))


@sources.operation("GET", "/{source}", scope=Scope.ADMIN)
async def get_source(
    caller: Caller,
    source: str,
    limit: Annotated[int, Field(ge=1, le=1000, description="Most syncs, and most failures.")] = 10,
) -> SourceDetails:
    """Show a source, by its name or its id, with its latest syncs and the items that could not be read."""
    details = await caller.knowledge_base.sources.show(source, limit=limit)
    return SourceDetails.of(
        Source.model_validate(details.source),
        documents=details.documents,
        failed_items=details.failed,
        runs=details.runs,
        failures=details.failures,
        streams=details.positions,
    )


@sources.operation("PATCH", "/{source}", scope=Scope.ADMIN, is_repeatable=True)
async def change_source(
    caller: Caller,
    source: str,
    *,
    options: Annotated[
        dict[str, str] | None, Field(max_length=50, description="They replace all options.")
    ] = None,
    every_seconds: Seconds | None = None,
    sweep_seconds: Seconds | None = None,
    adds_people: bool | None = None,
) -> Source:
    """Change a source's options or how often it is synced; what is left out stays as it is."""
    change = SourceChange(
        options=options,
        every_seconds=every_seconds,
        sweep_seconds=sweep_seconds,
        adds_people=adds_people,
    )
    return Source.model_validate(await caller.knowledge_base.sources.change(source, change))


@sources.operation("POST", "/{source}/sync", scope=Scope.ADMIN, status=202, is_repeatable=True)
async def sync_source(
    caller: Caller,
    source: str,
    *,
    sweep: Annotated[
        bool, Field(description="Also look for items that were deleted in the system.")
    ] = False,
    allow_mass_deletion: Annotated[
        bool,
        Field(
            description="Look for deleted items, and remove them although more than a fifth of the items is gone:"
            " confirms the source's `warning`."
        ),
    ] = False,
    start_over: Annotated[
        bool,
        Field(description="Read all items again; what is unchanged is not ingested again."),
    ] = False,
) -> Source:
    """Ask for a sync now, also of a source that failed; `GET` shows how it went."""
    kept = caller.knowledge_base.sources
    if start_over:
        await kept.start_over(source)
    return Source.model_validate(
        await kept.request_sync(source, with_sweep=sweep, allows_mass_deletion=allow_mass_deletion)
    )


@sources.operation("POST", "/{source}/pause", scope=Scope.ADMIN, is_repeatable=True)
async def pause_source(caller: Caller, source: str) -> Source:
    """Pause a source: it is synced no more until it is resumed."""
    return Source.model_validate(await caller.knowledge_base.sources.pause(source))


@sources.operation("POST", "/{source}/resume", scope=Scope.ADMIN, is_repeatable=True)
async def resume_source(caller: Caller, source: str) -> Source:
    """Go on with a paused source at once."""
    return Source.model_validate(await caller.knowledge_base.sources.resume(source))


@sources.operation("POST", "/{source}/retry", scope=Scope.ADMIN, status=202)
async def retry_source(caller: Caller, source: str) -> Retry:
    """Try all items that could not be read again at once."""
    return Retry(retried=await caller.knowledge_base.sources.retry(source))


@sources.operation("DELETE", "/{source}", scope=Scope.ADMIN, status=204)
async def remove_source(caller: Caller, source: str) -> None:
    """Remove a source with its documents and its groups. The system itself is left alone.

    A sync that runs may end first, for up to ten seconds; then the request is refused, and the source stays paused.
    """
    await caller.knowledge_base.sources.remove(source)
