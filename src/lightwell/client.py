"""A client of a Lightwell server: `Client`, and `AsyncClient` with the same methods to be awaited.

with Client("http://127.0.0.1:8000", api_key="lw_…") as client:
    reply = client.query("How many days of leave are there?")
"""

from lightwell.entrypoints.client.clients import AsyncClient, Client
from lightwell.entrypoints.client.failures import ServerError
from lightwell.entrypoints.operations.questions import StreamEvent

__all__ = ["AsyncClient", "Client", "ServerError", "StreamEvent"]
