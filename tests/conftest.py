"""One server for the whole run: the embedded one, or the one that LIGHTWELL_TEST_DATABASE_URL names."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import psycopg
import pytest
import structlog
from psycopg import conninfo, sql

from lightwell.domain import access
from lightwell.records.database import Database, connect
from lightwell.testing.server import temporary_server
from tests import generation
from tests.age_server.server import AgeServer, age_server_of_test
from tests.milvus_server import MilvusUse, use_milvus
from tests.neo4j_server.server import Neo4jServer, shared_server
from tests.parsers import lending

# Without compiled files each worker, command and parser compiles all that it imports: seconds of the processor each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

generation.register_profiles()


def pytest_collection_finish() -> None:
    """Collect garbage less often, and leave what all tests hold out of it: a tenth of a worker's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def logging_of_the_process() -> Iterator[None]:
    """Undo the logging configuration of a command that ran in this process, because later tests use `caplog`."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    structlog.reset_defaults()
    root.setLevel(level)
    root.handlers[:] = [each for each in root.handlers if each in handlers]


@pytest.fixture(scope="session", autouse=True)
def parsers() -> Iterator[None]:
    """Knowledge bases, commands and servers in this process share parser processes.

    A test of what becomes of the processes makes a `Parser` of its own, or runs a program.
    """
    with lending():
        yield


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is kept beside a store is kept out of the folder of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIGHTWELL_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The connection string of a server on which tests may create databases."""
    given = os.environ.get("LIGHTWELL_TEST_DATABASE_URL")
    if given:
        yield given
        return
    with temporary_server() as uri:
        with psycopg.connect(uri, autocommit=True) as connection:
            for setting in (
                "fsync",
                "full_page_writes",
            ):  # a crash may take all: the disk is not waited for
                connection.execute(
                    sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting))
                )
            connection.execute("SELECT pg_reload_conf()")
        yield uri


@pytest.fixture(scope="session")
def neo4j_server() -> Iterator[Neo4jServer]:
    """The Neo4j server that all workers share; each project's copy has an id of its own in it."""
    with shared_server() as shared:
        yield shared


@pytest.fixture(scope="session")
def age_server() -> Iterator[AgeServer]:
    """A PostgreSQL server with Apache AGE for the tests of one worker."""
    with age_server_of_test() as started:
        yield started


@pytest.fixture(scope="module")
def milvus_use() -> Iterator[MilvusUse]:
    """A use of the Milvus server that all test runs of this machine share."""
    with use_milvus() as use:
        yield use


@pytest.fixture(scope="module")
def milvus_url(milvus_use: MilvusUse) -> str:
    """The URL of the Milvus server that all test runs of this machine share."""
    return milvus_use.url


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """The name of the template database, which has the schema."""
    name = f"lightwell_template_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

        async def migrate() -> None:
            async with connect(conninfo.make_conninfo(server, dbname=name)):
                pass

        asyncio.run(migrate())
        yield name
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


# A database costs half a second of the processor to make and thirty milliseconds to empty.
_EMPTIED = """
SET session_replication_role = replica;
DO $$
DECLARE
    named text;
BEGIN
    PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
    FOR named IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename ~ '_vectors_[0-9]+(_signs)?$' LOOP
        EXECUTE format('DROP TABLE %I', named);
    END LOOP;
    FOR named IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations' LOOP
        EXECUTE format('DELETE FROM %I', named);
    END LOOP;
    FOR named IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
        EXECUTE format('ALTER SEQUENCE %I RESTART', named);
    END LOOP;
END $$
"""

# What a test may have changed besides rows; such a database is not used again.
_SHAPE = """
SELECT (SELECT array_agg((relname, relkind, relnatts)::text ORDER BY relname)
        FROM pg_class WHERE relnamespace = 'public'::regnamespace),
       (SELECT count(*) FROM pg_constraint WHERE connamespace = 'public'::regnamespace),
       (SELECT array_agg(proname ORDER BY proname, oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
       (SELECT array_agg(name ORDER BY name) FROM migrations),
       (SELECT count(*) FROM pg_db_role_setting)
"""


@dataclass(frozen=True, kw_only=True)
class Databases:
    """Lends empty databases with the schema. A returned database is emptied and lent again."""

    server: str
    template: str
    shape: object
    free: list[str] = field(default_factory=list[str])

    @contextmanager
    def lent(self) -> Generator[str]:
        """Lend a database to one test; yield its connection string."""
        name = self.free.pop() if self.free else self._made()
        url = conninfo.make_conninfo(self.server, dbname=name)
        try:
            yield url
        finally:
            if _emptied(url) == self.shape:
                self.free.append(name)
            else:
                self.drop(name)

    def drop(self, name: str) -> None:
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )

    def _made(self) -> str:
        name = f"lightwell_{uuid4().hex[:8]}"
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                    sql.Identifier(name), sql.Identifier(self.template)
                )
            )
        return name


def _emptied(url: str) -> object:
    """Empty the database and return its schema; None if that fails, whatever the test did to it."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_EMPTIED)
            return connection.execute(_SHAPE).fetchone()
    except psycopg.Error:
        return None


@pytest.fixture(scope="session")
def databases(server: str, template: str) -> Iterator[Databases]:
    with psycopg.connect(conninfo.make_conninfo(server, dbname=template)) as connection:
        shape = connection.execute(_SHAPE).fetchone()
    lending = Databases(server=server, template=template, shape=shape)
    yield lending
    for name in lending.free:
        lending.drop(name)


@pytest.fixture
def many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reader of the test is filtered for as one of many access classes is: by bits, not by a list."""
    monkeypatch.setattr(access, "LISTED_CLASSES", 0)


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    with databases.lent() as url:
        yield url


@pytest.fixture
async def other_database(databases: Databases) -> AsyncIterator[Database]:
    """A second database, which shares nothing with the first."""
    with databases.lent() as url:
        async with connect(url) as opened:
            yield opened


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with connect(database_url) as opened:
        yield opened
