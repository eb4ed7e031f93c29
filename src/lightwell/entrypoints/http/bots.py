"""Opens the bots that the settings name, beside the server. What a platform needs is loaded only where its token is set."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib import import_module

from lightwell.domain.errors import Invalid
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints.audit_log import AuditLog
from lightwell.entrypoints.channels.bots import Receptions, run_bots
from lightwell.entrypoints.channels.people import People
from lightwell.entrypoints.channels.platform import Channel
from lightwell.entrypoints.http.projects import Projects
from lightwell.knowledge_base.rate_limiter import RateLimiter
from lightwell.settings import Settings

_OpenChannel = Callable[[Settings], AbstractAsyncContextManager[Channel]]


@asynccontextmanager
async def open_bots(
    settings: Settings, projects: Projects, limiter: RateLimiter, audit: AuditLog
) -> AsyncGenerator[Receptions]:
    """Run the bots of the project that the settings name during the block, none without a token.

    Raises `Invalid` where a token is set and the extra of the platform is not installed.
    """
    async with AsyncExitStack() as stack:
        opened = await _open(settings, stack)
        if not opened:
            yield {}
            return
        people = People(
            knowledge_base=await projects.open(projects.home),
            database=limiter.database,
            limiter=limiter,
            project=projects.home,
            server=settings.server.public_url.rstrip("/"),
            trusted=frozenset(split_at_commas(settings.channels.slack_trusted_workspaces)),
            audit=audit,
        )
        running = run_bots(
            opened,
            people,
            max_bytes=settings.ingestion.max_file_bytes,
            on_work=projects.has_work.set,
        )
        yield await stack.enter_async_context(running)


async def _open(settings: Settings, stack: AsyncExitStack) -> list[tuple[Channel, str]]:
    """Open the platforms whose tokens are set; return each with its token."""
    opened: list[tuple[Channel, str]] = []
    for platform, token in settings.channels.bot_tokens.items():
        try:
            adapter = import_module(f"lightwell.entrypoints.{platform}.opening")
        except ModuleNotFoundError as error:
            raise Invalid(
                f"A token of {platform.title()} is set, and what connects to it is not installed:"
                f" `uv tool install '.[{platform}]'` in a checkout, or with pip install '.[{platform}]'"
            ) from error
        open_channel: _OpenChannel = adapter.open_channel
        channel = await stack.enter_async_context(open_channel(settings))
        opened.append((channel, token.get_secret_value()))
    return opened
