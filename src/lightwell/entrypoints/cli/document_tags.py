"""The access tags of what a command ingests: those that it gives, those that are remembered, or the owner's."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import typer

from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.errors import Invalid
from lightwell.domain.folder_tags import FolderTags
from lightwell.entrypoints.cli.console import clean

if TYPE_CHECKING:
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.settings import Settings


def login_tag() -> str:
    """Return the access tag of the person at this machine: `user:ada`, or `user:owner` where the login is no tag."""
    try:
        tag = f"user:{getpass.getuser()}"
        return next(iter(parse_tags([tag])))
    except (Invalid, OSError, KeyError):  # an account without a name, as in a container
        return "user:owner"


def file_url(path: Path) -> str:
    """Return the URL of a file or folder, as its documents have it."""
    return path.resolve().as_uri()


async def tags_of_owner(kb: "KnowledgeBase", chosen: "Settings") -> Tags:
    """Return the access tag of the owner of a store on this machine, none where it has no owner.

    Whoever ingests first, without naming tags, is the owner. A database server is nobody's own.
    """
    if chosen.database_url is not None:
        return frozenset()
    tag = login_tag()
    if await kb.documents.claim(tag):
        message = (
            f"Note: Documents that name no access tags are for you, {tag}; --acl TAG is for others."
        )
        typer.echo(clean(message), err=True)
    return await kb.owner_tags()


async def find_tags(kb: "KnowledgeBase", path: Path, acl: Tags | None) -> FolderTags:
    """Return the tags of a file or folder and of what is in it: `acl`, or where it is None those that are remembered and apply."""
    from lightwell.connectors.files import find_applicable_tags

    url = file_url(path)
    if acl is not None:
        return FolderTags({url: acl})
    return find_applicable_tags(path, await kb.documents.folder_tags(url))


async def remember_tags(
    kb: "KnowledgeBase", path: Path, acl: Tags | None, owner: Tags
) -> FolderTags:
    """Return what `find_tags` returns once `acl` is remembered, or `owner` for a new folder; say first what that changes."""
    url, tags = file_url(path), await find_tags(kb, path, None)
    if acl is None:
        if tags.find(url) is None and owner:
            await kb.documents.remember_folder_tags(url, owner, replaces_inside=False)
        return await find_tags(kb, path, None)
    for folder, old in tags.changed_by(url, acl).items():
        place = unquote(folder.removeprefix("file://"))
        message = f"Note: {place} was for {_named(old)}, and is now for {_named(acl)}."
        typer.echo(clean(message), err=True)
    await kb.documents.remember_folder_tags(url, acl, replaces_inside=True)
    return await find_tags(kb, path, acl)


def _named(tags: Tags) -> str:
    return ", ".join(sorted(tags)) or "nobody"
