"""A small network that reads a question and a passage together: is the answer there, and where?

It runs on the processor with int8 weights. `training/` says how it was trained, on what, and how good it is.
"""

import asyncio
import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Protocol, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

from lightwell.domain.calibration import sigmoid
from lightwell.models.local import read_verified
from lightwell.text.units import split_into_units

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

QUESTION_TOKENS = 40
HEAD_TOKENS = 24
TEXT_TOKENS = 160
MAX_WINDOWS = 12
"""Windows of all passages together that are read for one question; the others count as without an answer."""

_DATA = Path(str(resources.files("lightwell.models"))) / "data"
_VOCABULARY = _DATA / "bert-base-uncased-vocab.txt"
_VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_WEIGHTS = _DATA / "local-reader-int8.onnx"
_WEIGHTS_SHA256 = ""
SLOPE, SHIFT = 1.0, 0.0
"""What makes the network's answerability a probability; fitted by `training.evaluate` on questions it was not trained on."""

_BEGIN, _END = 101, 102
_UNREAD = re.compile(
    r"^\[[^\]\n]+\]:.*$"  # where a reference link points
    r"|(?<=\])\([^()\s]*(?:\s\"[^\"\n]*\")?\)"  # where a link points
    r"|https?://\S+|<[^<>\n]{1,200}>|[\[\]*_`#]+|:?-{3,}:?",
    re.MULTILINE,
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What is read: `head` says where the text stands (its title and section)."""

    head: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What the network sees at once.

    `ids` and `types`, (tokens,), hold the question, the head and the text with their marks; the text's tokens are the
    last ones before the final mark, and `spans`, (text tokens, 2), are their characters in the passage.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    spans: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What the network says of a passage.

    `answerable` is the calibrated probability that the passage holds the answer, 0 to 1. `spans`, (tokens, 2), are the
    characters of the tokens it has read, in order, and `inside`, (tokens,), each one's probability of being part of the
    answer's sentences. `start` and `end`, (tokens,), are each one's probability to open or close the shortest answer.
    """

    answerable: float
    spans: NDArray[np.int64]
    inside: Floats
    start: Floats
    end: Floats

    def score(self, start: int, end: int) -> float:
        """Return how much of the answer `text[start:end]` holds: the chance that it opens there, and its mean token's."""
        within = (self.spans[:, 0] >= start) & (self.spans[:, 1] <= end)
        if not within.any():
            return 0.0
        return float(self.start[within].sum() + self.inside[within].mean())


class Encoder:
    """Cuts passages into windows of token ids; training and reading share it."""

    def __init__(self, tokenizer: BertWordPieceTokenizer) -> None:
        self._tokenizer = tokenizer

    def question(self, text: str) -> list[int]:
        """Return the question's token ids, its first and last where it is too long."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return _ends(ids, QUESTION_TOKENS)

    def head(self, text: str) -> list[int]:
        """Return the head's token ids; of a long one its beginning and its end."""
        readable = _readable(text)
        return _ends(self._tokenizer.encode(readable, add_special_tokens=False).ids, HEAD_TOKENS)

    def text(self, text: str) -> tuple[list[int], NDArray[np.int64]]:
        """Return the token ids of a text without its markup, and the characters that each stands for, (tokens, 2)."""
        encoded = self._tokenizer.encode(_readable(text), add_special_tokens=False)
        return encoded.ids, np.array(encoded.offsets, np.int64).reshape(-1, 2)

    def window(
        self, question: list[int], head: list[int], ids: list[int], spans: NDArray[np.int64]
    ) -> Window:
        """Return one window of a text's tokens, under its question and head."""
        above = [_BEGIN, *question, _END]
        below = [*head, _END, *ids, _END]
        return Window(
            ids=(*above, *below), types=(*[0] * len(above), *[1] * len(below)), spans=spans
        )

    def windows(self, question: list[int], passage: Passage) -> list[Window]:
        """Cut a passage between its units into windows of at most `TEXT_TOKENS` tokens, each under its heading."""
        ids, spans = self.text(passage.text)
        if not ids:
            return []
        headings = [(found.start(), found[1]) for found in _HEADING.finditer(passage.text)]
        starts = [start for start, _ in headings]
        found: list[Window] = []
        for first, last in _cuts(passage.text, spans):
            under = bisect_right(starts, int(spans[first, 0])) - 1
            heading = headings[under][1] if under >= 0 and found else ""
            head = f"{passage.head} › {heading}" if heading else passage.head
            found.append(self.window(question, self.head(head), ids[first:last], spans[first:last]))
        return found


def load_encoder() -> Encoder:
    """Return the encoder for the bundled vocabulary; raise `ModelFailed` when it is missing or another."""
    read_verified(_VOCABULARY, _VOCABULARY_SHA256)
    return Encoder(BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True))


