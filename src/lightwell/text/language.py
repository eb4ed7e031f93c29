"""Detects the language of a text."""

from functools import cache
from importlib.resources import as_file, files
from typing import Protocol, cast

import fasttext

UNKNOWN = "und"
"""The ISO 639 code for an undetermined language."""

_MAX_SAMPLE_CHARACTERS = 600
_MIN_LETTERS = 20
_MIN_CONFIDENCE = 0.5
_LABEL = "__label__"


class _Model(Protocol):
    def predict(self, text: str, k: int) -> tuple[tuple[str, ...], tuple[float, ...]]: ...


def detect_language(
    text: str, *, default: str = UNKNOWN, min_confidence: float = _MIN_CONFIDENCE
) -> str:
    """Return the ISO 639 code of the text's language, or `default` if the text is too short or the detection is uncertain."""
    sample = " ".join(text[:_MAX_SAMPLE_CHARACTERS].split())
    if sum(map(str.isalpha, sample)) < _MIN_LETTERS:
        return default
    labels, scores = _model().predict(sample.lower() if sample.isupper() else sample, 1)
    is_confident = bool(labels) and scores[0] >= min_confidence
    return labels[0].removeprefix(_LABEL) if is_confident else default


@cache
def _model() -> _Model:
    with as_file(files("lightwell.text") / "data" / "lid.176.ftz") as path:
        return cast("_Model", fasttext.load_model(str(path)))
