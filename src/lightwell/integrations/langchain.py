"""A retriever for LangChain. It needs the extra `langchain`.

retriever = LightwellRetriever(url="https://knowledge.example.com", api_key="lw_…", k=5)
documents = retriever.invoke("What discount does Nordwind Energie receive?")
"""

# The framework is an extra that only slow tests install.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownParameterType=false

from typing import Annotated

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SecretStr

from lightwell.client import AsyncClient, Client
from lightwell.domain.questions import Mode
from lightwell.entrypoints.operations.calls import Call
from lightwell.entrypoints.operations.questions import DocumentFilters
from lightwell.entrypoints.operations.searches import Passages, search_passages
from lightwell.integrations.passages import citation_metadata


class LightwellRetriever(BaseRetriever):
    """Returns the passages that the key may read, the best first; `k` may also be given to `invoke`, and is 20 at most.

    `filters` are those of `POST /v1/search`, such as `{"system": ["linear"]}`. Calls raise `lightwell.client.ServerError`.
    """

    url: str
    api_key: SecretStr
    k: Annotated[int, Field(ge=1, le=20)] = 5
    mode: Mode = Mode.MIX
    topic: str = ""
    filters: DocumentFilters = DocumentFilters()

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        with Client(self.url, api_key=self.api_key.get_secret_value()) as client:
            return _documents(client.send(self._call(query, k)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        async with AsyncClient(self.url, api_key=self.api_key.get_secret_value()) as client:
            return _documents(await client.send(self._call(query, k)))

    def _call(self, query: str, k: int | None) -> Call[Passages]:
        return search_passages.call(
            query, top_k=k or self.k, topic_filter=self.topic, filters=self.filters, mode=self.mode
        )


def _documents(passages: Passages) -> list[Document]:
    return [
        Document(
            id=str(passage.chunk_id),
            page_content=passage.content,
            metadata=citation_metadata(passage),
        )
        for passage in passages.results
    ]
