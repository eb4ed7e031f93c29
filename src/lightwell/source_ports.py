"""The interface of connectors to business systems: what `ingest/item_sync.py` needs of them.

A connector talks to one workspace of one system and stores nothing. `docs/connectors.md` tells how to write one, and
`lightwell.testing.connector_contract` checks it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, SourceDirectory, WebhookHint


class ItemSource(Protocol):
    """One workspace of a business system.

    Every method raises `SourceFailed` when the system refuses or fails for good; waits for rate limits happen inside.
    """

    @property
    def system(self) -> str:
        """The system's name, the first part of its references: `linear`."""
        ...

    @property
    def streams(self) -> tuple[str, ...]:
        """The kinds of items, in the order in which to pull them."""
        ...

    def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        """Yield what is new or changed in a stream since the cursor, "" for everything.

        After a crash the next pull begins at the cursor of the last page that was stored, so each page's cursor must lead to
        all that is missing then. An item may come again unchanged, and in several pages; memory does not grow with their number.
        """
        ...

    def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        """Yield the references of all items that the stream has now. A listing that is not complete ends with an error."""
        ...

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        """Return these items as they are now; those that the system no longer has, or no longer shows, are `removed`.

        The page's cursor is "".
        """
        ...

    async def directory(self) -> SourceDirectory:
        """Return the people and groups of the workspace."""
        ...

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        """Return what a webhook says has changed; raise `Refused` for a wrong signature or time, `Invalid` for a wrong body.

        Names of headers are in lower case. `received_at` has a time zone.
        """
        ...
