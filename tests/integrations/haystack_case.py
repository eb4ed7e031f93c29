"""A retriever in Haystack: its component's protocol, its serialisation and a pipeline."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.core.component import Component
from haystack.utils import Secret

from lightwell.integrations.haystack import LightwellRetriever
from tests.integrations.served import DOCUMENTS, KEY, QUESTION, SENTENCE, URL, check_metadata


async def test_documents_have_what_a_citation_needs() -> None:
    retriever = LightwellRetriever(url=URL)
    assert isinstance(retriever, Component)
    (document,) = retriever.run(QUESTION, top_k=1)["documents"]
    check_metadata(document.meta, document.content)
    assert document.score == document.meta["score"]
    assert await retriever.run_async(QUESTION, top_k=1) == {"documents": [document]}
    assert len(retriever.run(QUESTION)["documents"]) == DOCUMENTS
    assert retriever.run(QUESTION, filters={"system": ["linear"]}) == {"documents": []}


def test_a_pipeline_is_written_and_read_again() -> None:
    pipeline = Pipeline()
    pipeline.add_component(
        "retriever", LightwellRetriever(url=URL, top_k=1, filters={"type": ["document"]})
    )
    template = "{% for document in documents %}{{ document.content }}{% endfor %}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables=["documents"]))
    pipeline.connect("retriever.documents", "prompt.documents")
    written = pipeline.dumps()
    assert KEY not in written
    again = Pipeline.loads(written, allowed_modules=["lightwell.integrations.*"])
    assert again.to_dict() == pipeline.to_dict()
    asked = {"retriever": {"query": QUESTION}}
    assert SENTENCE in again.run(asked)["prompt"]["prompt"]


def test_a_key_in_the_open_is_not_written() -> None:
    retriever = LightwellRetriever(url=URL, api_key=Secret.from_token(KEY))
    assert retriever.run(QUESTION)["documents"]
    with pytest.raises(ValueError, match="token"):
        retriever.to_dict()
