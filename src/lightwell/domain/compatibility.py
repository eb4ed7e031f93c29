"""The APIs of other programs that the server also speaks, where its settings name them."""

from enum import StrEnum

from lightwell.domain.errors import Invalid
from lightwell.domain.texts import split_at_commas


class Compatibility(StrEnum):
    """An API of another program; none is spoken unless it is named, since its routes could surprise."""

    DIFY = "dify"
    LIGHTRAG = "lightrag"
    OLLAMA = "ollama"
    TOOL_SERVER = "tool-server"


def parse_compatibility(text: str) -> frozenset[Compatibility]:
    """Return the APIs that are named, separated by commas; raise `Invalid` for another name."""
    words = split_at_commas(text)
    for word in words:
        if word not in set(Compatibility):
            names = ", ".join(Compatibility)
            raise Invalid(f"LIGHTWELL_HTTP_COMPATIBILITY: {word!r} is none of the APIs {names}")
    return frozenset(map(Compatibility, words))
