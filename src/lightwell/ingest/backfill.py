"""Backfills: hand the open jobs of a project, in portions, to an engine that runs them on many hosts.

    jobs in PostgreSQL ─ list ─► portions of ids ─ engine ─► hosts claim, ingest and complete them ─► counts

The engine decides where a portion runs, and runs it again when a host is lost. It is not the record: what is done is
what PostgreSQL says. So a portion that runs twice, or never ends, loses nothing and repeats nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from lightwell.domain.errors import (
    BudgetSpent,
    EngineFailed,
    Invalid,
    LightwellError,
    ModelFailed,
    StoreFailed,
)
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.domain.usage import TokenUsage
from lightwell.logs import logger
from lightwell.records.database import Database
from lightwell.records.jobs import backlog, queue
from lightwell.tasks import cancel_and_wait

_POLL_SECONDS = 1.0
_MAX_PAUSE_SECONDS = 60.0
_MAX_FAILURES = 10
_GIVE_BACK_SECONDS = 30.0  # a host gives back the jobs of a portion that is cancelled
_PORTIONS_PER_SLOT = 2

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """Documents whose open jobs one call of the engine ingests: their ids alone. `tokens` is the budget that is left, 0 for no limit.

    With `profiles` it is a share of the passages that the network has to read, and of the profiles that are due to be summarised and
    embedded, when all documents are published.
    """

    documents: tuple[DocumentId, ...] = ()
    profiles: bool = False
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PortionResult:
    """What became of a portion: numbers, and for `end` other than "done" the message.

    A "model" or a "store" failed (the database, an index or the parser processes), a host "refused" this project, or the budget is "spent". `calls` are the calls of models, of whose tokens `spent` count for the budget.
    """

    host: str
    ingested: int = 0
    failed: int = 0
    chunks: int = 0
    cpu_seconds: float = 0.0
    end: Literal["done", "model", "store", "refused", "spent"] = "done"
    message: str = ""
    calls: tuple[TokenUsage, ...] = ()
    spent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What runs portions: `run` returns a portion's result or raises `EngineFailed`; `slots` is how many run at once, now."""

    run: Callable[[Portion], Awaitable[PortionResult]]
    slots: Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillOptions:
    """How many documents a portion has, and the budget of tokens, 0 for no limit."""

    documents: int = 100
    tokens: int = 0


class Backfill:
    """One run of a backfill; `on_result` is told what became of each portion."""

    def __init__(
        self,
        database: Database,
        project_id: ProjectId,
        engine: Engine,
        options: BackfillOptions,
        on_result: Callable[[PortionResult], None],
    ) -> None:
        self._database = database
        self._project_id = project_id
        self._engine = engine
        self._options = options
        self._on_result = on_result
        self._spent = 0
        self._failures = 0

    async def run(self) -> None:
        """Hand out portions until the project has no open job, then the passages to read and the profiles that changed, for all documents.

        Jobs that another worker holds are waited for; they come again when their lease expires. Raises the error of a
        model, a database or the engine after ten failures in a row, `Invalid` when a host refuses, and `BudgetSpent`.
        """
        while True:
            await self._run_backlog()
            if await queue.count_open(self._database, self._project_id) == 0:
                return await self._describe_profiles()
            await asyncio.sleep(_POLL_SECONDS)

    async def _run_backlog(self) -> None:
        """Hand out every job that can be claimed once, and wait for the results. An error cancels the rest."""
        running: set[asyncio.Task[PortionResult]] = set()
        last: backlog.Place | None = None
        try:
            while True:
                page = None
                if len(running) < _PORTIONS_PER_SLOT * max(1, self._engine.slots()):
                    page = await backlog.list_claimable(
                        self._database, self._project_id, last, limit=self._options.documents
                    )
                if page is not None:
                    last = page.last
                    portion = Portion(documents=page.documents, tokens=self._tokens_left())
                    running.add(asyncio.ensure_future(self._engine.run(portion)))
                    continue
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                await self._take(done)
        finally:
            await cancel_and_wait(*running, again_seconds=_GIVE_BACK_SECONDS)

    async def _describe_profiles(self) -> None:
        """Let every slot claim and read passages, then describe profiles, until none is due. What fails is left to the caller, and to workers."""
        portion = Portion(profiles=True, tokens=self._tokens_left())
        shares = [
            asyncio.ensure_future(self._engine.run(portion)) for _ in range(self._engine.slots())
        ]
        try:
            for share in asyncio.as_completed(shares):
                try:
                    self._on_result(await share)
                except EngineFailed as error:
                    _log.warning("profiles wait to be described", error=str(error))
        finally:
            await cancel_and_wait(*shares, again_seconds=_GIVE_BACK_SECONDS)

    def _tokens_left(self) -> int:
        """Return the budget that is left, 0 for no limit; raise `BudgetSpent`."""
        budget = self._options.tokens
        if budget and self._spent >= budget:
            raise BudgetSpent(
                f"The token budget of {budget:,} is used up. Finished work is kept; the rest needs a larger budget"
            )
        return budget - self._spent if budget else 0

    async def _take(self, ended: set[asyncio.Task[PortionResult]]) -> None:
        """Take results. After failures wait, twice as long each time, as a worker does."""
        failures = [error for task in ended if (error := self._failure(task)) is not None]
        if not failures:
            self._failures = 0
            return
        self._failures += 1
        if self._failures >= _MAX_FAILURES:
            raise failures[-1]
        pause = min(_POLL_SECONDS * 2**self._failures, _MAX_PAUSE_SECONDS)
        _log.warning(
            "portions failed; their documents come again",
            portions=len(failures),
            error=str(failures[-1]),
            seconds=pause,
        )
        await asyncio.sleep(pause)

    def _failure(self, task: asyncio.Task[PortionResult]) -> LightwellError | None:
        """Return why the portion has to come again, None where it has ended well; raise what ends the backfill."""
        try:
            result = task.result()
        except EngineFailed as error:
            return error
        self._spent += result.spent
        self._on_result(result)
        message = f"{result.host}: {result.message}"
        match result.end:
            case "done":
                return None
            case "model":
                return ModelFailed(message)
            case "store":
                return StoreFailed(message)
            case "refused":
                raise Invalid(message)
            case "spent":
                raise BudgetSpent(message)
