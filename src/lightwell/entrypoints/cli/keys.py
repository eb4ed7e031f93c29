"""`keys`: creates, lists, rotates and revokes API keys. Whoever may open the database may do this."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

from lightwell.domain.api_keys import LONGEST_GRACE, Scope
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import clean, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.store import (
    open_keys,
    parse_document_tags,
    settings_that_may_create_a_store,
)
from lightwell.entrypoints.operations.administration import ApiKey, ApiKeys, NewApiKey, with_secret

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
    "lightwell keys create 'wiki to Lightwell' --source wiki",
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
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="NAME",
            help="It pushes into this source (`sources add NAME push`), and does nothing else.",
        ),
    ] = "",
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
    if not acl and not person and not source:
        raise Invalid(
            "Name what the key may read: --acl team:sales (an access tag), or --person ada@halden.example"
        )
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    async with open_keys(settings_that_may_create_a_store()) as (api_keys, project):
        created = await api_keys.create(
            project,
            name,
            scopes=scope or [Scope.PUSH if source else Scope.READ],
            tags=parse_document_tags(acl),
            person=person,
            source=source,
            expires_at=expires_at,
        )
    return _once(with_secret(*created))


@command(keys, "list", "lightwell keys list", "lightwell keys list --json")
async def list_keys() -> Report:
    """List the project's API keys, the oldest first, without their secrets."""
    async with open_keys() as (api_keys, project):
        listed = await api_keys.list(project)
        people = await api_keys.name_people(project, listed)
    table = new_table("id", "name", "scopes", "access tags", "person", "state")
    for key in listed:
        scopes, tags = ", ".join(sorted(key.scopes)), ", ".join(sorted(key.acl_tags))
        person = people[key.person] if key.person else ""
        state = _state(ApiKey.model_validate(key))
        table.add_row(str(key.id), clean(key.name), scopes, clean(tags), clean(person), state)
    return Report(document=ApiKeys(keys=[ApiKey.model_validate(key) for key in listed]), text=table)


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
    async with open_keys() as (api_keys, project):
        rotated = await api_keys.rotate(project, key, grace=timedelta(hours=grace_hours))
    return _once(with_secret(*rotated))


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
    async with open_keys() as (api_keys, project):
        await api_keys.revoke(project, key)
    return Report(document={"revoked": str(key)}, text=Text(clean(f"Revoked {key}.")))


def _once(key: NewApiKey) -> Report:
    return Report(document=key, text=Group(Text(key.key), Text(_ONCE, style="dim")))


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is not None and key.expires_at <= datetime.now(UTC):
        return "expired"
    used = "never used" if key.last_used_at is None else f"last used {key.last_used_at:%Y-%m-%d}"
    return used if key.expires_at is None else f"{used}, until {key.expires_at:%Y-%m-%d}"
