"""A temporary PostgreSQL server for a test or a measurement."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from lightwell.stores.embedded.server import run_server


@contextmanager
def temporary_folder() -> Generator[Path]:
    """Yield a new folder that root's server, which runs as another user, can pass; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="lightwell-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@contextmanager
def temporary_server() -> Generator[str]:
    """Yield the URI of an embedded server with an empty database."""
    with temporary_folder() as folder, run_server(folder) as uri:
        yield uri
