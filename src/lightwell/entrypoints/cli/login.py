"""`login` and `logout`: the API key of a server, for commands without `--as`."""

import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import typer
from pydantic import JsonValue, SecretStr, TypeAdapter
from rich.text import Text

from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login, forget_login, parse_server_url, save_login
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.remote import open_client

login = single_command()
logout = single_command()

Url = Annotated[
    str, typer.Argument(metavar="URL", help="The server, such as http://127.0.0.1:8000.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Models:
    """What a server answers to a valid key; another program at its address answers otherwise."""

    object: Literal["list"]
    data: list[JsonValue]


@command(login, "login", "lightwell login http://127.0.0.1:8000")
async def log_in(url: Url) -> Report:
    """Save an API key for a server, for commands without --as.

    The key is asked for, or read from stdin where that is no terminal. It is tried before it is saved.
    """
    from lightwell.entrypoints.operations.calls import Call, reader

    server = parse_server_url(url)
    is_terminal = sys.stdin.isatty()
    key = typer.prompt("API key", hide_input=True) if is_terminal else sys.stdin.readline()
    made = Login(url=server, api_key=SecretStr(key.strip()))
    async with open_client(made) as client:
        tried = Call(method="GET", path="/v1/models", read=reader(TypeAdapter(_Models)))
        await client.send(tried)
    path = save_login(made)
    return Report(
        document={"server": server, "file": str(path)},
        text=Text(f"Logged in to {clean(server)}. The key is in {clean(str(path))}."),
    )


@command(logout, "logout", "lightwell logout http://127.0.0.1:8000")
async def log_out(url: Url) -> Report:
    """Forget the API key of a server.

    The key itself stays valid: `lightwell keys revoke` ends it.
    """
    server = parse_server_url(url)
    forget_login(server)
    return Report(document={"server": server}, text=Text(f"Logged out of {clean(server)}."))
