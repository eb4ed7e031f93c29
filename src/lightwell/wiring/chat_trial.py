"""A chat model is tried on a tiny passage: asked as every question is asked, and its reply checked as every reply is checked."""

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from lightwell.answer.pipeline import MAX_REPLY_TOKENS
from lightwell.answer.prompt import Context, answer_messages
from lightwell.answer.reply import REPLY_SCHEMA, reply_verifier
from lightwell.domain.documents import Chunk, Layout, Locator
from lightwell.domain.errors import ModelFailed
from lightwell.domain.evidence import Evidence
from lightwell.domain.ids import ChunkId, DocumentId, GlobalRef
from lightwell.domain.question_analysis import analyze_question
from lightwell.models.meter import Meter
from lightwell.settings import Settings
from lightwell.wiring.models import chat_model, open_chat_connection

PASSAGE = (
    "The harbour office is open from 9:00 to 17:30 on weekdays. Visitors register at gate 4. "
    "The canteen closes on Fridays."
)
QUESTION = "Until what time is the harbour office open on weekdays?"
_EXPECTED = ("17:30", "5:30")
_WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a model answered: the sentences that its quotes support, how many others were removed, and whether it said that nothing answers."""

    sentences: tuple[str, ...]
    removed: int
    is_declined: bool
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether a supported sentence has the answer."""
        return any(right in text for text in self.sentences for right in _EXPECTED)


async def try_chat_model(settings: Settings) -> Trial:
    """Ask the chat model of these settings the question of the trial; raise `ModelFailed`."""
    evidence = make_passage(PASSAGE, title="Harbour office")
    verifier = reply_verifier([evidence], analyze_question(QUESTION))
    context = Context(entities=(), relations=(), passages=(evidence,), tokens=0)
    async with AsyncExitStack() as stack:
        model = chat_model(await open_chat_connection(settings, stack), Meter())
        if model is None:
            raise ModelFailed("There is no chat model to try")
        began = time.monotonic()
        reply = await model.reply(
            answer_messages(QUESTION, context), max_tokens=MAX_REPLY_TOKENS, schema=REPLY_SCHEMA
        )
    supported = [*verifier.feed(reply.text), *verifier.flush()]
    return Trial(
        sentences=tuple(sentence.text for sentence in supported),
        removed=verifier.removed_count,
        is_declined=verifier.is_declined,
        seconds=time.monotonic() - began,
    )


def make_passage(text: str, *, title: str = "", language: str = "en") -> Evidence:
    """Return a text that stands in no store as a passage that a reply may quote."""
    chunk = Chunk(
        id=ChunkId(UUID(int=1)),
        document_id=DocumentId(UUID(int=1)),
        document_ref=GlobalRef("file:document:trial"),
        index=0,
        text=text,
        tokens=0,
        title=title,
        url="file:///trial.md",
        system="file",
        kind="document",
        topic="",
        language=language,
        locator=Locator(page=None, last_page=None, section=(), start=0, end=len(text)),
        layout=Layout(sections=(), pages=()),
        created_at=_WRITTEN,
        updated_at=_WRITTEN,
    )
    return Evidence(chunk=chunk, relevance=1.0, score=1.0, cosine_distance=None)
