"""A server of tools for models, as Open WebUI and other OpenAPI clients take one: three operations, and the document that describes them.

The document is the same for everybody and needs no key, since Open WebUI reads it for no user. Its operations are told in few words and take few
parameters, because small models choose by them.
"""

from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, Final

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field

from lightwell.domain.answers import Confidence
from lightwell.domain.documents import document_address
from lightwell.domain.questions import MAX_QUESTION_LENGTH
from lightwell.entrypoints.http.authentication import Reading
from lightwell.entrypoints.http.dialects import speaking
from lightwell.entrypoints.http.problems import Dialect
from lightwell.entrypoints.markdown import citation_title
from lightwell.entrypoints.mcp_server import AS_DATA
from lightwell.entrypoints.operations.replies import Rounded

PREFIX: Final = "/tools"
MAX_CHARACTERS: Final = 20_000
"""Of a document, so many are returned at once."""
_PASSAGES: Final = 8


router = APIRouter(prefix=PREFIX, tags=["tools"], route_class=speaking(Dialect()))

Question = Annotated[str, Field(max_length=MAX_QUESTION_LENGTH)]


class SearchRequest(BaseModel):
    query: Annotated[Question, Field(description="What to look for, in words.")]


class AskRequest(BaseModel):
    question: Annotated[Question, Field(description="The question, as one sentence.")]


class OpenRequest(BaseModel):
    document_id: Annotated[
        str, Field(max_length=4000, description="The document's id, as search returns it.")
    ]
    start: Annotated[
        int, Field(ge=0, description="Where to begin: 0, or next_start of the reply before.")
    ] = 0


class FoundPassage(BaseModel):
    document_id: str
    title: str
    url: str
    section: str
    date: str | None
    relevance: Rounded
    text: str


class FoundPassages(BaseModel):
    passages: list[FoundPassage]


class Source(BaseModel):
    """What a mark in the answer, such as [1], stands for; without an answer, what is nearest to the question."""

    mark: str
    document_id: str
    title: str
    url: str
    quote: str


class CitedAnswer(BaseModel):
    answer: str
    confidence: Confidence
    sources: list[Source]


class OpenedDocument(BaseModel):
    document_id: str
    title: str
    url: str
    text: str
    next_start: int | None


@router.post(
    "/search",
    operation_id="search_documents",
    description=f"Find passages of the company's documents that bear on a query, the best first. {AS_DATA}",
)
async def search_documents(body: SearchRequest, caller: Reading) -> FoundPassages:
    """Return the best passages that the caller may read."""
    retrieval = await caller.knowledge_base.questions.search(
        body.query, caller.reader, limit=_PASSAGES
    )
    passages: list[FoundPassage] = []
    for evidence in retrieval.evidence:
        chunk = evidence.chunk
        passage = FoundPassage(
            document_id=str(chunk.document_id),
            title=chunk.title,
            url=caller.server + chunk.address,
            section=" › ".join(chunk.locator.section),
            date=chunk.dated_at.date().isoformat() if chunk.dated_at else None,
            relevance=evidence.relevance,
            text=chunk.text,
        )
        passages.append(passage)
    return FoundPassages(passages=passages)


@router.post(
    "/ask",
    operation_id="ask_documents",
    description="Answer a question from the company's documents, each sentence with its source, or say that they do not answer it."
    f" Prefer it for questions of fact. {AS_DATA}",
)
async def ask_documents(body: AskRequest, caller: Reading) -> CitedAnswer:
    """Return an answer with its sources, or what is nearest to the question."""
    answer = await caller.knowledge_base.questions.ask(body.question, caller.reader)
    sources = [
        Source(
            mark=citation.id if answer.citations else "",
            document_id=citation.document_id,
            title=citation_title(citation),
            url=citation.link_from(caller.server),
            quote=citation.snippet,
        )
        for citation in answer.citations or answer.nearest
    ]
    return CitedAnswer(answer=answer.text, confidence=answer.confidence, sources=sources)


@router.post(
    "/open",
    operation_id="open_document",
    description=f"Return the text of a document that search or ask has named, {MAX_CHARACTERS} characters at a time. {AS_DATA}",
)
async def open_document(body: OpenRequest, caller: Reading) -> OpenedDocument:
    """Return a part of a document's text; raise `NotFound`."""
    documents = caller.knowledge_base.documents
    document = await documents.get(caller.reader, body.document_id)
    text = await documents.text(caller.reader, str(document.id))
    end = body.start + MAX_CHARACTERS
    return OpenedDocument(
        document_id=str(document.id),
        title=document.title,
        url=caller.server + document_address(document.id),
        text=text[body.start : end],
        next_start=end if end < len(text) else None,
    )


@router.get("/openapi.json", include_in_schema=False)
async def describe_tools() -> dict[str, Any]:
    """Return what describes the tools, the same for everybody."""
    return _describe()


@cache
def _describe() -> dict[str, Any]:
    """Return the OpenAPI document of the tools; their paths are below that of the document, and a model chooses no header."""
    document = get_openapi(
        title="Lightwell",
        version=version("lightwell"),
        description="Search the company's documents, ask them, and open one. Each caller gets what that caller may read.",
        routes=router.routes,
        servers=[{"url": PREFIX}],
    )
    document["paths"] = {
        path.removeprefix(PREFIX): operations for path, operations in document["paths"].items()
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.pop("parameters", None)
            operation["responses"] = {"200": operation["responses"]["200"]}
    return document
