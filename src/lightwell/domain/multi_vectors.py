"""A chunk as many vectors, for late interaction: one for each window of its text, and one for each token.

They are computed once, when a chunk is ingested, so a question can be compared with the parts of many chunks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MultiVector:
    """The vectors of a chunk.

    Window i is `text[starts[i]:ends[i]]` and has `tokens[i]` tokens, at least one. `wholes` (windows, d) are the vectors of windows as
    bytes, each on a scale of its own. `signs` (tokens, d / 8) are the signs of the vectors of tokens, eight to a byte: first those of the
    head, which all windows share, then those of each window.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    tokens: NDArray[np.int32]
    wholes: NDArray[np.int8]
    signs: NDArray[np.uint8]

    @property
    def head_tokens(self) -> int:
        """How many of the tokens are the head's."""
        return len(self.signs) - int(self.tokens.sum())


def join_windows(wholes: NDArray[np.int8], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the unit vector of a chunk from those of its windows, (windows, d): their mean, weighted by their lengths in characters."""
    vectors = wholes.astype(np.float32)
    mean = (lengths / np.linalg.norm(vectors, axis=1)) @ vectors
    return (mean / np.linalg.norm(mean)).astype(np.float32)
