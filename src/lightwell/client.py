"""A client of a Lightwell server: `Client`, and `AsyncClient` with the same methods to be awaited.

with Client("http://127.0.0.1:8000", api_key="lw_…") as client:
    reply = client.query("How many days of leave are there?")
"""

from lightwell.entrypoints.client import AsyncClient, Client, ServerError, StreamEvent

__all__ = ["AsyncClient", "Client", "ServerError", "StreamEvent"]