def _readable(text: str) -> str:
    """Return the text with blanks where markup and link targets stand, so that every character keeps its place."""
    return _UNREAD.sub(lambda found: " " * len(found[0]), text)


def _ends(ids: list[int], most: int) -> list[int]:
    half = most // 2
    return ids if len(ids) <= most else [*ids[:half], *ids[half - most :]]


def _cuts(text: str, spans: NDArray[np.int64]) -> list[tuple[int, int]]:
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


def chosen(question: Sequence[int], windows: Sequence[Sequence[Window]]) -> list[list[Window]]:
    """Return of each passage's windows those to read, in their order and at most `MAX_WINDOWS` in all.

    Those that hold most of the question's word pieces, rare pieces counting more; of equal ones, those of the first
    passages.
    """
    flat = [(place, window) for place, of_passage in enumerate(windows) for window in of_passage]
    held = [frozenset(window.ids[len(question) + 2 :]) for _, window in flat]
    weights = {
        piece: math.log((1 + len(flat)) / (1 + sum(piece in pieces for pieces in held)))
        for piece in set(question)
    }
    worth = [sum(weight for piece, weight in weights.items() if piece in pieces) for pieces in held]
    best = sorted(range(len(flat)), key=lambda at: (-round(worth[at], 9), at))[:MAX_WINDOWS]
    kept: list[list[Window]] = [[] for _ in windows]
    for place, window in (flat[at] for at in sorted(best)):
        kept[place].append(window)
    return kept


class LocalReader:
    """Reads passages for a question on one processor thread; loads its weights at the first question."""

    def __init__(self) -> None:
        # One thread, as for the embedder: onnxruntime's own threads spin, at twice the processor time.
        self._reading = ThreadPoolExecutor(1, "local-reader")
        self._loading = Lock()
        self._network: _Network | None = None

    async def read(self, question: str, passages: Sequence[Passage]) -> list[Read]:
        """Return what each passage says to the question, in their order; raise `ModelFailed`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, self._read, question, tuple(passages))

    def _read(self, question: str, passages: Sequence[Passage]) -> list[Read]:
        with self._loading:
            self._network = self._network or _load()
        network = self._network
        asked = network.encoder.question(question)
        windows = [network.encoder.windows(asked, passage) for passage in passages]
        return [
            _joined([network.outcome(window) for window in some]) for some in chosen(asked, windows)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    answerable: float
    spans: NDArray[np.int64]
    tokens: Floats


class _Options(Protocol):
    intra_op_num_threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    encoder: Encoder
    session: onnxruntime.InferenceSession

    def outcome(self, window: Window) -> _Outcome:
        """Return the logits of one window: whether it holds the answer, and (text tokens, 3) for start, end, inside."""
        ids = np.array([window.ids], np.int64)
        seen = {
            "ids": ids,
            "types": np.array([window.types], np.int64),
            "mask": np.ones_like(ids),
        }
        answerable, tokens = cast("list[Floats]", self.session.run(["answerable", "tokens"], seen))
        text = len(window.ids) - 1 - len(window.spans)
        none = tokens[0, :1]
        within = np.concatenate([none, tokens[0, text:-1]])
        return _Outcome(answerable=float(answerable[0]), spans=window.spans, tokens=within)


def _joined(outcomes: Sequence[_Outcome]) -> Read:
    """Return one passage's windows as one reading; a passage of which nothing was read holds no answer."""
    if not outcomes:
        nothing = np.zeros(0, np.float32)
        return Read(
            answerable=0.0,
            spans=np.zeros((0, 2), np.int64),
            inside=nothing,
            start=nothing,
            end=nothing,
        )
    holds = [sigmoid(SLOPE * each.answerable + SHIFT) for each in outcomes]
    # The first row stands for "no answer": it takes its share of the chance, and is left out.
    start, end = (
        np.concatenate([_softmax(each.tokens[:, column])[1:] for each in outcomes])
        for column in (0, 1)
    )
    inside = np.concatenate([each.tokens[1:, 2] for each in outcomes])
    return Read(
        answerable=max(holds),
        spans=np.concatenate([each.spans for each in outcomes]),
        inside=(1 / (1 + np.exp(-inside))).astype(np.float32),
        start=start,
        end=end,
    )


def _softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max())
    return (raised / raised.sum()).astype(np.float32)


def _load() -> _Network:
    weights = read_verified(_WEIGHTS, _WEIGHTS_SHA256)
    options = cast("_Options", onnxruntime.SessionOptions())
    options.intra_op_num_threads = 1
    return _Network(
        encoder=load_encoder(),
        session=onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"]),
    )
