"""The local token matcher: it compares each token of a question with each token of a passage (late interaction).

For each token of the question it looks for the token of a passage that means most nearly the same, where both stand in their
context. So it sees which part of a passage speaks to which part of the question, and what of the question a passage leaves out. The
method is ColBERT's (Khattab and Zaharia, 2020), with the token vectors of a model that was trained to compare whole texts.
"""

import asyncio
import os
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

from lightwell.domain.reranking import MatchablePassage, MatchedUnit, MatchedWindow
from lightwell.domain.similarity import cosine_scale
from lightwell.models.bge import WEIGHTS, BgeSmall, EncodedText
from lightwell.models.local import load_tokenizer
from lightwell.text.terms import terms
from lightwell.text.units import split_into_units

QUESTION_TOKENS = 40
HEAD_TOKENS = 24
TEXT_TOKENS = 100
SPARE_WINDOWS = 4
"""For one question as many windows are read as there are passages, and this many more."""

HEAD_COUNTS = 0.5
"""The weight of a term that only the head has, when windows are chosen."""

_CACHED_WINDOWS = 256
"""Windows whose vectors a process keeps, as half floats: about 30 MB."""

_COLON = 1024
"""The word piece between the head and the text of a window."""

_MARKUP = re.compile(
    r"^\[[^\]\n]+\]:.*$"  # where a reference link points
    r"|(?<=\])\([^()\s]*(?:\s\"[^\"\n]*\")?\)"  # where a link points
    r"|https?://\S+|<[^<>\n]{1,200}>|[\[\]*_`#]+|:?-{3,}:?",
    re.MULTILINE,
)
_HEADING = re.compile(r"^#{1,6}[ \t]++([^\n]++)", re.MULTILINE)

_Spans = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What the model reads at once: the token ids of the head and of the passage's `text[start:end]`, and where its tokens begin."""

    head: tuple[int, ...]
    text: tuple[int, ...]
    starts: tuple[int, ...]
    start: int
    end: int


class WindowCutter:
    """Cuts passages into windows of token ids."""

    def __init__(self, tokenizer: BertWordPieceTokenizer) -> None:
        self._tokenizer = tokenizer

    def question(self, text: str) -> list[int]:
        """Return the question's token ids, its first and last where it is too long."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return _shorten(ids, QUESTION_TOKENS)

    def head(self, text: str) -> list[int]:
        """Return the head's token ids; of a long one its beginning and its end."""
        plain = _blank_markup(text)
        return _shorten(self._tokenizer.encode(plain, add_special_tokens=False).ids, HEAD_TOKENS)

    def text(self, text: str) -> tuple[list[int], _Spans]:
        """Return the token ids of a text without its markup, and the characters that each stands for, (tokens, 2)."""
        encoded = self._tokenizer.encode(_blank_markup(text), add_special_tokens=False)
        return encoded.ids, np.array(encoded.offsets, np.int64).reshape(-1, 2)

    def windows(self, passage: MatchablePassage) -> list[Window]:
        """Cut a passage between its units into windows of at most `TEXT_TOKENS` tokens, each under its heading."""
        ids, spans = self.text(passage.text)
        if not ids:
            return []
        headings = [
            (found.start(), found[1].rstrip(" \t#")) for found in _HEADING.finditer(passage.text)
        ]
        starts = [start for start, _ in headings]
        found: list[Window] = []
        for first, last in _cuts(passage.text, spans):
            under = bisect_right(starts, int(spans[first, 0])) - 1
            heading = headings[under][1] if under >= 0 and found else ""
            head = f"{passage.head} › {heading}" if heading else passage.head
            found.append(
                Window(
                    head=tuple(self.head(head)),
                    text=tuple(ids[first:last]),
                    starts=tuple(spans[first:last, 0].tolist()),
                    start=int(spans[first, 0]),
                    end=int(spans[last - 1, 1]),
                )
            )
        return found


def load_window_cutter() -> WindowCutter:
    """Return the cutter for the bundled vocabulary; raise `ModelFailed` when the file is missing or another."""
    return WindowCutter(load_tokenizer())


def select_windows(
    windows: Sequence[Sequence[Window]],
    passages: Sequence[MatchablePassage],
    weights: Mapping[str, float],
) -> list[tuple[int, Window]]:
    """Return the windows to read, each with the place of its passage, in the order of the passages.

    They are those that have most of the question's terms by weight, a term of the head at half; of equal ones, those of the
    first passages.
    """
    found = [(place, window) for place, some in enumerate(windows) for window in some]
    heads = [frozenset(terms(passage.head)) for passage in passages]

    def worth(place: int, window: Window) -> float:
        own = frozenset(terms(passages[place].text[window.start : window.end]))
        held = sum(weight for term, weight in weights.items() if term in own)
        near = sum(weight for term, weight in weights.items() if term in heads[place] - own)
        return round(held + HEAD_COUNTS * near, 9)

    best = sorted(range(len(found)), key=lambda at: (-worth(*found[at]), at))
    return [found[at] for at in sorted(best[: len(passages) + SPARE_WINDOWS])]


