"""What corrections need."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from lightwell.domain.summaries import Summarized
from lightwell.records.database import Database

Summarize = Callable[[str, Sequence[str]], Awaitable[Summarized | None]]
"""One description of a thing from its name and several, None when the model says nothing of use; `ModelFailed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where corrections are made: `summarize` is None without a chat model.

    `round_off` follows each change: descriptions that have become too long are summarised as after an ingestion.
    """

    database: Database
    summarize: Summarize | None
    round_off: Callable[[], Awaitable[None]]
