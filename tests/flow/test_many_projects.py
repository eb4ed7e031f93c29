"""One process serves many projects: expensive resources are opened once."""

import asyncio
from pathlib import Path

import psutil
import pytest

from lightwell import Settings, files, open_project, open_resources
from lightwell.domain.errors import Invalid
from lightwell.ports import Embedder
from lightwell.records.database import Database
from lightwell.testing.models import HashEmbedder

_PROJECTS = 50
_CONNECTIONS = 3


def chosen(database_url: str) -> Settings:
    return Settings(
        database_url=database_url,  # pyright: ignore[reportArgumentType]
        database_connections=_CONNECTIONS,
        project="first",
    )


async def test_fifty_projects_open_no_further_connection_model_or_process(
    database_url: str, tmp_path: Path
) -> None:
    opened: list[Embedder] = []

    def hashing(embedder: Embedder) -> Embedder:
        opened.append(embedder)
        return HashEmbedder(dimension=64)

    settings = chosen(database_url)
    (tmp_path / "wells.md").write_text("# Wells\n\nThe well of Halden is forty metres deep.")
    async with open_resources(settings, around=hashing) as resources:
        children = {each.pid for each in psutil.Process().children(recursive=True)}
        kbs = [await open_project(resources, f"project {at}") for at in range(_PROJECTS)]
        assert len({kb.project_id for kb in kbs}) == _PROJECTS
        assert len(opened) == 1
        assert {each.pid for each in psutil.Process().children(recursive=True)} == children
        assert await _connections(resources.database) <= _CONNECTIONS
        asked = "How deep is the well of Halden?"
        one, other = kbs[7], kbs[31]
        await one.ingestion.ingest(files(tmp_path, frozenset({"team:wells"}), settings))
        reader, stranger = await one.reader(["team:wells"]), await other.reader(["team:wells"])
        found, nothing = await asyncio.gather(
            one.questions.search(asked, reader), other.questions.search(asked, stranger)
        )
        assert [each.chunk.title for each in found.evidence] == ["Wells"]
        assert nothing.evidence == ()
        again = await open_project(resources, "project 7")
        assert again.project_id == one.project_id
        assert await _connections(resources.database) <= _CONNECTIONS


async def test_without_a_name_the_project_of_the_settings_is_opened(database_url: str) -> None:
    async with open_resources(
        chosen(database_url), around=lambda _: HashEmbedder(dimension=64)
    ) as one:
        assert (await open_project(one)).project_id == (await open_project(one, "first")).project_id


async def test_a_project_of_another_model_is_refused_and_the_others_still_open(
    database_url: str,
) -> None:
    settings = chosen(database_url)
    async with open_resources(settings, around=lambda _: HashEmbedder(dimension=64)) as one:
        await open_project(one, "old")
    async with open_resources(settings, around=lambda _: HashEmbedder(dimension=32)) as one:
        with pytest.raises(Invalid, match="vectors of two models cannot be compared"):
            await open_project(one, "old")
        await open_project(one, "new")


async def _connections(database: Database) -> int:
    rows = await database.rows(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND backend_type = 'client backend'",
        {},
    )
    return rows[0][0]
