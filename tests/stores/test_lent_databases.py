"""The databases of the tests: one that a knowledge base used is emptied, not made anew, which costs ten times as much."""

from pydantic import SecretStr

from lightwell import open_knowledge_base
from lightwell.settings import Settings
from tests.conftest import Databases


async def test_a_database_that_a_knowledge_base_used_is_lent_again(databases: Databases) -> None:
    with databases.lent() as url:
        async with open_knowledge_base(Settings(database_url=SecretStr(url))):
            pass
        lent = url.rpartition("dbname=")[2].split()[0]
    assert databases.free[-1] == lent
