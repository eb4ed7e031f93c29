"""`serve`: the HTTP server."""

import json
import socket
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.domain.web_sessions import sign_in_address
from lightwell.entrypoints.cli.console import errors_console, unwrapped_line
from lightwell.entrypoints.cli.demo import ingest_example_company, temporary_store
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.first_sign_in import (
    ADMINISTRATOR,
    add_demo_people,
    demo_scopes,
    email_of,
    sign_in_administrator,
    sign_in_owner,
)
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.store import (
    open_directory_of,
    open_keys_of,
    settings,
    settings_that_may_create_a_store,
)
from lightwell.world import DEMO, PEOPLE

if TYPE_CHECKING:
    from lightwell.settings import Settings

serve = single_command()

_NO_KEY = "Note: A new store has no API key; in another shell, `lightwell keys create NAME --acl TAG --scope read --scope ingest` makes one."

_OPEN = "Open this address in a browser; it signs you in{}, once, within an hour:"

_UNENCRYPTED = "Note: Others on the network can read keys and answers on their way, unless a proxy with TLS is in front of this server."

Host = Annotated[
    str | None,
    typer.Option(
        "--host", metavar="HOST", help="Address to listen on, instead of LIGHTWELL_HTTP_HOST."
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="PORT",
        min=0,
        max=65535,
        help="Port to listen on, instead of LIGHTWELL_HTTP_PORT.",
    ),
]
WithDemo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Serve the example company of `lightwell demo`, with a new API key for each of its people.",
    ),
]


Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=64,
        help="Number of processes that share the work: one for every two processor cores, or with model endpoints one for each.",
    ),
]


@command(
    serve,
    "serve",
    "lightwell serve",
    "lightwell serve --port 9000 --workers 4",
    "lightwell serve --demo",
)
async def serve_http(
    *, host: Host = None, port: Port = None, demo: WithDemo = False, workers: Workers = 1
) -> Report:
    """Serve questions over HTTP until SIGINT (Ctrl-C) or SIGTERM.

    Every request needs an API key: `lightwell keys create`. A store that does not exist is created, empty. The server listens on this machine only, unless --host or
    LIGHTWELL_HTTP_HOST names another address. There it prints an address that signs its owner in with a browser, once, within an hour.
    `/docs` describes the interface.
    """
    from lightwell.entrypoints.cli.server_processes import ingest_beside, serve_in_workers
    from lightwell.entrypoints.http import serving as http_server
    from lightwell.entrypoints.http.app import SUBJECTS, create_app
    from lightwell.entrypoints.http.owner_door import OwnerDoor
    from lightwell.wiring.database import has_store

    errors_console().print(Text("Starting; this takes some seconds."))
    is_new = not demo and not has_store(settings())
    chosen = temporary_store(settings()) if demo else settings_that_may_create_a_store()
    options = {"http.host": host, "http.port": port}
    chosen = chosen.with_values({key: value for key, value in options.items() if value is not None})
    with _listen(chosen) as listening:
        http_server.set_socket_options(listening)
        url = "http://{}:{}".format(*listening.getsockname()[:2])
        keys = await _prepare_demo(chosen, url) if demo else None
        address = await _sign_in_address(chosen, url, demo=demo)
        announce = partial(_announce, chosen, (url, address), keys, is_new=is_new)
        answering = chosen.with_values({"http.worker": False})
        async with AsyncExitStack() as stack:
            if chosen.http.worker:
                await stack.enter_async_context(ingest_beside(chosen, listening))
            if workers > 1:
                await serve_in_workers(answering, listening, workers, announce)
            else:
                announce()
                app = create_app(answering)
                door = OwnerDoor(app, SUBJECTS, answering)
                await http_server.serve(app, listening, proxies=chosen.http.proxies, door=door)
    return Report(document={"stopped": True}, text=Text("Stopped."))


async def _sign_in_address(chosen: "Settings", url: str, *, demo: bool) -> str:
    """Return the address that signs the owner of the store in; "" for a server that others reach, whose log would have it."""
    from lightwell.entrypoints.http.browsers import LOOPBACK

    others = (chosen.http.proxies, chosen.http.hosts, chosen.server.public_url)
    if chosen.http.host not in LOOPBACK or any(others):
        return ""
    if not demo:
        secret = await sign_in_owner(chosen)
    else:
        async with open_directory_of(chosen) as directory:
            secret = await sign_in_administrator(directory)
    return sign_in_address(url, secret) if secret else ""


def _announce(
    chosen: "Settings",
    addresses: tuple[str, str],
    keys: RenderableType | None,
    *,
    is_new: bool,
) -> None:
    """Print where the server is. The last line, which one sees, is the address that signs its owner in, if there is one."""
    from lightwell.entrypoints.http.browsers import LOOPBACK

    console = errors_console()
    url, address = addresses
    if keys is not None:
        console.print(keys)
    if is_new and not address:
        console.print(Text(_NO_KEY))
    if chosen.http.host not in LOOPBACK:
        console.print(Text(_UNENCRYPTED))
    lines: list[RenderableType] = [Text(f"Listening on {url}; Ctrl-C stops.")]
    if address:
        who = f" as {PEOPLE[ADMINISTRATOR].name}" if keys is not None else ""
        lines += [Text("\n" + _OPEN.format(who)), unwrapped_line(address)]
    # At once: whoever waits for the first line reads the others, too.
    console.print(Group(*lines))


def _listen(chosen: "Settings") -> socket.socket:
    """Return the socket that clients connect to; raise `Invalid` where it cannot be had."""
    family = socket.AF_INET6 if ":" in chosen.http.host else socket.AF_INET
    try:
        listening = socket.create_server((chosen.http.host, chosen.http.port), family=family)
    except OSError as error:
        raise Invalid(
            f"The server cannot listen on {chosen.http.host}, port {chosen.http.port}: {error.strerror}."
            " --host and --port name others"
        ) from error
    return listening


async def _prepare_demo(chosen: "Settings", url: str) -> RenderableType:
    """Ingest the example company, make its people, and return a key for each of them and a first request."""
    await ingest_example_company(chosen)
    async with open_directory_of(chosen) as directory:
        await add_demo_people(directory)
    lines: list[Text] = []
    token = ""
    async with open_keys_of(chosen) as keys:
        for who, person in PEOPLE.items():
            _, made = await keys.create(
                chosen.project,
                f"demo: {who}",
                scopes=demo_scopes(who),
                tags=[],
                person=email_of(who),
            )
            token = token or made.text
            lines.append(Text(f"  {person.name}, {person.role}: {made.text}"))
    body = json.dumps({"query": DEMO[0][0].text})
    request = (
        f"curl -s {url}/v1/query -H 'Authorization: Bearer {token}'"
        f" -H 'Content-Type: application/json' -d '{body}'"
    )
    return Group(
        Text("To see what others see, sign in as them with a key, in a private window:"),
        *lines,
        Text("Programs ask with one, too:"),
        unwrapped_line(request),
    )
