"""Token counts."""

from functools import cache
from typing import Protocol, cast

import quicktok


class _Encoding(Protocol):
    def count(self, text: str) -> int: ...
    def encode(self, text: str) -> list[int]: ...


@cache
def _encoding() -> _Encoding:
    return cast("_Encoding", quicktok.get_encoding("cl100k_base"))


def token_count(text: str) -> int:
    """Return how many cl100k tokens the text has."""
    return _encoding().count(text)
