"""Texts as the local network reads them: without markup, in windows of tokens that keep units whole."""

import re

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

from lightwell.text.regex import regex
from lightwell.text.units import unit_spans

Spans = NDArray[np.int64]
"""The characters that each token stands for, (tokens, 2)."""

_MARKUP = regex(
    r"^\[[^\]\n]+\]:.*$"  # where a reference link points
    r"|(?<=\])\([^()\s]*(?:\s\"[^\"\n]*\")?\)"  # where a link points
    r"|https?://\S+|<[^<>\n]{1,200}>|[\[\]*_`#]+|:?-{3,}:?",
    re.MULTILINE,
)


def blank_markup(text: str) -> str:
    """Return the text with blanks where markup and link targets stand, so that every character keeps its place."""
    return _MARKUP.sub(lambda markup: " " * len(markup[0]), text)


def tokenize(tokenizer: BertWordPieceTokenizer, text: str) -> tuple[list[int], Spans]:
    """Return the token ids of a text without its markup, and the characters that each stands for."""
    encoded = tokenizer.encode(blank_markup(text), add_special_tokens=False)
    return encoded.ids, np.array(encoded.offsets, np.int64).reshape(-1, 2)


def shorten(ids: list[int], most: int) -> list[int]:
    """Return at most so many ids: of more, the first and the last."""
    half = most // 2
    return ids if len(ids) <= most else [*ids[:half], *ids[half - most :]]


def cut_into_windows(text: str, spans: Spans, most: int) -> list[tuple[int, int]]:
    """Return token ranges that together are the text: as many whole units as fit into `most` tokens."""
    ends = [*(end for _, end in unit_spans(text)), len(text)]
    edges = np.unique(np.searchsorted(spans[:, 0], np.array(ends), side="left")).tolist()
    cuts: list[tuple[int, int]] = []
    first = 0
    while first < len(spans):
        fitting = [edge for edge in edges if first < edge <= first + most]
        last = fitting[-1] if fitting else min(first + most, len(spans))
        cuts.append((first, last))
        first = last
    return cuts
