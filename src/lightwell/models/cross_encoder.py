"""The local cross-encoder: a small network that reads a question together with a passage, and says whether the passage answers it.

It runs on the CPU with int8 weights. `training/README.md` has its model card.
"""

import asyncio
import os
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

from lightwell.domain.reranking import ReadablePassage, ReadWindow, TextMatch
from lightwell.models.local import BEGIN, END, load_tokenizer, open_session
from lightwell.models.text_comparison import TextComparer
from lightwell.text.terms import terms
from lightwell.text.units import split_into_units

QUESTION_TOKENS = 40
HEAD_TOKENS = 24
TEXT_TOKENS = 160
SPARE_WINDOWS = 1
"""For one question as many windows are read as there are passages, and this many more."""

HEAD_COUNTS = 0.5
"""The weight of a term that only the head has, when windows are chosen."""

WEIGHTS = Path(__file__).parent / "data" / "cross-encoder-int8.onnx"
WEIGHTS_SHA256 = "1198a8751b2ea74b88f488bf84755d6a0fda6828fda752ee4d65c21a32d2a161"

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
    """What the network reads at once: the token ids and types of the question, the head and the passage's `text[start:end]`."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    start: int
    end: int


class WindowCutter:
    """Cuts passages into windows of token ids; training and inference share it."""

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

    def windows(self, question: list[int], passage: ReadablePassage) -> list[Window]:
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
            above = [BEGIN, *question, END]
            below = [*self.head(head), END, *ids[first:last], END]
            found.append(
                Window(
                    ids=(*above, *below),
                    types=(*[0] * len(above), *[1] * len(below)),
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
    passages: Sequence[ReadablePassage],
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


class LocalCrossEncoder:
    """The bundled network as a `CrossEncoder`; it loads its weights with the first question.

    `threads` windows are read concurrently, by default one per core.
    """

    def __init__(
        self, *, weights: Path = WEIGHTS, sha256: str = WEIGHTS_SHA256, threads: int | None = None
    ) -> None:
        # One thread and one run per window, as for the embedder: see `models.local`.
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "cross-encoder")
        self._comparer = TextComparer(threads=threads)
        self._loading = Lock()
        self._weights, self._sha256 = weights, sha256
        self._network: _Network | None = None

    async def read(
        self, question: str, passages: Sequence[ReadablePassage], weights: Mapping[str, float]
    ) -> list[tuple[ReadWindow, ...]]:
        """Return the windows of each passage that were read, in their order; raise `ModelFailed`."""
        if not passages:
            return []
        loop = asyncio.get_running_loop()
        chosen = await loop.run_in_executor(
            self._threads, self._choose, question, passages, weights
        )
        tasks = [loop.run_in_executor(self._threads, self._logit, window) for _, window in chosen]
        try:
            logits = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        found: list[list[ReadWindow]] = [[] for _ in passages]
        for (place, window), logit in zip(chosen, logits, strict=True):
            found[place].append(ReadWindow(start=window.start, end=window.end, logit=logit))
        return [tuple(some) for some in found]

    async def compare(self, question: str, texts: Sequence[str]) -> list[TextMatch]:
        """Return how each text, without its markup, compares with the question; raise `ModelFailed`."""
        return await self._comparer.compare(question, [_plain(text) for text in texts])

    def _choose(
        self, question: str, passages: Sequence[ReadablePassage], weights: Mapping[str, float]
    ) -> list[tuple[int, Window]]:
        cutter = self._loaded().cutter
        asked = cutter.question(question)
        return select_windows([cutter.windows(asked, each) for each in passages], passages, weights)

    def _logit(self, window: Window) -> float:
        return self._loaded().logit(window)

    def _loaded(self) -> "_Network":
        with self._loading:
            self._network = self._network or _load(self._weights, self._sha256)
        return self._network


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    cutter: WindowCutter
    session: onnxruntime.InferenceSession

    def logit(self, window: Window) -> float:
        ids = np.array([window.ids], np.int64)
        inputs = {
            "ids": ids,
            "types": np.array([window.types], np.int64),
            "mask": np.ones_like(ids),
        }
        (answers,) = cast("list[NDArray[np.float32]]", self.session.run(["answers"], inputs))
        return float(answers[0])


def _load(weights: Path, sha256: str) -> _Network:
    return _Network(cutter=load_window_cutter(), session=open_session(weights, sha256))


def _blank_markup(text: str) -> str:
    """Return the text with blanks where markup and link targets stand, so that every character keeps its place."""
    return _MARKUP.sub(lambda found: " " * len(found[0]), text)


def _plain(text: str) -> str:
    return " ".join(_blank_markup(text).split())


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
