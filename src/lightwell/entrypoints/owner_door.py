"""The owner's door: a socket in the data folder by which commands of the store's owner ask the server that has it open.

Only the user whose server it is can connect (the file's mode, and the kernel's word on who is at the other end), and that user may open
the store and name any reader. So it needs no key: a request names the reader's access tags, and how its sender would answer by itself.
"""

import hashlib
import json
import os
import socket
import struct
import sys
from pathlib import Path
from urllib.parse import quote, unquote

from lightwell.domain.access import Tags, parse_tags
from lightwell.settings import Settings

READER = "lightwell-reader"
"""The header with the reader's access tags; empty for the owner's own."""
SAME = "lightwell-same"
"""The header with what `describe` returns: a server with other settings, another store or other code does not answer."""

_NAME = "owner.sock"
_MOST_BYTES = 103
"""Of a socket's path, on macOS; Linux would take 107."""
_NO_MATTER = {"data", "http", "server", "oidc", "ingestion", "api_key", "as_", "database_connections"}  # fmt: skip
"""Settings that change no answer: `data` and the address of the server are compared by themselves."""


def door_path(settings: Settings) -> Path | None:
    """Return where the door of this store is; None for a store without one.

    That is a database of your own, whose data folder says nothing, and a store with model endpoints: what a command's calls cost is
    counted, and its budget kept, where the command runs.
    """
    endpoints = (settings.chat.url, settings.embedding.url, settings.reranker.url)
    path = _folder(settings) / _NAME
    if settings.database_url is not None or any(endpoints) or len(os.fsencode(path)) > _MOST_BYTES:
        return None
    return path


def describe(settings: Settings) -> str:
    """Return a digest of all that an answer depends on beside the question, the reader and the store's content; no secret is in it."""
    code = Path(__file__)
    parts = {
        "store": str(_folder(settings)),
        "address": settings.server.public_url,
        "code": (str(code), code.stat().st_mtime_ns),  # an upgrade writes it anew
        "settings": settings.model_dump(mode="json", exclude=_NO_MATTER),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def write_tags(tags: Tags) -> str:
    """Return tags as a header."""
    return ",".join(quote(tag, safe=":") for tag in sorted(tags))


def read_tags(header: str) -> Tags:
    """Return the tags of a header; raise `Invalid`."""
    return parse_tags(map(unquote, header.split(",")))


def is_own(connected: socket.socket) -> bool:
    """Return whether this user's process is at the other end of a socket, where the system says so."""
    if sys.platform != "linux":
        return True  # the mode of the file and its owner say it
    sent = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", sent)
    return user == os.geteuid()


def _folder(settings: Settings) -> Path:
    return settings.data.expanduser().resolve()
