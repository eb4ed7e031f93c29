"""`keys`: creates, lists, rotates and revokes API keys. Whoever may open the database may do this."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

from lightwell.domain.api_keys import LONGEST_GRACE, ApiKey, Scope, Token
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import clean, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.store import (
    open_keys,
    parse_document_tags,
    settings_that_may_create_a_store,
)
from lightwell.entrypoints.json_directory import api_key

keys = new_group(
    "Create, list, rotate and revoke API keys.",
    'lightwell keys create "Ada\'s laptop" --acl team:sales,user:ada',
    "lightwell keys list",
)

OfPerson = Annotated[
    str,
    typer.Option(
        "--person",
        metavar="PERSON",
        help="It reads with this person's current tags (id, e-mail address or telegram:123); --acl narrows them.",
    ),
]

_ONCE = "The key is shown only this once."


@command(
    keys,
    "create",
    'lightwell keys create "Ada\'s laptop" --acl team:sales,user:ada',
    "lightwell keys create importer --acl team:sales --scope read --scope ingest --days 30",
    audited="keys create",
)
async def create_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="TAG",
            help="Access tags that it reads with. Several by commas, or by repeating it.",
        ),
    ] = None,
    person: OfPerson = "",
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", metavar="SCOPE", help=f"{', '.join(Scope)}; repeat it. read by default."
        ),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            "--days",
            metavar="N",
            min=1,
            max=3650,
            help="It expires after N days; never, without it.",
        ),
    ] = None,
) -> Report:
    """Create an API key for the project that the settings name, and show it once."""
    if not acl and not person:
        raise Invalid(
            "Name what the key may read: --acl team:sales (an access tag), or --person ada@halden.example"
        )
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    async with open_keys(settings_that_may_create_a_store()) as (held, project):
        key, token = await held.create(
            project,
            name,
            scopes=scope or [Scope.READ],
            tags=parse_document_tags(acl),
            person=person,
            expires_at=expires_at,
        )
    return _once(key, token)


@command(keys, "list", "lightwell keys list", "lightwell keys list --json")
async def list_keys() -> Report:
    """List the project's API keys, the oldest first, without their secrets."""
    async with open_keys() as (held, project):
        found = await held.list(project)
        people = await held.name_people(project, found)
    table = new_table("id", "name", "scopes", "access tags", "person", "state")
    for each in found:
        scopes, tags = ", ".join(sorted(each.scopes)), ", ".join(sorted(each.acl_tags))
        person = people[each.person] if each.person else ""
        table.add_row(
            str(each.id), clean(each.name), scopes, clean(tags), clean(person), _state(each)
        )
    return Report(document={"keys": [api_key(each) for each in found]}, text=table)


@command(
    keys,
    "rotate",
    "lightwell keys rotate 0199b0c4-6f5e-7c31-9d55-3a1f0e1c2b4d",
    "lightwell keys rotate 0199b0c4-6f5e-7c31-9d55-3a1f0e1c2b4d --grace-hours 24",
    audited="keys rotate",
)
async def rotate_key(
    key: Annotated[UUID, typer.Argument(metavar="ID", help="Its id, as `keys list` shows it.")],
    *,
    grace_hours: Annotated[
        int,
        typer.Option(
            "--grace-hours",
            metavar="N",
            min=0,
            max=int(LONGEST_GRACE.total_seconds() // 3600),
            help="How many hours the old secret stays valid; 0, by default, ends it at once.",
        ),
    ] = 0,
) -> Report:
    """Give an API key a new secret, and show it once; id, scopes and tags stay."""
    async with open_keys() as (held, project):
        rotated, token = await held.rotate(project, key, grace=timedelta(hours=grace_hours))
    return _once(rotated, token)


@command(
    keys,
    "revoke",
    "lightwell keys revoke 0199b0c4-6f5e-7c31-9d55-3a1f0e1c2b4d",
    audited="keys revoke",
)
async def revoke_key(
    key: Annotated[UUID, typer.Argument(metavar="ID", help="Its id, as `keys list` shows it.")],
) -> Report:
    """Revoke an API key; the next request with it is refused."""
    async with open_keys() as (held, project):
        await held.revoke(project, key)
    return Report(document={"revoked": str(key)}, text=Text(clean(f"Revoked {key}.")))


def _once(key: ApiKey, token: Token) -> Report:
    return Report(
        document={**api_key(key), "key": token.text},
        text=Group(Text(token.text), Text(_ONCE, style="dim")),
    )


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is not None and key.expires_at <= datetime.now(UTC):
        return "expired"
    used = "never used" if key.last_used_at is None else f"last used {key.last_used_at:%Y-%m-%d}"
    return used if key.expires_at is None else f"{used}, until {key.expires_at:%Y-%m-%d}"
