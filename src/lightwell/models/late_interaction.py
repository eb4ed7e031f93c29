"""Late interaction: chunks are encoded token by token when they are ingested, questions when they are asked.

For each token of a question it looks for the token of a text that means most nearly the same, where both stand in their context. So it
sees how much of the question a text speaks to, in whatever words. The method is ColBERT's (Khattab and Zaharia, 2020), here with the token vectors of
a model that was trained to compare whole texts, and with more weight on what a text matches least. A text is a window of a chunk, a unit or
a piece, with the head above it: all are parts of chunks, and compared by the vectors that are stored for their tokens.
Those of punctuation are left out where there are words.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import EncodedSpan, HeadedPassage, TextMatch, WindowMatch
from lightwell.domain.similarity import cosine_scale
from lightwell.models.bge import SPACE, BgeSmall, encode, encode_question
from lightwell.models.local import compute_all, load_tokenizer
from lightwell.models.text_windows import blank_markup, cut_into_windows, shorten, tokenize
from lightwell.models.token_codes import Floats, QuestionTokens, TokenCodes, load_token_codes

MODEL = "bge-small-en-v1.5-int8/codes-1"
"""What vectors were made with. Change its ending with what is encoded or how, and add a migration that notes all chunks as gaps, as 0012 does."""

MAX_QUESTION_TOKENS = 40
WINDOW_TOKENS = 120
HEAD_TOKENS = 24
MAX_WINDOWS = 32
"""Windows of a passage that are encoded. Prose has far fewer in a chunk; a text of signs that are a token each must not slow questions."""

_BYTE = 127
_WITHIN_WORD = "##"
_NO_MATCH = TextMatch(similarity=0.0, token_match=0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Question:
    whole: Floats
    tokens: QuestionTokens
    words: list[str]
    firsts: list[int]
    """The words, and the first token of each."""


class LocalLateInteraction:
    """bge-small as a `LateInteraction`; it loads its weights with the first text. `threads` texts are encoded concurrently."""

    model = MODEL
    space = SPACE

    def __init__(self, *, threads: int | None = None) -> None:
        # One thread and one run per text, as for the embedder: see `models.bge`.
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "late-interaction")

    async def encode(self, passages: Sequence[HeadedPassage]) -> list[MultiVector]:
        """Return the vectors of each passage, in order; one without words has no windows. Raises `ModelFailed`."""
        return await compute_all(self._threads, _encode, passages)

    async def match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        """Return how the windows of each chunk match the question, in order; raise `ModelFailed`."""
        return await asyncio.to_thread(_match, question, vectors) if vectors else []

    async def compare(
        self, question: str, texts: Sequence[Sequence[EncodedSpan]]
    ) -> list[TextMatch]:
        """Return how each text, given as parts of chunks, compares with the question, in order; raise `ModelFailed`."""
        return await asyncio.to_thread(_compare, question, texts) if texts else []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadPassage:
    """A passage as the network read it, in windows, before its vectors are packed.

    Window i is `text[starts[i]:ends[i]]`, has the vector `wholes[i]` and `counts[i]` of the `tokens` (tokens, 384), which begin at `places`;
    `head` (tokens, 384) are those of the head, as the first window reads them.
    """

    starts: list[int]
    ends: list[int]
    counts: list[int]
    wholes: list[Floats]
    head: Floats
    tokens: Floats
    places: NDArray[np.int32]


def read_passage(passage: HeadedPassage) -> ReadPassage:
    """Return what the network makes of a passage, on the calling thread; raise `ModelFailed`."""
    tokenizer = load_tokenizer()
    ids, spans = tokenize(tokenizer, passage.text)
    above = tokenizer.encode(f"{blank_markup(passage.head)}:", add_special_tokens=False).ids
    head = shorten(above, HEAD_TOKENS)
    cuts = cut_into_windows(passage.text, spans, WINDOW_TOKENS)[:MAX_WINDOWS]
    encoded = [encode([*head, *ids[first:last]]) for first, last in cuts]
    kept = [first + _words(ids[first:last]) for first, last in cuts]
    none = np.empty((0, BgeSmall.dimension), np.float32)
    tokens = [
        window.tokens[len(head) :][places - first]
        for window, places, (first, _) in zip(encoded, kept, cuts, strict=True)
    ]
    places = np.concatenate([np.empty(0, np.intp), *kept])
    return ReadPassage(
        starts=[int(spans[first, 0]) for first, _ in cuts],
        ends=[int(spans[last - 1, 1]) for _, last in cuts],
        counts=[len(some) for some in kept],
        wholes=[window.whole for window in encoded],
        head=encoded[0].tokens[_words(head)] if encoded else none,
        tokens=np.concatenate([none, *tokens]),
        places=spans[places, 0].astype(np.int32),
    )


def _encode(passage: HeadedPassage) -> MultiVector:
    codes, vectors = load_token_codes(), read_passage(passage)
    return MultiVector(
        starts=np.array(vectors.starts, np.int32),
        ends=np.array(vectors.ends, np.int32),
        tokens=np.array(vectors.counts, np.int32),
        wholes=np.array([_as_bytes(whole) for whole in vectors.wholes], np.int8).reshape(
            -1, BgeSmall.dimension
        ),
        head=codes.encode(vectors.head),
        codes=codes.encode(vectors.tokens),
        places=vectors.places,
    )


def _ask(question: str) -> _Question:
    encoded = encode_question(question)
    tokens = encoded.tokens[:MAX_QUESTION_TOKENS]
    words, firsts = _question_words(question, len(tokens))
    asked_tokens = load_token_codes().of_question(tokens)
    return _Question(whole=encoded.whole, tokens=asked_tokens, words=words, firsts=firsts)


def _question_words(question: str, count: int) -> tuple[list[str], list[int]]:
    """Return the words of the question's first tokens, and the first token of each; a word is as many tokens as stand together."""
    encoded = load_tokenizer().encode(question, add_special_tokens=False)
    firsts: list[int] = []
    spans: list[tuple[int, int]] = []
    for place, (start, end) in enumerate(encoded.offsets[:count]):
        if spans and spans[-1][1] == start and encoded.tokens[place].startswith(_WITHIN_WORD):
            spans[-1] = (spans[-1][0], end)
        else:
            firsts.append(place)
            spans.append((start, end))
    return [question[start:end] for start, end in spans], firsts


