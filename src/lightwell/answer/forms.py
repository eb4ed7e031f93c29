"""The forms of an answer that are more than its text: the events of a stream, and the response in a chat."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from lightwell.answer.graph_answer import GraphFact
from lightwell.answer.model_calls import TokenCountingModel
from lightwell.domain.answers import (
    DOUBT_LINE,
    EXTRACTS,
    Answer,
    Answered,
    AnswerState,
    Citation,
    CitedSentence,
    Confidence,
    InsufficientEvidence,
    StreamChunk,
    StreamType,
)
from lightwell.domain.chat import (
    GRAPH_SOURCE,
    NO_INFORMATION,
    ChatMessage,
    ChatResponse,
    Role,
    SearchResult,
    ShownAnswer,
)
from lightwell.domain.documents import Chunk
from lightwell.domain.errors import ModelFailed
from lightwell.domain.evidence import Metrics, Retrieval
from lightwell.domain.ids import DocumentId
from lightwell.domain.questions import SUFFICIENT_RELEVANCE

FROM_GRAPH = "Based on the knowledge graph:"

Part = CitedSentence | str | Answer
"""What comes of an answer: a sentence, in mode `bypass` a piece of text, and at the end the whole answer."""

# ── a stream ──────────────────────────────────────────────────────────────────────────────────────────


async def stream_events(
    parts: AsyncGenerator[Part, None], metrics: Metrics
) -> AsyncGenerator[StreamChunk, None]:
    """Yield the events of an answer: tokens and citations, then `metadata` and `done`; or `error`, which is the last.

    Each sentence is a token, followed by the citations that it brings. What was sent before a model fails stands: it
    was verified.
    """
    began = time.perf_counter()
    sent = ""
    cited: set[str] = set()
    try:
        async with aclosing(parts) as coming:
            async for part in coming:
                text = _text_of(part, sent)
                if isinstance(part, CitedSentence):
                    start = len(sent) + len(text) - len(part.marked_text)
                    yield StreamChunk(
                        type=StreamType.TOKEN,
                        content=text,
                        sentence=part,
                        placed=part.placed(start),
                    )
                    for citation in part.citations:
                        if citation.id not in cited:
                            cited.add(citation.id)
                            yield StreamChunk(type=StreamType.CITATION, citation=citation)
                elif text:
                    state = AnswerState.POSSIBLY if text == DOUBT_LINE else None
                    yield StreamChunk(type=StreamType.TOKEN, content=text, state=state)
                sent += text
                if isinstance(part, Answer):
                    answer = replace(part, latency_ms=_milliseconds(metrics, began))
                    yield StreamChunk(type=StreamType.METADATA, metadata=answer.metadata)
                    yield StreamChunk(type=StreamType.DONE, answer=answer)
    except ModelFailed as error:
        yield StreamChunk(type=StreamType.ERROR, error=str(error))


def _text_of(part: Part, sent: str) -> str:
    """Return the text that a part adds to what was sent; the whole answer adds what is missing."""
    match part:
        case str():
            return part
        case CitedSentence():
            return f"\n{part.marked_text}" if sent and sent[-1] != "\n" else part.marked_text
        case Answer():
            return part.text[len(sent) :]


def _milliseconds(metrics: Metrics, began: float) -> int:
    return metrics.total_ms + round((time.perf_counter() - began) * 1000)


# ── a chat ────────────────────────────────────────────────────────────────────────────────────────────


def chat_response(
    answer: Answer,
    retrieval: Retrieval,
    history: Sequence[ChatMessage],
    *,
    milliseconds: int,
    counted: TokenCountingModel | None,
    graph: Sequence[GraphFact] = (),
) -> ChatResponse:
    """Return the answer to the last message of `history` as a chat response; `[n]` in it is the n-th source.

    What the graph says comes last among the sources. Where no passage answers, it is the response, word for word.
    """
    from_graph = _is_from_graph(answer, graph)
    text = "\n".join(f"{fact.text} [1]" for fact in graph) if from_graph else _chat_text(answer)
    is_counted = counted is not None and counted.input_tokens > 0
    return ChatResponse(
        response=text,
        messages=(*history, ChatMessage(role=Role.ASSISTANT, content=text)),
        sources=(*_sources(answer, retrieval), *_graph_source(graph)),
        model=EXTRACTS if from_graph else answer.model,
        total_duration=milliseconds,
        prompt_eval_count=counted.input_tokens if counted and is_counted else None,
        eval_count=counted.output_tokens if counted and is_counted else None,
    )


def _is_from_graph(answer: Answer, facts: Sequence[GraphFact]) -> bool:
    """Return whether what the graph states is the response, since no passage answers."""
    return bool(facts) and not answer.is_answered


def courteous_response(reply: str, history: Sequence[ChatMessage]) -> ChatResponse:
    """Return a response without sources, for a message that asks nothing."""
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
    """Return the documents among the response's sources, each once."""
    document_ids = (DocumentId(source.id) for source in response.sources if source.id is not None)
    return tuple(dict.fromkeys(document_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of a message, and how surely."""

    state: AnswerState
    confidence: Confidence
    relevance: float


def judge(answer: Answer, facts: Sequence[GraphFact]) -> Judgement:
    """Return what became of a message; what the graph states possibly answers, just so."""
    if _is_from_graph(answer, facts):
        return Judgement(
            state=AnswerState.POSSIBLY,
            confidence=Confidence.LOW,
            relevance=SUFFICIENT_RELEVANCE,
        )
    return Judgement(state=answer.state, confidence=answer.confidence, relevance=answer.relevance)


def shown_answer(answer: Answer, facts: Sequence[GraphFact] = ()) -> ShownAnswer | None:
    """Return what is stored of an answer to show it again, None where the graph states it."""
    if _is_from_graph(answer, facts):
        return None
    return ShownAnswer(
        query_id=answer.query_id,
        text=answer.text,
        state=answer.state,
        sentences=answer.placed_sentences,
        context=answer.context,
        confidence=answer.confidence,
        relevance=answer.relevance,
        citations=answer.citations,
        model=answer.model,
        notes=answer.notes,
    )


def chat_citations(numbered: Answer) -> tuple[Citation, ...]:
    """Return the citations of an answer that is numbered by source, in the order of their numbers."""
    return tuple(sorted(numbered.citations, key=lambda citation: int(citation.id.strip("[]"))))


def number_by_source(answer: Answer) -> Answer:
    """Return the answer with the numbers that its citations have in a chat response: those of their passages."""
    numbers = _source_numbers(answer)
    sentences = [
        replace(
            sentence,
            citations=tuple(
                replace(citation, id=f"[{numbers[citation.chunk_id]}]")
                for citation in sentence.citations
            ),
        )
        for sentence in answer.sentences
    ]
    return replace(answer, outcome=Answered(sentences=tuple(sentences))) if sentences else answer


def _source_numbers(answer: Answer) -> dict[str, int]:
    """Return for each cited chunk which source it is, from 1."""
    chunks = dict.fromkeys(citation.chunk_id for citation in answer.citations)
    return {chunk: number for number, chunk in enumerate(chunks, start=1)}


def _chat_text(answer: Answer) -> str:
    is_insufficient = isinstance(answer.outcome, InsufficientEvidence)
    return NO_INFORMATION if is_insufficient else number_by_source(answer).text


def _sources(answer: Answer, retrieval: Retrieval) -> list[SearchResult]:
    """Return the published chunks that the answer cites, in the order of their numbers."""
    sources = {
        str(chunk.id): SearchResult(
            id=chunk.document_id,
            chunk_text=chunk.text,
            chunk_index=chunk.index,
            source=_document_label(chunk),
            distance=None
            if entry.cosine_distance is None
            else round(min(1.0, max(0.0, entry.cosine_distance)), 4),
        )
        for entry in retrieval.evidence
        for chunk in entry.published_chunks
    }
    return [sources[chunk] for chunk in _source_numbers(answer)]


def _document_label(chunk: Chunk) -> str:
    """Return what people call the document: a file's name, else its title."""
    name = unquote(PurePosixPath(urlsplit(chunk.url).path).name)
    return (name or chunk.title if chunk.system == "file" else chunk.title or name) or chunk.url


def _graph_source(graph: Sequence[GraphFact]) -> list[SearchResult]:
    if not graph:
        return []
    text = "\n".join((FROM_GRAPH, *(fact.text for fact in graph)))
    return [
        SearchResult(id=None, chunk_text=text, chunk_index=None, source=GRAPH_SOURCE, distance=None)
    ]