class BgeTokenMatcher:
    """bge-small-en-v1.5 as a `TokenMatcher`; it loads its weights with the first question.

    `threads` windows are encoded concurrently, by default one per core.
    """

    # Readers share the cache of windows. A request names only windows of passages that its reader sees, and vectors are a
    # function of the window alone, so what a reader gets does not depend on others: see `models.embedding_cache`.

    def __init__(self, *, weights: Path = WEIGHTS, threads: int | None = None) -> None:
        # One thread and one run per window, as for the embedder: see `models.local`.
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "token-matcher")
        self._model = BgeSmall(weights=weights, threads=1)
        self._encode = lru_cache(_CACHED_WINDOWS)(self._encode_window)

    async def match(
        self, question: str, passages: Sequence[MatchablePassage], weights: Mapping[str, float]
    ) -> list[tuple[MatchedWindow, ...]]:
        """Return the windows of each passage that were compared, in their order; raise `ModelFailed`."""
        if not passages:
            return []
        loop = asyncio.get_running_loop()
        tasks = [loop.run_in_executor(self._threads, self._encode_question, question)]
        chosen = await asyncio.to_thread(_choose, passages, weights)
        windows = [
            loop.run_in_executor(self._threads, self._encode, window) for _, window in chosen
        ]
        try:
            asked = await tasks[0]
            encoded = await asyncio.gather(*windows)
        finally:
            for task in (*tasks, *windows):
                task.cancel()
        found: list[list[MatchedWindow]] = [[] for _ in passages]
        for (place, window), vectors in zip(chosen, encoded, strict=True):
            found[place].append(_compare(passages[place].text, window, asked, vectors))
        return [tuple(some) for some in found]

    def _encode_question(self, question: str) -> EncodedText:
        tokens = load_window_cutter().question(question)
        whole = self._model.encode_question(question)
        return EncodedText(whole=whole, tokens=self._model.encode(tokens).tokens)

    def _encode_window(self, window: Window) -> EncodedText:
        encoded = self._model.encode([*window.head, _COLON, *window.text])
        return EncodedText(whole=encoded.whole, tokens=encoded.tokens.astype(np.float16))


def _choose(
    passages: Sequence[MatchablePassage], weights: Mapping[str, float]
) -> list[tuple[int, Window]]:
    cutter = load_window_cutter()
    return select_windows([cutter.windows(each) for each in passages], passages, weights)


def _compare(text: str, window: Window, asked: EncodedText, encoded: EncodedText) -> MatchedWindow:
    """Return how the window as a whole, its head and each unit in it match the question."""
    cosines = asked.tokens @ encoded.tokens.astype(np.float32).T
    above = len(window.head) + 1
    starts = np.array(window.starts, np.int64)
    units: list[MatchedUnit] = []
    for unit in split_into_units(text):
        first, last = np.searchsorted(starts, (unit.start, unit.end))
        if first < last:
            best = cosines[:, above + first : above + last].max(axis=1)
            units.append(MatchedUnit(start=unit.start, end=unit.end, best=_values(best)))
    scale = cosine_scale(BgeSmall.model)
    return MatchedWindow(
        start=window.start,
        end=window.end,
        similarity=min(1.0, max(0.0, scale.similarity(float(encoded.whole @ asked.whole)))),
        head=_values(cosines[:, :above].max(axis=1)),
        units=tuple(units),
    )


def _values(numbers: NDArray[np.float32]) -> tuple[float, ...]:
    return tuple(float(each) for each in numbers.round(6))


def _blank_markup(text: str) -> str:
    """Return the text with blanks where markup and link targets stand, so that every character keeps its place."""
    return _MARKUP.sub(lambda found: " " * len(found[0]), text)


def _shorten(ids: list[int], most: int) -> list[int]:
    half = most // 2
    return ids if len(ids) <= most else [*ids[:half], *ids[half - most :]]


def _cuts(text: str, spans: _Spans) -> list[tuple[int, int]]:
    """Return token ranges that together are the text: as many whole units as fit into a window."""
    ends = [*(unit.end for unit in split_into_units(text)), len(text)]
    edges = np.unique(np.searchsorted(spans[:, 0], np.array(ends), side="left")).tolist()
    cuts: list[tuple[int, int]] = []
    first = 0
    while first < len(spans):
        fitting = [edge for edge in edges if first < edge <= first + TEXT_TOKENS]
        last = fitting[-1] if fitting else min(first + TEXT_TOKENS, len(spans))
        cuts.append((first, last))
        first = last
    return cuts
