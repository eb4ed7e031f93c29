"""A retriever for Haystack. It needs the extra `haystack`.

retriever = LightwellRetriever(url="https://knowledge.example.com", top_k=5)  # the key is in LIGHTWELL_API_KEY
documents = retriever.run(query="What discount does Nordwind Energie receive?")["documents"]
"""

# The framework is an extra that only slow tests install.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false
# pyright: reportUntypedClassDecorator=false

from collections.abc import Mapping
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.utils import Secret, deserialize_secrets_inplace

from lightwell.client import AsyncClient, Client
from lightwell.domain.questions import Mode
from lightwell.entrypoints.operations.calls import Call
from lightwell.entrypoints.operations.questions import DocumentFilters
from lightwell.entrypoints.operations.searches import Passages, search_passages
from lightwell.integrations.passages import citation_metadata

_KEY = Secret.from_env_var("LIGHTWELL_API_KEY")


@component
class LightwellRetriever:
    """Returns the passages that the key may read, the best first, `top_k` of them: 20 at most.

    `filters` are those of `POST /v1/search`, such as `{"system": ["linear"]}`; those of a run replace these. Calls raise
    `lightwell.client.ServerError`.
    """

    def __init__(
        self,
        url: str,
        api_key: Secret = _KEY,
        top_k: int = 5,
        mode: str = Mode.MIX.value,
        topic: str = "",
        filters: Mapping[str, Any] | None = None,
    ) -> None:
        self.url = url
        self.api_key = api_key
        self.top_k = top_k
        self.mode = mode
        self.topic = topic
        self.filters = dict(filters or {})

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` makes the same component of; a key that is no variable of the environment is refused by Haystack."""
        return default_to_dict(
            self,
            url=self.url,
            api_key=self.api_key.to_dict(),
            top_k=self.top_k,
            mode=self.mode,
            topic=self.topic,
            filters=self.filters,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "LightwellRetriever":
        """Return the component that `to_dict` has described."""
        deserialize_secrets_inplace(data["init_parameters"], keys=["api_key"])
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the `documents`, each a passage with its relevance as score."""
        with Client(self.url, api_key=self.api_key.resolve_value() or "") as client:
            return _documents(client.send(self._call(query, filters, top_k)))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return what `run` returns."""
        async with AsyncClient(self.url, api_key=self.api_key.resolve_value() or "") as client:
            return _documents(await client.send(self._call(query, filters, top_k)))

    def _call(
        self, query: str, filters: Mapping[str, Any] | None, top_k: int | None
    ) -> Call[Passages]:
        return search_passages.call(
            query,
            top_k=top_k or self.top_k,
            topic_filter=self.topic,
            filters=DocumentFilters.model_validate(self.filters if filters is None else filters),
            mode=Mode(self.mode),
        )


def _documents(passages: Passages) -> dict[str, list[Document]]:
    return {
        "documents": [
            Document(
                id=str(passage.chunk_id),
                content=passage.content,
                meta=citation_metadata(passage),
                score=passage.relevance_score,
            )
            for passage in passages.results
        ]
    }
