"""Accounts of chat platforms, and groups there: `http/channels.py` has the routes, `cli/channels.py` the commands."""

from typing import Annotated

from pydantic import Field

from lightwell.domain.channels import Platform
from lightwell.entrypoints.operations.directory import AclTags, TextOrNull
from lightwell.entrypoints.operations.replies import Moment, Reply, Schema, Sorted


class Bot(Reply):
    """A bot that runs, by the name under which people find it; `workspace` is Slack's."""

    name: str
    workspace: TextOrNull


class Account(Reply):
    """An account that is linked: its id, and what it calls itself, where the person linked it."""

    id: str
    name: TextOrNull


class MyChannel(Reply):
    """A platform on which a bot runs or I have a linked account; null for what is not there."""

    platform: Platform
    bot: Bot | None
    account: Account | None


class Channels(Reply):
    """The platforms where I can ask; `canLink` where the request may link accounts."""

    channels: list[MyChannel]
    can_link: bool


class LinkCode(Reply):
    """A code that links the account which sends it, once: open `url` on a device with the account, or send `line` to the bot."""

    platform: Platform
    bot: Bot
    url: TextOrNull
    line: str
    expires_at: Moment


class BoundGroupBody(Schema):
    """The tags of which everybody in the group may see what is shared there."""

    acl_tags: Annotated[AclTags, Field(min_length=1)]


class BoundGroup(Reply):
    """A group of a platform that is bound to access tags."""

    platform: Platform
    chat: str
    acl_tags: Sorted
    bound_at: Moment


class BoundGroups(Reply):
    """Groups by platform and id."""

    groups: list[BoundGroup]


class ChannelState(Reply):
    """A platform as the command line shows it: `isSetUp` where the settings have its token, `waiting` updates that are not answered yet."""

    platform: Platform
    is_set_up: bool
    bot: Bot | None
    accounts: int
    waiting: int


class ChannelStates(Reply):
    """All platforms, and the groups that are bound."""

    channels: list[ChannelState]
    groups: list[BoundGroup]
