"""A retriever in LlamaIndex: what a query engine and a synthesizer take of it."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, QueryBundle, TextNode

from lightwell.entrypoints.operations.questions import DocumentFilters
from lightwell.integrations.llama_index import LightwellRetriever
from tests.integrations.served import DOCUMENTS, KEY, QUESTION, SENTENCE, URL, check_metadata


async def test_nodes_have_what_a_citation_needs() -> None:
    retriever = LightwellRetriever(url=URL, api_key=KEY, similarity_top_k=1)
    (found,) = retriever.retrieve(QUESTION)
    check_metadata(found.metadata, found.text)
    assert found.score == found.metadata["score"]
    assert found.node.ref_doc_id == found.metadata["document_id"]
    assert await retriever.aretrieve(QueryBundle(QUESTION)) == [found]
    assert len(LightwellRetriever(url=URL, api_key=KEY).retrieve(QUESTION)) == DOCUMENTS
    none = LightwellRetriever(url=URL, api_key=KEY, filters=DocumentFilters(system=("linear",)))
    assert none.retrieve(QUESTION) == []


def test_a_model_is_shown_the_title_and_no_ids() -> None:
    (found,) = LightwellRetriever(url=URL, api_key=KEY, similarity_top_k=1).retrieve(QUESTION)
    shown = found.get_content(MetadataMode.LLM)
    assert "title: Orders" in shown
    assert str(found.metadata["document_id"]) not in shown
    assert TextNode.from_dict(found.node.to_dict()) == found.node


def test_a_query_engine_answers_with_its_nodes() -> None:
    retriever = LightwellRetriever(url=URL, api_key=KEY, similarity_top_k=1)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    response = engine.query(QUESTION)
    assert SENTENCE in str(response)  # the mock repeats its prompt
    assert [each.metadata["title"] for each in response.source_nodes] == ["Orders"]
