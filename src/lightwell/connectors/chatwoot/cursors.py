"""Where the streams of a Chatwoot account go on."""

from datetime import UTC, datetime, timedelta

from lightwell.connectors.rows import StoredCursor

OVERLAP = timedelta(minutes=2)
"""How far back a look for changes goes beyond the last one, because clocks are not read at the moment of a change."""


class StreamCursor(StoredCursor):
    """Times are seconds since 1970 by Chatwoot's clock.

    `walked_at` is when the last complete walk through all rows began, `checked_at` when the last look for changes did.
    A walk that is under way began at `began_at`, and goes on with `page`; the account had `count` rows then.
    """

    walked_at: int = 0
    checked_at: int = 0
    began_at: int = 0
    page: int = 1
    count: int = 0

    @property
    def is_walking(self) -> bool:
        return self.began_at > 0

    def needs_walk(self, now: datetime, every: timedelta) -> bool:
        """Return whether all rows are to be read: a walk is under way, the last was too long ago, or the clock was set back since."""
        walked = datetime.fromtimestamp(self.walked_at, UTC)
        return self.is_walking or not -OVERLAP <= now - walked < every

    def change(self, **changes: object) -> "StreamCursor":
        return self.model_copy(update=changes)

    def finish_walk(self) -> "StreamCursor":
        """Return the cursor behind a walk: what changed since its beginning comes next."""
        return StreamCursor(walked_at=self.began_at, checked_at=self.began_at)
