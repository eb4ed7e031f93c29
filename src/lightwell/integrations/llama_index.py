"""A retriever for LlamaIndex. It needs the extra `llama-index`.

retriever = LightwellRetriever(url="https://knowledge.example.com", api_key="lw_…", similarity_top_k=5)
nodes = retriever.retrieve("What discount does Nordwind Energie receive?")
"""

# The framework is an extra that only slow tests install.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportUnknownArgumentType=false

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from lightwell.client import AsyncClient, Client
from lightwell.domain.questions import Mode
from lightwell.entrypoints.operations.calls import Call
from lightwell.entrypoints.operations.questions import ANY_DOCUMENT, DocumentFilters
from lightwell.entrypoints.operations.searches import Passage, Passages, search_passages
from lightwell.integrations.passages import SHOWN_TO_MODELS, citation_metadata


class LightwellRetriever(BaseRetriever):
    """Returns the passages that the key may read, the best first, `similarity_top_k` of them: 20 at most.

    A node's score is the passage's relevance, 0 to 1; of its metadata a model is shown title and section. Calls raise
    `lightwell.client.ServerError`.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        url: str,
        api_key: str,
        similarity_top_k: int = 5,
        mode: Mode = Mode.MIX,
        topic: str = "",
        filters: DocumentFilters = ANY_DOCUMENT,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self.url = url
        self.similarity_top_k = similarity_top_k
        self._api_key = api_key
        self._mode = mode
        self._topic = topic
        self._filters = filters

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with Client(self.url, api_key=self._api_key) as client:
            return _nodes(client.send(self._call(query_bundle.query_str)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async with AsyncClient(self.url, api_key=self._api_key) as client:
            return _nodes(await client.send(self._call(query_bundle.query_str)))

    def _call(self, query: str) -> Call[Passages]:
        return search_passages.call(
            query,
            top_k=self.similarity_top_k,
            topic_filter=self._topic,
            filters=self._filters,
            mode=self._mode,
        )


def _nodes(passages: Passages) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=_node(passage), score=passage.relevance_score)
        for passage in passages.results
    ]


def _node(passage: Passage) -> TextNode:
    metadata = citation_metadata(passage)
    hidden = [name for name in metadata if name not in SHOWN_TO_MODELS]
    document = RelatedNodeInfo(node_id=str(passage.metadata.document_id))
    return TextNode(
        id_=str(passage.chunk_id),
        text=passage.content,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        start_char_idx=passage.locator.start,
        end_char_idx=passage.locator.end,
        relationships={NodeRelationship.SOURCE: document},
    )
