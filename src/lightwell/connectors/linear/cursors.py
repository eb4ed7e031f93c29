"""Where a stream goes on: Linear lists the latest change first, so a watermark moves only when a listing has reached its end."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from lightwell.connectors.rows import StoredCursor

OVERLAP = timedelta(minutes=5)
"""How far before the watermark a listing begins, because changes may become visible out of order."""


class Position(StoredCursor):
    """A listing of what changed after `since`, None for everything.

    While it is under way, `after` is where its next page begins, and `newest` the latest change that it has met.
    """

    since: datetime | None = None
    newest: datetime | None = None
    after: str = ""

    @property
    def lists_all(self) -> bool:
        return self.since is None

    def is_new(self, updated_at: datetime) -> bool:
        """Return whether the listings before this one cannot have met a change at that time."""
        return self.since is None or updated_at > self.since

    def advance(self, changes: Iterable[datetime], after: str) -> "Position":
        """Return the position behind a page with changes at these times; `after` is "" behind the last page."""
        moments = [*changes, *([self.newest] if self.newest else [])]
        newest = max(moments, default=None)
        if after:
            return Position(since=self.since, newest=newest, after=after)
        reached = [moment for moment in (self.since, newest) if moment]
        return Position(since=max(reached, default=None))

    def restart(self) -> "Position":
        """Return the beginning of the same listing."""
        return Position(since=self.since)

    def filter_changes(self) -> dict[str, object]:
        """Return Linear's filter for what this listing is about; {} for everything."""
        if self.since is None:
            return {}
        return {"updatedAt": {"gte": (self.since - OVERLAP).isoformat()}}


class HiddenTeams(StoredCursor):
    """The ids of the teams that were not public when texts were last read with regard to that; None before the first time."""

    hidden: tuple[str, ...] | None = None

    def changes_to(self, now: "HiddenTeams") -> list[str]:
        """Return the teams whose visibility differs; none at the first time, because everything is read then."""
        return [] if self.hidden is None else sorted(set(self.hidden) ^ set(now.hidden or ()))
