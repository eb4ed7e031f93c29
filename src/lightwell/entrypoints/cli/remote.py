"""Which server a command asks, and how it is asked: what commands do with `--server` or a saved login."""

from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from lightwell.domain.errors import Invalid, NotFound
from lightwell.entrypoints.cli.logins import Login, find_login, has_login
from lightwell.entrypoints.cli.store import settings

if TYPE_CHECKING:
    from lightwell.entrypoints.client.clients import AsyncClient
    from lightwell.entrypoints.operations.calls import Call

T = TypeVar("T")


def choose_server(server: str | None, who: object) -> Login | None:
    """Return the login of the server to ask, None for the store here, which `--as` asks; raise `Invalid` for both."""
    if server and who:
        raise Invalid(
            "--as asks the store here, --server a server, whose key says who asks: leave one out"
        )
    if server is None and (who or not has_login()):
        return None
    return find_login(server, settings().api_key)


def open_client(login: Login) -> "AsyncClient":
    """Return a connection to a server, to be used in `async with`."""
    from lightwell.entrypoints.client.clients import AsyncClient

    return AsyncClient(login.url, api_key=login.api_key.get_secret_value())


async def send(call: "Call[T]", login: Login) -> T:
    """Return a server's reply to a call; raise `NotFound` and `Invalid` as for the store here, else `ServerError`."""
    from lightwell.entrypoints.client.connections import AsyncConnection
    from lightwell.entrypoints.client.failures import ServerError

    async with AsyncConnection(login.url, api_key=login.api_key.get_secret_value()) as server:
        try:
            return await server.send(call)
        except ServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise NotFound(str(error)) from error
            if error.status == HTTPStatus.UNPROCESSABLE_ENTITY:
                raise Invalid(str(error)) from error
            raise


def require_server(server: str | None) -> Login:
    """Return the login of the server that a command without a form for the store here needs; raise `NotFound`."""
    return find_login(server, settings().api_key)
