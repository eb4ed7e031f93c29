"""The model asked without evidence: what it says is its own, and says so."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from lightwell.answer.generation import Prompt
from lightwell.answer.reply_sentences import SentenceBuffer, strip_citation_marks
from lightwell.answer.stream_events import Part
from lightwell.domain.evidence import Answer, Confidence, Retrieval
from lightwell.ports import Message

NOT_FROM_DOCUMENTS = (
    "This does not come from your documents: it is what the model says by itself, unchecked."
)


def messages(retrieval: Retrieval) -> list[Message]:
    """Return what the model is sent: the question alone."""
    return [
        Message(role="system", content=Prompt.BYPASS.text),
        Message(role="user", content=retrieval.question.text),
    ]


async def stream_unverified(
    retrieval: Retrieval, model: str, reply: AsyncGenerator[str, None]
) -> AsyncGenerator[Part, None]:
    """Yield the fixed sentence and the reply as it comes, without what looks like citations; then the answer."""
    pieces = SentenceBuffer()
    said, sent = "", ""
    async with aclosing(reply):
        async for piece in reply:
            for part in pieces.feed(piece):
                said += strip_citation_marks(part)
                ready = f"{NOT_FROM_DOCUMENTS}\n\n{said.strip()}"
                if ready != sent:
                    yield ready[len(sent) :]
                sent = ready
    whole = f"{NOT_FROM_DOCUMENTS}\n\n{(said + strip_citation_marks(pieces.flush())).strip()}"
    yield whole[len(sent) :]
    yield _answer(retrieval, model, whole)


def _answer(retrieval: Retrieval, model: str, text: str) -> Answer:
    return Answer(
        query_id=retrieval.query_id,
        question=retrieval.question.text,
        text=text,
        citations=(),
        confidence=Confidence.INSUFFICIENT,
        relevance=0.0,
        nearest=(),
        model=model,
        metrics=retrieval.metrics,
        notes=retrieval.notes,
    )
