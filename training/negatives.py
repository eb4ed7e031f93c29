"""Texts that look like an answer and are none: the best by BM25 among the others."""

import re
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from lightwell.text.terms import STOP_WORDS

_WORD = re.compile(r"[a-z0-9]{2,}")
_K, _B = 1.2, 0.75


class Index:
    """BM25 over texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._places: dict[str, int] = {}
        rows, columns, counts = [], [], []
        for row, text in enumerate(texts):
            words = _words(text)
            for word in set(words):
                rows.append(row)
                columns.append(self._places.setdefault(word, len(self._places)))
                counts.append(words.count(word))
        shape = (len(texts), len(self._places))
        matrix = sparse.csr_matrix((np.array(counts, np.float32), (rows, columns)), shape)
        lengths = np.asarray(matrix.sum(axis=1)).ravel()
        held = np.diff(matrix.tocsc().indptr)
        idf = np.log(1 + (shape[0] - held + 0.5) / (held + 0.5)).astype(np.float32)
        norm = _K * (1 - _B + _B * lengths / lengths.mean())
        per_row = np.repeat(norm, np.diff(matrix.indptr))
        matrix.data = matrix.data * (_K + 1) / (matrix.data + per_row) * idf[matrix.indices]
        self._scores = matrix.T.tocsr()

    def nearest(self, question: str, most: int) -> list[int]:
        """Return the places of the best texts, best first."""
        places = [self._places[word] for word in set(_words(question)) if word in self._places]
        if not places:
            return []
        total = np.asarray(self._scores[places].sum(axis=0)).ravel()
        most = min(most, len(total) - 1)
        best = np.argpartition(-total, most)[:most]
        return [int(place) for place in best[np.argsort(-total[best])] if total[place] > 0]


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS]
