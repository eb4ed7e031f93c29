"""Where a stream goes on: Linear lists the latest change first, so a watermark moves only when a listing has reached its end."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, ValidationError

from lightwell.domain.errors import Invalid

OVERLAP = timedelta(minutes=5)
"""How far before the watermark a listing begins, because changes may become visible out of order."""


class _Stored(BaseModel):
    """A cursor as it is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    since: datetime | None = None
    newest: datetime | None = None
    after: str = ""


@dataclass(frozen=True, slots=True)
class Position:
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
        known = [*changes, *([self.newest] if self.newest else [])]
        newest = max(known, default=None)
        if after:
            return Position(self.since, newest, after)
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

    def to_text(self) -> str:
        stored = _Stored(since=self.since, newest=self.newest, after=self.after)
        return stored.model_dump_json(exclude_defaults=True)


class _StoredTeams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    hidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HiddenTeams:
    """The ids of the teams that were not public when texts were last read with regard to that; None before the first time."""

    ids: tuple[str, ...] | None = None

    def changes_to(self, now: "HiddenTeams") -> list[str]:
        """Return the teams whose visibility differs; none at the first time, because everything is read then."""
        return [] if self.ids is None else sorted(set(self.ids) ^ set(now.ids or ()))

    def to_text(self) -> str:
        return "" if self.ids is None else _StoredTeams(hidden=self.ids).model_dump_json()


def parse_hidden_teams(text: str) -> HiddenTeams:
    """Return what `to_text` wrote; raise `Invalid` for another text."""
    if not text:
        return HiddenTeams()
    try:
        return HiddenTeams(_StoredTeams.model_validate_json(text).hidden)
    except ValidationError:
        raise Invalid("The stored cursor of Linear is damaged") from None


def parse_cursor(text: str) -> Position:
    """Return the position that `to_text` wrote, the beginning for ""; raise `Invalid` for another text."""
    if not text:
        return Position()
    try:
        stored = _Stored.model_validate_json(text)
    except ValidationError:
        raise Invalid("The stored cursor of Linear is damaged") from None
    return Position(stored.since, stored.newest, stored.after)
