"""A model asked through the cache, on a real database."""

import pytest

from lightwell.domain.ids import ProjectId
from lightwell.ports import Message
from lightwell.records import access
from lightwell.records.asking import Asked, Asking
from lightwell.records.database import Database
from lightwell.records.replies import CacheType
from lightwell.testing.models import ScriptedModel

HOUR = 3600.0


def question(text: str, most_age: float | None) -> Asked:
    return Asked(
        kind=CacheType.KEYWORD_EXTRACTION,
        messages=[Message(role="user", content=text)],
        most_tokens=100,
        most_age=most_age,
    )


@pytest.fixture
async def project_id(database: Database) -> ProjectId:
    return await access.project(database, "tenant", "project")


async def aged(database: Database, seconds: float) -> None:
    await database.run(
        "UPDATE extraction_cache SET created_at = now() - make_interval(secs => %(seconds)s)",
        {"seconds": seconds},
    )


@pytest.mark.parametrize(
    ("most_age", "age", "said"),
    [(HOUR, HOUR - 60, "first"), (HOUR, HOUR + 60, "second"), (None, 1000 * HOUR, "first")],
)
async def test_a_reply_is_asked_for_anew_when_it_has_outlived_its_age(
    database: Database, project_id: ProjectId, most_age: float | None, age: float, said: str
) -> None:
    model = ScriptedModel(["first", "second"])
    asking = Asking(database, project_id, model, slots=1)
    assert (await asking.reply(question("Who?", most_age))).text == "first"
    await aged(database, age)
    assert (await asking.reply(question("Who?", most_age))).text == said
    assert (await asking.reply(question("Who?", most_age))).text == said
    kept = await database.rows("SELECT result FROM extraction_cache", {})
    assert kept == [(said,)]


async def test_replies_that_outlived_their_age_do_not_pile_up(
    database: Database, project_id: ProjectId
) -> None:
    asking = Asking(database, project_id, ScriptedModel(["one", "two"]), slots=1)
    await asking.reply(question("Who?", HOUR))
    await aged(database, 2 * HOUR)
    await asking.reply(question("When?", HOUR))
    kept = await database.rows("SELECT result FROM extraction_cache", {})
    assert kept == [("two",)]
