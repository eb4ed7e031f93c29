"""The whole with models behind endpoints: real HTTP, only the words are made up."""

import pytest
from pydantic import SecretStr

from lightwell import Invalid, Settings, open_knowledge_base
from lightwell.domain.answers import INSUFFICIENT
from lightwell.settings import ChatSettings, EmbeddingSettings
from lightwell.testing.endpoint import Behaviour, Body, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

QUESTION = "What discount does Nordwind receive on all items?"
NOTE = make_document(
    "a.md",
    "# Contract with Nordwind\n\nNordwind receives a discount of 18 percent on all items. The term is three years.",
    ["team:sales"],
)


def settings(database_url: str, endpoint: FakeEndpoint) -> Settings:
    return Settings(
        database_url=SecretStr(database_url),
        embedding=EmbeddingSettings(url=endpoint.base_url, model="vectors"),
        chat=ChatSettings(url=endpoint.base_url, model="words"),
    )


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (
            "Nordwind receives a discount of 18 percent [1]. It also gets a free car [1]. The term is nine years [4].",
            "Nordwind receives a discount of 18 percent. [1]",
        ),
        (
            "Nordwind receives a discount of 25 percent [1].",
            "Nordwind receives a discount of 18 percent on all items. [1]",
        ),
        ("INSUFFICIENT", INSUFFICIENT),
    ],
)
async def test_what_the_model_invents_is_taken_out(
    database_url: str, reply: str, text: str
) -> None:
    def say(body: Body) -> str:
        del body
        return reply

    with FakeEndpoint(say).running() as endpoint:
        async with open_knowledge_base(settings(database_url, endpoint)) as kb:
            await kb.ingestion.ingest(InMemorySource(documents=(NOTE,)))
            answer = await kb.questions.ask(QUESTION, await kb.reader(["team:sales"]))
            assert answer.text == text
            stranger = await kb.reader(["team:support"])
            asked = sum(request.path.endswith("completions") for request in endpoint.requests)
            assert (await kb.questions.ask(QUESTION, stranger)).text == INSUFFICIENT
            again = sum(request.path.endswith("completions") for request in endpoint.requests)
            assert again == asked, "nothing is sent to a model for who may see nothing"


async def test_an_endpoint_that_is_busy_at_first_is_asked_again(database_url: str) -> None:
    busy = Behaviour(status=429, headers={"Retry-After": "0"})
    with FakeEndpoint(script=[busy, busy]).running() as endpoint:
        async with open_knowledge_base(settings(database_url, endpoint)) as kb:
            done = await kb.ingestion.ingest(InMemorySource(documents=(NOTE,)))
            assert done.problems == ()


async def test_vectors_of_two_models_are_never_compared(database_url: str) -> None:
    with FakeEndpoint().running() as endpoint:
        first = settings(database_url, endpoint)
        async with open_knowledge_base(first):
            pass
        other = first.with_values({"embedding.model": "other vectors"})
        with pytest.raises(Invalid, match="other vectors"):
            async with open_knowledge_base(other):
                pass


async def test_an_endpoint_without_a_model_is_refused_with_the_setting_to_mend(
    database_url: str,
) -> None:
    with FakeEndpoint().running() as endpoint:
        unnamed = settings(database_url, endpoint).with_values({"chat.model": ""})
        with pytest.raises(Invalid, match="LIGHTWELL_CHAT_MODEL"):
            async with open_knowledge_base(unnamed):
                pass