def _match(question: str, vectors: Sequence[MultiVector]) -> list[tuple[WindowMatch, ...]]:
    encoded = _ask(question)
    return [_match_windows(encoded, chunk) for chunk in vectors]


def _compare(question: str, texts: Sequence[Sequence[EncodedSpan]]) -> list[TextMatch]:
    encoded = _ask(question)
    return [_match_text(encoded, spans) for spans in texts]


def _words(ids: Sequence[int]) -> NDArray[np.intp]:
    """Return the places of the tokens that are words; of all tokens where none is a word."""
    is_word = np.array([_is_word_piece(id_) for id_ in ids], np.bool_)
    return np.flatnonzero(is_word if is_word.any() else ~is_word)


@cache
def _is_word_piece(id_: int) -> bool:
    piece = load_tokenizer().id_to_token(id_) or ""
    return any(sign.isalnum() for sign in piece)


def _as_bytes(vector: Floats) -> NDArray[np.int8]:
    largest = float(np.abs(vector).max())
    return np.rint(vector * np.float32(_BYTE / largest)).astype(np.int8)


def _match_windows(question: _Question, chunk: MultiVector) -> tuple[WindowMatch, ...]:
    codes = load_token_codes()
    if not (len(chunk.tokens) and len(question.tokens.added) and _is_own(chunk, codes)):
        return ()
    likeness = codes.compare(question.tokens, chunk.codes)
    best = np.maximum.reduceat(likeness, np.cumsum(chunk.tokens) - chunk.tokens, axis=0)
    if len(chunk.head):
        best = np.maximum(best, codes.compare(question.tokens, chunk.head).max(axis=0))
    wholes = chunk.wholes.astype(np.float32)
    cosines = (wholes @ question.whole) / np.linalg.norm(wholes, axis=1)
    scale = cosine_scale(BgeSmall.model)
    measures = zip(cosines.tolist(), weigh_matches(best).tolist(), strict=True)
    return tuple(
        WindowMatch(
            start=start,
            end=end,
            similarity=bounded(scale.similarity(cosine)),
            token_match=bounded(match),
        )
        for start, end, (cosine, match) in zip(
            chunk.starts.tolist(), chunk.ends.tolist(), measures, strict=True
        )
    )


def _is_own(chunk: MultiVector, codes: TokenCodes) -> bool:
    """Whether vectors have the sizes that this model gives them: damaged ones may have others."""
    return chunk.wholes.shape[1] == BgeSmall.dimension and chunk.codes.shape[1] == codes.bytes


def _match_text(question: _Question, spans: Sequence[EncodedSpan]) -> TextMatch:
    parts = [(span.vectors, span.vectors.codes_between(span.start, span.end)) for span in spans]
    filled = [(vectors.head, tokens) for vectors, tokens in parts if len(tokens)]
    if not (filled and len(question.tokens.added)):
        return _NO_MATCH
    codes = load_token_codes()
    within = np.concatenate([tokens for _, tokens in filled])
    likeness = codes.compare(question.tokens, np.concatenate([filled[0][0], within]))
    best = likeness.max(axis=0)
    [token_match] = weigh_matches(best[np.newaxis]).tolist()
    cosine = float(codes.whole_of(within) @ question.whole)
    similarity = cosine_scale(BgeSmall.model).similarity(cosine)
    return TextMatch(
        similarity=bounded(similarity),
        token_match=bounded(token_match),
        words=_match_words(question, best),
    )


def _match_words(question: _Question, best: Floats) -> dict[str, float]:
    """Return how like each word is to what is most like it, the mean over its tokens."""
    sums = np.add.reduceat(best, question.firsts)
    counts = np.diff([*question.firsts, len(best)])
    matches: dict[str, float] = {}
    for word, match in zip(question.words, (sums / counts).tolist(), strict=True):
        matches[word] = max(bounded(match), matches.get(word, 0.0))
    return matches


def weigh_matches(matches: Floats) -> Floats:
    """Return for each text, (texts,), the mean of how well the tokens of a question are matched, (texts, tokens), where the half that is matched least counts three times.

    So a text that says a little on everything that is asked comes before one that says much, but not on the point. ColBERT's mean
    counts all alike.
    """
    half = max(1, matches.shape[1] // 2)
    least = np.sort(matches, axis=1)[:, :half]
    return (matches.mean(axis=1) + least.mean(axis=1)) / 2


def bounded(number: float) -> float:
    """Return a share between 0 and 1, with six decimals."""
    return round(min(1.0, max(0.0, number)), 6)
