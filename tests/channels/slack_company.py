"""A whole server whose bot is in a workspace of the stand-in for Slack, by Socket Mode or over HTTP."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType

import uvicorn
from pydantic import SecretStr

from lightwell.domain.directory import PersonChange
from lightwell.domain.scopes import Scope
from lightwell.knowledge_base.directory import Directory
from tests.channels.slack_parts import account_of
from tests.entrypoints.http_site import Site, open_site
from tests.patience import until
from tests.slack_server.server import SIGNING_SECRET, SlackServer
from tests.slack_server.web_api import APP_TOKEN, BOT_TOKEN
from tests.slack_server.workspace import Channel, Posted, User

PATH = "/v1/webhooks/slack"
_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Company:
    """A server and its workspace."""

    site: Site
    slack: SlackServer

    @property
    def directory(self) -> Directory:
        site = self.site
        return Directory(database=site.keys.database, project_id=site.kb.project_id)

    async def join(self, name: str, *tags: str, is_linked: bool = True) -> User:
        """Add somebody to Slack, and to the directory with these tags."""
        email = f"{name}@halden.example"
        user = self.slack.workspace.add_user(name, email=email)
        change = PersonChange(
            email=email,
            external_ids={"slack": account_of(user).id} if is_linked else {},
            acl_tags=frozenset(tags),
            scopes=frozenset({Scope.READ}),
        )
        await self.directory.create_person(change)
        return user

    async def said(self, user: User, words: str, channel: Channel | None = None) -> Posted:
        """Wait until the bot has said something with these words that the user sees, and return it."""
        where = channel or self.slack.workspace.own_chat(user.id)

        def posts() -> list[Posted]:
            return [
                post
                for post in self.slack.workspace.seen_by(user)
                if words in post.words and post in where.messages
            ]

        await until(lambda: bool(posts()))
        return posts()[-1]


@asynccontextmanager
async def serving(
    database_url: str,
    slack: SlackServer,
    values: Mapping[str, object] = _NOTHING,
) -> AsyncGenerator[Company]:
    """Serve on a socket, to which this Slack sends over HTTP."""
    secrets = {"channels.slack_signing_secret": SecretStr(SIGNING_SECRET)}
    async with opened(database_url, slack, {**secrets, **values}) as company:
        config = uvicorn.Config(company.site.app, lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            task = asyncio.create_task(server.serve(sockets=[listening]))
            slack.request_url = f"http://127.0.0.1:{listening.getsockname()[1]}{PATH}"
            try:
                yield company
            finally:
                server.should_exit = True
                await task


@asynccontextmanager
async def connected(
    database_url: str,
    slack: SlackServer,
    values: Mapping[str, object] = _NOTHING,
) -> AsyncGenerator[Company]:
    """Have a server connect to this Slack by Socket Mode."""
    secrets = {"channels.slack_app_token": SecretStr(APP_TOKEN)}
    async with opened(database_url, slack, {**secrets, **values}) as company:
        await until(lambda: slack.sockets > 0)
        yield company


@asynccontextmanager
async def opened(
    database_url: str, slack: SlackServer, values: Mapping[str, object]
) -> AsyncGenerator[Company]:
    """Open a server with the bot of this Slack."""
    bot = {
        "channels.slack_bot_token": SecretStr(BOT_TOKEN),
        "channels.slack_api": slack.api_url,
    }
    async with open_site(database_url, {**bot, **values}) as site:
        yield Company(site=site, slack=slack)
