"""Where the streams of an Attio workspace go on.

Attio keeps no dates of change. So each stream is listed in full now and then, and in between only what is new is asked for.
"""

from datetime import datetime, timedelta

from lightwell.connectors.attio.models import parse_time
from lightwell.connectors.rows import Json, StoredCursor

_OVERLAP = timedelta(minutes=10)


class StreamCursor(StoredCursor):
    """`listed_at` is when the last complete full listing began, `checked_at` when the last listing of any kind did.

    `began_at` is when the listing under way began, "" between listings; it goes on in `container` after the rows created
    before `at` and `skip` of those created then, or after `offset` rows that end with those `seen`, or at the vendor's own `page`.
    """

    listed_at: str = ""
    checked_at: str = ""
    began_at: str = ""
    is_full: bool = True
    container: str = ""
    at: str = ""
    skip: int = 0
    offset: int = 0
    seen: tuple[str, ...] = ()
    page: str = ""

    def change(self, **changes: object) -> "StreamCursor":
        return self.model_copy(update=changes)

    def begin(
        self, now: datetime, relist: timedelta, asked_at: datetime | None = None
    ) -> "StreamCursor":
        """Return where to begin, or to go on with, a listing: a full one if the last is older than `relist` or began before `asked_at`."""
        if self.began_at:
            return self
        listed = parse_time(self.listed_at)
        is_asked = listed is not None and asked_at is not None and listed < asked_at
        is_full = listed is None or is_asked or now - listed >= relist
        return self.change(began_at=now.isoformat(), is_full=is_full, at=self.first_at(is_full))

    def first_at(self, is_full: bool) -> str:  # noqa: FBT001 - a property of the listing
        """Return the creation time at which a listing begins, "" for the beginning of time."""
        checked = parse_time(self.checked_at)
        return "" if is_full or checked is None else (checked - _OVERLAP).isoformat()

    def finish(self) -> "StreamCursor":
        """Return the cursor behind the end of the listing."""
        listed_at = self.began_at if self.is_full else self.listed_at
        return StreamCursor(listed_at=listed_at, checked_at=self.began_at)

    def enter(self, container: str) -> "StreamCursor":
        """Return the cursor at the beginning of a container, unless it stands in that one already."""
        if container == self.container:
            return self
        return self.change(container=container, at=self.first_at(self.is_full), skip=0)

    def advance(self, rows: list[Json]) -> "StreamCursor":
        """Return the cursor behind these rows, which are in the order of their creation."""
        last = str(rows[-1].get("created_at"))
        same = sum(str(row.get("created_at")) == last for row in rows)
        return self.change(at=last, skip=self.skip + same if last == self.at else same)
