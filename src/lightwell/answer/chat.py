"""A response in a conversation, in the shape of S4."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from lightwell.answer.graph_answer import GraphFact
from lightwell.answer.pipeline import EXTRACTS
from lightwell.domain.chat import (
    GRAPH_SOURCE,
    NO_INFORMATION,
    ChatMessage,
    ChatResponse,
    Role,
    SearchResult,
)
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import INSUFFICIENT, Answer, Citation, Retrieval
from lightwell.domain.ids import DocumentId
from lightwell.ports import ChatModel, Message, Reply
from lightwell.text.tokens import token_count

FROM_GRAPH = "Based on the knowledge graph:"

MAX_REMEMBERED = 2000
"""Tokens of a conversation that are carried along."""

_MARKS = re.compile(r"(?<!\S)(?:\[\d+\])+$", re.MULTILINE)
_MARK = re.compile(r"\[\d+\]")


class TokenCountingModel:
    """A chat model, and how many tokens this one request has sent it and had from it."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self.asked = 0
        self.said = 0

    @property
    def model(self) -> str:
        return self._inner.model

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        """Return the reply; raise `ModelFailed`."""
        reply = await self._inner.reply(messages, max_tokens=max_tokens, schema=schema)
        self.asked += reply.usage.input_tokens
        self.said += reply.usage.output_tokens
        return reply

    async def stream(self, messages: Sequence[Message], *, max_tokens: int) -> AsyncIterator[str]:
        """Yield the reply's text as it comes, counted here since a stream does not say; raise `ModelFailed`."""
        self.asked += sum(token_count(message.content) for message in messages)
        said: list[str] = []
        try:
            async for part in self._inner.stream(messages, max_tokens=max_tokens):
                said.append(part)
                yield part
        finally:
            self.said += token_count("".join(said))


def recent_messages(history: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return the last messages that fit the budget, from a question on."""
    left = MAX_REMEMBERED
    kept: list[ChatMessage] = []
    for message in reversed(history):
        left -= token_count(message.content)
        if left < 0:
            break
        kept.append(message)
    while kept and kept[-1].role is not Role.USER:
        kept.pop()
    return tuple(reversed(kept))


def build_response(
    answer: Answer,
    retrieval: Retrieval,
    history: Sequence[ChatMessage],
    *,
    milliseconds: int,
    counted: TokenCountingModel | None,
    graph: Sequence[GraphFact] = (),
) -> ChatResponse:
    """Return the answer to the last of the messages `said` as S4 has it; `[n]` in it is the n-th source.

    What the graph says comes last among the sources. Where no passage answers, it is the response, word for word.
    """
    passages = _passages(answer, retrieval)
    only_graph = answer.text == INSUFFICIENT and bool(graph)
    text = _lines(graph) if only_graph else _text(answer)
    asked = counted is not None and counted.asked > 0
    return ChatResponse(
        response=text,
        messages=(*history, ChatMessage(role=Role.ASSISTANT, content=text)),
        sources=(*passages.values(), *_from_graph(graph)),
        model=EXTRACTS if only_graph else answer.model,
        total_duration=milliseconds,
        prompt_eval_count=counted.asked if counted and asked else None,
        eval_count=counted.said if counted and asked else None,
    )


def courteous_response(reply: str, history: Sequence[ChatMessage]) -> ChatResponse:
    """Return a reply that stands on nothing, for a message that asks nothing."""
    return ChatResponse(
        response=reply,
        messages=(*history, ChatMessage(role=Role.ASSISTANT, content=reply)),
        sources=(),
        model=EXTRACTS,
        total_duration=0,
        prompt_eval_count=None,
        eval_count=None,
    )


def cited_documents(response: ChatResponse) -> tuple[DocumentId, ...]:
    """Return the documents that the response stands on, each once."""
    found = (DocumentId(each.id) for each in response.sources if each.id is not None)
    return tuple(dict.fromkeys(found))


def citations(answer: Answer) -> tuple[Citation, ...]:
    """Return the answer's citations under the marks that they have in a response, in the order of these."""
    marks = _chunk_marks(answer)
    found = (replace(each, id=f"[{marks[each.chunk_id]}]") for each in answer.citations)
    return tuple(sorted(found, key=lambda each: marks[each.chunk_id]))


def _chunk_marks(answer: Answer) -> dict[str, int]:
    """Return for each cited chunk which source it is, from 1."""
    chunks = dict.fromkeys(each.chunk_id for each in answer.citations)
    return {chunk: place for place, chunk in enumerate(chunks, start=1)}


def _passages(answer: Answer, retrieval: Retrieval) -> dict[str, SearchResult]:
    """Return the published chunks that the answer cites, by id, in the order of its marks."""
    known: dict[str, SearchResult] = {}
    for entry in retrieval.evidence:
        for chunk in entry.published_chunks:
            known[str(chunk.id)] = _passage(chunk, entry.cosine_distance)
    return {chunk: known[chunk] for chunk in _chunk_marks(answer)}


def _passage(chunk: Chunk, distance: float | None) -> SearchResult:
    return SearchResult(
        id=chunk.document_id,
        chunk_text=chunk.text,
        chunk_index=chunk.index,
        source=_document_label(chunk),
        distance=None if distance is None else round(min(1.0, max(0.0, distance)), 4),
    )


def _document_label(chunk: Chunk) -> str:
    """Return what people call the document: a file's name, else its title."""
    name = unquote(PurePosixPath(urlsplit(chunk.url).path).name)
    return (name or chunk.title if chunk.system == "file" else chunk.title or name) or chunk.url


def _text(answer: Answer) -> str:
    return NO_INFORMATION if answer.text == INSUFFICIENT else _renumber_marks(answer)


def _renumber_marks(answer: Answer) -> str:
    """Return the answer's text with the marks at its lines' ends numbered as the sources are."""
    marks = _chunk_marks(answer)
    places = {each.id: f"[{marks[each.chunk_id]}]" for each in answer.citations}

    def renumbered(match: re.Match[str]) -> str:
        marks: list[str] = _MARK.findall(match[0])
        return "".join(dict.fromkeys(places.get(mark, mark) for mark in marks))

    return _MARKS.sub(renumbered, answer.text)


def _lines(graph: Sequence[GraphFact]) -> str:
    return "\n".join(f"{line.text} [1]" for line in graph)


def _from_graph(graph: Sequence[GraphFact]) -> list[SearchResult]:
    if not graph:
        return []
    text = "\n".join((FROM_GRAPH, *(line.text for line in graph)))
    return [
        SearchResult(id=None, chunk_text=text, chunk_index=None, source=GRAPH_SOURCE, distance=None)
    ]
