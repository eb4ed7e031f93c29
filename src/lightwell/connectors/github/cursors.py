"""Where the streams of GitHub go on: one position for each repository."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import Field

from lightwell.connectors.rows import StoredCursor

OVERLAP = timedelta(seconds=10)
"""How far before the latest change a listing begins, because changes may become visible out of order."""


class Position(StoredCursor):
    """A position in a repository, which had this name when it was read."""

    name: str = ""


class ListPosition(Position):
    """A listing of what changed since, the oldest change first; everything without `since`.

    `page` is above 1 only within rows of one moment. `etag` stands for the first page of a listing that is at rest.
    """

    since: datetime | None = None
    page: int = 1
    etag: str = ""
    is_walking: bool = False

    @property
    def asked_since(self) -> datetime | None:
        return self.since - OVERLAP if self.since else None

    def advance(self, newest: datetime | None, *, is_last: bool, etag: str) -> "ListPosition":
        """Return the position behind a page whose latest change is `newest`."""
        moves = newest is not None and (self.since is None or newest > self.since)
        since = newest if moves else self.since
        if is_last:
            kept = "" if moves or self.is_walking else etag
            return ListPosition(name=self.name, since=since, etag=kept)
        page = 1 if moves else self.page + 1
        return ListPosition(name=self.name, since=since, page=page, is_walking=True)


class FilePosition(Position):
    """The folder `tree` is read. Where `target` is being read, all changed paths up to `after` are.

    `etag` stands for the branch whose root folder `tree` is, `formats` for those of the files that were read.
    """

    formats: str = ""

    branch: str = ""
    tree: str = ""
    target: str = ""
    after: str = ""
    etag: str = ""


class Cursor(StoredCursor):
    """The positions by the repositories' ids."""

    lists: Mapping[int, ListPosition] = Field(default_factory=dict[int, ListPosition])
    files: Mapping[int, FilePosition] = Field(default_factory=dict[int, FilePosition])

    def move_list(self, repository: int, position: ListPosition) -> "Cursor":
        return self.model_copy(update={"lists": {**self.lists, repository: position}})

    def move_files(self, repository: int, position: FilePosition) -> "Cursor":
        return self.model_copy(update={"files": {**self.files, repository: position}})
