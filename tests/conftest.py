"""One server for the whole run: the embedded one, or the one that LIGHTWELL_TEST_DATABASE_URL names."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo, sql

from lightwell.records.database import Database, connected
from lightwell.records.server import serve


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The connection string of a server that tests may make databases on."""
    given = os.environ.get("LIGHTWELL_TEST_DATABASE_URL")
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="lightwell-"))
    try:
        with serve(folder) as uri:
            yield uri
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """The name of a database with the schema in it, to copy others from."""
    name = f"lightwell_template_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

        async def migrate() -> None:
            async with connected(conninfo.make_conninfo(server, dbname=name)):
                pass

        asyncio.run(migrate())
        yield name
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def fresh(server: str, template: str) -> Generator[str]:
    """Lend the connection string of a fresh database with the schema, dropped afterwards."""
    name = f"lightwell_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        yield conninfo.make_conninfo(server, dbname=name)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def database_url(server: str, template: str) -> Iterator[str]:
    with fresh(server, template) as url:
        yield url


@pytest.fixture
async def other_database(server: str, template: str) -> AsyncIterator[Database]:
    """A second database, which shares nothing with the first."""
    with fresh(server, template) as url:
        async with connected(url) as opened:
            yield opened


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with connected(database_url) as opened:
        yield opened
