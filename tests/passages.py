"""Passages, evidence and retrievals for tests of answers."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from lightwell.answer.piece_comparison import Extracts, PieceChooser
from lightwell.answer.quotes import SupportedSentence, render_text, weighted_coverage
from lightwell.domain.documents import Chunk, Layout, Locator, Page, Section
from lightwell.domain.evidence import Evidence, Highlight, Metrics, Retrieval
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.ids import ChunkId, DocumentId, GlobalRef
from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, Mode, Question
from lightwell.text.terms import terms
from lightwell.text.tokens import token_count
from lightwell.text.units import unit_spans

MOMENT = datetime(2026, 5, 1, tzinfo=UTC)
NOTHING = Metrics(
    vector_ms=1, vector_hits=2, vector_top=0, vector_mean=0, graph_ms=3, graph_hits=4, graph_depth=0,
    concepts=0, fusion_ms=5, overlap=0, rrf_top=0, rerank_ms=6, rerank_top=0, total_ms=20,
)  # fmt: skip


def chunk(
    text: str,
    number: int = 1,
    *,
    title: str = "",
    start: int = 100,
    said_at: datetime = MOMENT,
    language: str = "en",
) -> Chunk:
    """Return a chunk of document `number`: its first paragraph on page 3, the rest on page 4, all under "Contract"."""
    cut = start + text.index("\n\n") + 2 if "\n\n" in text else start + 1
    return Chunk(
        id=ChunkId(UUID(int=number)),
        document_id=DocumentId(UUID(int=number + 1000)),
        document_ref=GlobalRef(f"file:document:{number}"),
        index=2,
        text=text,
        tokens=token_count(text),
        title=title or f"Document {number}",
        url=f"file:///{number}.pdf",
        system="file",
        kind="document",
        topic="",
        language=language,
        locator=Locator(page=3, last_page=4, section=(), start=start, end=start + len(text)),
        layout=Layout(
            sections=(Section(path=("Contract",), start=start, end=start + len(text)),),
            pages=(
                Page(number=3, start=start, end=cut),
                Page(number=4, start=cut, end=start + len(text)),
            ),
        ),
        created_at=said_at,
        updated_at=said_at,
        dated_at=said_at,
    )


def passage(
    given: Chunk, *, relevance: float = 0.9, weights: Mapping[str, float] | None = None
) -> Evidence:
    """Return the chunk as evidence; each unit is a highlight, alike to the question by 0.3."""
    highlights = (
        Highlight(
            start=start,
            end=end,
            coverage=weighted_coverage(frozenset(terms(given.text[start:end])), weights or {}),
            similarity=0.3,
        )
        for start, end in unit_spans(given.text)
    )
    return Evidence(
        chunk=given,
        relevance=relevance,
        score=1.0,
        cosine_distance=0.2,
        highlights=tuple(sorted(highlights, key=lambda each: -each.score)),
    )


def found(
    text: str,
    *chunks: Chunk | Evidence,
    weights: Mapping[str, float] | None = None,
    mode: Mode = Mode.MIX,
    entities: tuple[Entity, ...] = (),
    relations: tuple[Relation, ...] = (),
) -> Retrieval:
    """Return a retrieval of these for a question; each of its terms weighs 1 where no weights are given."""
    weighed = weights or dict.fromkeys(terms(text), 1.0)
    evidence = tuple(
        each if isinstance(each, Evidence) else passage(each, weights=weighed) for each in chunks
    )
    return Retrieval(
        question=Question(text=text, mode=mode),
        analysis=analyze_question(text),
        weights=weighed,
        evidence=evidence,
        best_relevance=max((one.relevance for one in evidence), default=0.0),
        metrics=NOTHING,
        entities=entities,
        relations=relations,
        notes=("a note",),
    )


def key_of(piece: SupportedSentence) -> str:
    """Return how the key of a piece reads; all of the piece where no part of it is one."""
    keys = (render_text(quote.text, quote.key) for quote in piece.quotes if any(quote.key))
    return next(keys, piece.text)


def extract_pieces(retrieval: Retrieval) -> Sequence[SupportedSentence]:
    """Return what is quoted where nothing is compared, which waits for nothing."""
    extracting = PieceChooser().extract(retrieval)
    try:
        extracting.send(None)
    except StopIteration as ended:
        extracts: Extracts = ended.value
        return extracts.pieces if extracts.relevance >= SUFFICIENT_RELEVANCE else []
    raise AssertionError("it waits")
