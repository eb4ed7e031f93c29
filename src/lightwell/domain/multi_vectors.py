"""A chunk as many vectors, for late interaction: one for each window of its text, and one for each token.

They are computed once, when a chunk is ingested, so a question can be compared with any part of it without reading it again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LONGEST_STEP = 255


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MultiVector:
    """The vectors of a chunk.

    Window i is `text[starts[i]:ends[i]]` and has `tokens[i]` tokens, at least one. `wholes` (windows, d) are the vectors of windows as
    bytes, each on a scale of its own. `codes` (tokens, bytes) are the vectors of the windows' tokens as `models.token_codes` packs them, and `head` those of
    the head, which all windows share; `places` say where each of the windows' tokens begins in the text, ascending.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    tokens: NDArray[np.int32]
    wholes: NDArray[np.int8]
    head: NDArray[np.uint8]
    codes: NDArray[np.uint8]
    places: NDArray[np.int32]

    @property
    def is_whole(self) -> bool:
        """Whether its parts fit together, as those of one that was stored and read back do."""
        windows = len(self.starts)
        return (
            windows == len(self.ends) == len(self.tokens)
            and bool((self.tokens > 0).all())
            and self.tokens.sum() == len(self.codes) == len(self.places)
        )

    def codes_between(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return the vectors of the tokens that begin in `text[start:end]`, (tokens, bytes)."""
        first, last = np.searchsorted(self.places, (start, end)).tolist()
        return self.codes[first:last]


def pack_places(places: NDArray[np.int32]) -> bytes:
    """Return ascending places as steps from one to the next, a byte each; a longer step has the byte 255 before what is left of it."""
    steps = np.diff(places, prepend=0)
    full, left = np.divmod(steps, _LONGEST_STEP)
    packed = np.full(len(steps) + int(full.sum()), _LONGEST_STEP, np.uint8)
    packed[np.cumsum(full + 1) - 1] = left
    return packed.tobytes()


def unpack_places(packed: bytes) -> NDArray[np.int32]:
    """Return the places that `pack_places` packed."""
    steps = np.frombuffer(packed, np.uint8)
    return np.cumsum(steps, dtype=np.int32)[steps != _LONGEST_STEP]


def join_windows(wholes: NDArray[np.int8], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the unit vector of a chunk from those of its windows, (windows, d): their mean, weighted by their lengths in characters."""
    vectors = wholes.astype(np.float32)
    mean = (lengths / np.linalg.norm(vectors, axis=1)) @ vectors
    return (mean / np.linalg.norm(mean)).astype(np.float32)
