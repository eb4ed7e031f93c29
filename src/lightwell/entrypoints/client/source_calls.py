"""Calls about sources, the business systems that are synced; they need the scope `admin`."""

from lightwell.entrypoints.operations.calls import Call, read_nothing, reader_of, segment
from lightwell.entrypoints.schemas.sources import (
    RetrySchema,
    SourceBody,
    SourceChangeBody,
    SourceDetailsSchema,
    SourceList,
    SourceQuery,
    SourceSchema,
    SyncBody,
)

_PATH = "/v1/sources"
_read_sources = reader_of(SourceList)
_read_source = reader_of(SourceSchema)
_read_details = reader_of(SourceDetailsSchema)
_read_retry = reader_of(RetrySchema)


def list_sources() -> Call[SourceList]:
    """List the sources of the project by name."""
    return Call(method="GET", path=_PATH, read=_read_sources)


def get_source(source: str, *, limit: int = 10) -> Call[SourceDetailsSchema]:
    """Return a source, by its name or its id, with its latest syncs and failures, at most `limit` of each."""
    path = f"{_PATH}/{segment(source)}"
    return Call(method="GET", path=path, query=SourceQuery(limit=limit), read=_read_details)


def add_source(source: SourceBody) -> Call[SourceSchema]:
    """Add a source; its secrets must be in the server's environment."""
    return Call(method="POST", path=_PATH, body=source, read=_read_source, is_repeatable=False)


def change_source(source: str, change: SourceChangeBody) -> Call[SourceSchema]:
    """Change a source's options or how often it is synced; what is left out stays as it is."""
    path = f"{_PATH}/{segment(source)}"
    return Call(method="PATCH", path=path, body=change, read=_read_source)


def sync_source(
    source: str, *, sweep: bool = False, allow_mass_deletion: bool = False
) -> Call[SourceSchema]:
    """Ask for a sync now; with `sweep`, also for a look for deleted items.

    With `allow_mass_deletion` that look may remove any number of items: it confirms the source's warning.
    """
    return request_sync(source, SyncBody(sweep=sweep, allow_mass_deletion=allow_mass_deletion))


def request_sync(source: str, body: SyncBody) -> Call[SourceSchema]:
    """Ask for a sync now, as `body` says."""
    path = f"{_PATH}/{segment(source)}/sync"
    return Call(method="POST", path=path, body=body, read=_read_source)


def pause_source(source: str) -> Call[SourceSchema]:
    """Pause a source until it is resumed."""
    return Call(method="POST", path=f"{_PATH}/{segment(source)}/pause", read=_read_source)


def resume_source(source: str) -> Call[SourceSchema]:
    """Go on with a paused source at once."""
    return Call(method="POST", path=f"{_PATH}/{segment(source)}/resume", read=_read_source)


def retry_source(source: str) -> Call[RetrySchema]:
    """Try all items that could not be read again at once."""
    path = f"{_PATH}/{segment(source)}/retry"
    return Call(method="POST", path=path, read=_read_retry, is_repeatable=False)


def remove_source(source: str) -> Call[None]:
    """Remove a source with its documents and its groups."""
    path = f"{_PATH}/{segment(source)}"
    return Call(method="DELETE", path=path, read=read_nothing, is_repeatable=False)
