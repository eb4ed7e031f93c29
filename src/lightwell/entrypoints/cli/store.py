"""Opens the store for the reader that `--as` names."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import typer

from lightwell.domain.access import Reader, Tags, parse_tags
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints.cli.console import clean

if TYPE_CHECKING:
    from lightwell.ingest.context import OpenConnector
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.knowledge_base.api_keys import ApiKeys
    from lightwell.knowledge_base.directory import Directory
    from lightwell.models.meter import Meter
    from lightwell.settings import Settings


_MAX_NAMED = 3
"""Access tags that a note names: whoever has an account in many systems has very many."""

NO_READER = (
    "Name who asks: --as team:sales (an access tag); several by commas or by repeating the option. LIGHTWELL_AS names"
    " them for every command"
)


def settings() -> "Settings":
    """Return the settings; raise `Invalid` naming the variable that is wrong, never its value."""
    from lightwell.settings import settings_from_environment

    return settings_from_environment()


def settings_of_store() -> "Settings":
    """Return the settings of a command that needs an existing store; raise `NotFound` where there is none.

    Only commands that ingest documents, serve, or create a key create a store.
    """
    from lightwell.wiring.database import has_store

    chosen = settings()
    if not has_store(chosen):
        raise NotFound(
            f"There is no Lightwell store in {chosen.data.expanduser().resolve()}: name its data directory in"
            " LIGHTWELL_DATA, or create a store with `lightwell ingest PATH`, or an empty one with `lightwell serve`"
        )
    return chosen


def settings_that_may_create_a_store() -> "Settings":
    """Return the settings of a command that creates the store where there is none, and tell the person where that is."""
    from lightwell.wiring.database import has_store

    chosen = settings()
    if not has_store(chosen):
        place = chosen.data.expanduser().resolve()
        typer.echo(clean(f"Note: This creates a store in {place}."), err=True)
    return chosen


@asynccontextmanager
async def open_store_project(
    chosen: "Settings", meter: "Meter | None" = None, *, open_source: "OpenConnector | None" = None
) -> "AsyncGenerator[KnowledgeBase]":
    """Open the project, and create its store where there is none; libraries are imported only now."""
    from lightwell.wiring import open_knowledge_base

    async with open_knowledge_base(chosen, meter, open_source=open_source) as kb:
        yield kb


@asynccontextmanager
async def open_as(
    who: Sequence[str] | None, meter: "Meter | None" = None
) -> "AsyncGenerator[tuple[KnowledgeBase, Reader]]":
    """Open the existing project for the reader whom `--as` or LIGHTWELL_AS names, or else for its owner.

    Raises `Invalid` for no tags; before anything is opened, unless the store may have an owner.
    """
    chosen = settings()
    tags = find_reader_tags(who, chosen)
    if not tags and chosen.database_url is not None:
        raise Invalid(NO_READER)
    async with open_store_project(settings_of_store(), meter) as kb:
        yield kb, await get_reader(kb, tags or await kb.owner_tags())


@asynccontextmanager
async def open_keys(chosen: "Settings | None" = None) -> "AsyncGenerator[tuple[ApiKeys, str]]":
    """Open the API keys of a store, by default the existing one, with the name of the project that the settings name."""
    chosen = chosen or settings_of_store()
    async with open_keys_of(chosen) as keys:
        yield keys, chosen.project


@asynccontextmanager
async def open_directory() -> "AsyncGenerator[Directory]":
    """Open the directory of the existing project that the settings name; raise `NotFound`."""
    async with open_directory_of(settings_of_store()) as directory:
        yield directory


@asynccontextmanager
async def open_directory_of(chosen: "Settings") -> "AsyncGenerator[Directory]":
    """Open the directory of the existing project that these settings name; raise `NotFound`."""
    from lightwell.knowledge_base.directory import Directory
    from lightwell.records import projects
    from lightwell.wiring.database import open_database

    async with open_database(chosen) as database:
        project_id = await projects.find(database, chosen.tenant, chosen.project)
        yield Directory(database=database, project_id=project_id)


@asynccontextmanager
async def open_keys_of(chosen: "Settings") -> "AsyncGenerator[ApiKeys]":
    """Open the API keys of the store that these settings name."""
    from lightwell.knowledge_base.api_keys import ApiKeys
    from lightwell.wiring.database import open_database

    async with open_database(chosen) as database:
        yield ApiKeys(database=database, tenant=chosen.tenant)


def find_reader_tags(words: Sequence[str] | None, chosen: "Settings") -> Tags:
    """Return the tags that these words of `--as` name, or LIGHTWELL_AS where there are none; raise `Invalid`.

    There are no tags where neither names any.
    """
    if words is not None and not _split(words):
        raise Invalid(NO_READER)
    return parse_tags(_split(words) or split_at_commas(chosen.as_))


def parse_reader_tags(words: Sequence[str] | None) -> Tags:
    """Return the tags that these words of `--as` name, or LIGHTWELL_AS; raise `Invalid` if there are none, or if a word is not a tag."""
    if tags := find_reader_tags(words, settings()):
        return tags
    raise Invalid(NO_READER)


def parse_document_tags(words: Sequence[str] | None) -> Tags:
    """Return the tags that these words of `--acl` name, none if there are no words; raise `Invalid` if a word is not a tag."""
    return parse_tags(_split(words))


async def get_reader(kb: "KnowledgeBase", tags: Tags) -> Reader:
    """Return the reader, and tell the person at the terminal when no document has any of these tags: one may be misspelt."""
    if not tags:
        raise Invalid(NO_READER)
    reader = await kb.reader(tags)
    if not reader.classes:
        first = sorted(tags)[:_MAX_NAMED]
        more = f" or {len(tags) - len(first)} others" if len(tags) > len(first) else ""
        named = " or ".join(first) + more
        typer.echo(clean(f"Note: no document has the access tag {named}"), err=True)
    return reader


def _split(words: Sequence[str] | None) -> list[str]:
    return [part for word in words or () for part in split_at_commas(word)]
