"""LangChain's standard tests of retrievers, and what they do not see."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from typing import Any

import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests

from lightwell.client import ServerError
from lightwell.integrations.langchain import LightwellRetriever
from tests.integrations.served import KEY, QUESTION, SENTENCE, URL, check_metadata


class TestStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[LightwellRetriever]:
        return LightwellRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"url": URL, "api_key": KEY}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


async def test_documents_have_what_a_citation_needs() -> None:
    retriever = LightwellRetriever(url=URL, api_key=KEY, k=1)
    (document,) = retriever.invoke(QUESTION)
    check_metadata(document.metadata, document.page_content)
    assert document.id == document.metadata["chunk_id"]
    assert await retriever.ainvoke(QUESTION) == [document]
    assert KEY not in repr(retriever)


def test_filters_narrow_and_errors_are_the_clients() -> None:
    none = LightwellRetriever(url=URL, api_key=KEY, filters={"system": ["linear"]})
    assert none.invoke(QUESTION) == []
    with pytest.raises(ServerError, match="API key"):
        LightwellRetriever(url=URL, api_key="lw_wrong").invoke(QUESTION)


def test_it_is_a_part_of_a_chain() -> None:
    def join(documents: list[Any]) -> str:
        return "\n".join(document.page_content for document in documents)

    chain = LightwellRetriever(url=URL, api_key=KEY) | RunnableLambda(join) | StrOutputParser()
    assert SENTENCE in chain.invoke(QUESTION)
