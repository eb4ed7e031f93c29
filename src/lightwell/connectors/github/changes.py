"""What changed in a repository's listings, the oldest change first."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime

from pydantic import ValidationError

from lightwell.connectors.github.api import PAGE_ROWS, GithubApi, Unchanged
from lightwell.connectors.github.cursors import ListPosition
from lightwell.connectors.rows import Json, Wire

_ORDER = {"sort": "updated", "direction": "asc"}


class _Stamp(Wire):
    id: int
    updated_at: datetime


async def walk_changes(
    api: GithubApi, path: str, params: Mapping[str, str], position: ListPosition
) -> AsyncIterator[tuple[list[Json], ListPosition]]:
    """Yield the rows that changed since the position, with the position behind them; none where nothing changed.

    Each page begins where the last one ended in time, so a row that changes meanwhile comes again later, and moves no
    other row out of sight. Rows that this walk has met already are left out.
    """
    met: Mapping[int, datetime] = {}
    while True:
        query: dict[str, str | int] = {**params, **_ORDER, "per_page": PAGE_ROWS}
        query["page"] = position.page
        if position.asked_since:
            query["since"] = position.asked_since.strftime("%Y-%m-%dT%H:%M:%SZ")
        etag = "" if position.is_walking else position.etag
        answer = await api.get_changed(path, query, etag)
        if answer is None or isinstance(answer, Unchanged):
            return
        rows = answer.rows
        stamps = [_read_stamp(row) for row in rows]
        read_stamps = [stamp for stamp in stamps if stamp]
        newest = max((stamp.updated_at for stamp in read_stamps), default=None)
        is_last = len(rows) < PAGE_ROWS
        position = position.advance(newest, is_last=is_last, etag=answer.etag)
        pairs = zip(rows, stamps, strict=True)
        new = [row for row, stamp in pairs if not stamp or met.get(stamp.id) != stamp.updated_at]
        yield new, position
        if is_last:
            return
        since = position.asked_since
        met = {**met, **{stamp.id: stamp.updated_at for stamp in read_stamps}}
        met = {
            id_: changed_at
            for id_, changed_at in met.items()
            if since is None or changed_at >= since
        }


def _read_stamp(row: Json) -> _Stamp | None:
    """Return when a row changed, None for one without a time."""
    try:
        return _Stamp.model_validate(row)
    except ValidationError:
        return None
