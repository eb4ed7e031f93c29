"""Accounts of Telegram and Slack that people link to themselves, and the groups there that administrators bind to tags."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from lightwell.domain.access import parse_tags
from lightwell.domain.channels import Platform
from lightwell.domain.principals import Principal
from lightwell.entrypoints.http.authentication import Administering, act_for, projects_of
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.channels import (
    BoundGroup,
    BoundGroupBody,
    BoundGroups,
    Channels,
    LinkCode,
    MyChannel,
)
from lightwell.knowledge_base import channel_accounts

router = APIRouter(prefix="/v1", tags=["channels"])

Shown = Annotated[Principal, Depends(act_for)]
Opened = Annotated[Projects, Depends(projects_of)]


def _groups(principal: Administering, projects: Opened) -> channel_accounts.BoundGroups:
    return channel_accounts.BoundGroups(
        database=projects.keys.database, project_id=principal.project_id
    )


Groups = Annotated[channel_accounts.BoundGroups, Depends(_groups)]
Chat = Annotated[
    str,
    Path(description="The id of the group, as the bot says it there: `-1001234` or `C034CD`."),
]


@router.get("/me/channels")
async def list_my_channels(principal: Shown, projects: Opened) -> Channels:
    """Say where I can ask in a chat: the bots that run, and which accounts are linked to me."""
    database = projects.keys.database
    return Channels(
        channels=[
            MyChannel.model_validate(channel)
            for channel in await channel_accounts.list_channels(database, principal)
        ],
        can_link=await channel_accounts.can_link(database, principal),
    )


@router.post("/me/channels/{platform}", status_code=201)
async def make_link_code(platform: Platform, principal: Shown, projects: Opened) -> LinkCode:
    """Make a code that links an account of the platform to me, shown only now: once, within ten minutes, and while this session or key lasts."""
    accounts = await channel_accounts.own_accounts(projects.keys.database, principal)
    maker = channel_accounts.maker_of(principal)
    return LinkCode.model_validate(await accounts.make_code(platform, maker))


@router.delete("/me/channels/{platform}", status_code=204)
async def unlink_account(platform: Platform, principal: Shown, projects: Opened) -> Response:
    """Unlink my account of the platform: it may ask nothing from its next message on."""
    accounts = await channel_accounts.own_accounts(projects.keys.database, principal)
    await accounts.unlink(platform)
    return Response(status_code=204)


@router.get("/admin/channels/groups")
async def list_bound_groups(groups: Groups) -> BoundGroups:
    """List the groups that are bound to tags, by platform and id."""
    return BoundGroups(groups=[BoundGroup.model_validate(group) for group in await groups.list()])


@router.put("/admin/channels/groups/{platform}/{chat}")
async def bind_group(
    platform: Platform, chat: Chat, body: BoundGroupBody, groups: Groups
) -> BoundGroup:
    """Let answers be shared in a group whose every source somebody with these tags sees."""
    return BoundGroup.model_validate(await groups.bind(platform, chat, parse_tags(body.acl_tags)))


@router.delete("/admin/channels/groups/{platform}/{chat}", status_code=204)
async def unbind_group(platform: Platform, chat: Chat, groups: Groups) -> Response:
    """Let nothing be shared in a group any more; what was shared stays there."""
    await groups.unbind(platform, chat)
    return Response(status_code=204)
