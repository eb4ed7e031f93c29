"""The header of an item: lines such as `Status: open`, as connectors write them."""

import re
from collections.abc import Iterable

from lightwell.domain.documents import Chunk
from lightwell.text.regex import regex

FIELD = regex(r"^([^\W\d_][^:\n]{0,40}): (\S[^\n]*)$", re.MULTILINE)
"""A field; its groups are the label and the value."""


def plain_title(chunk: Chunk) -> str:
    """Return the title on one line, without a sign at its end."""
    return " ".join(chunk.title.split()).rstrip(".:")


def title_with_fields(chunk: Chunk, fields: Iterable[re.Match[str]]) -> str:
    """Return the title with fields of the header: `Send the offer (Status: open; Due: 2026-06-30)`."""
    return f"{plain_title(chunk)} ({'; '.join(field[0] for field in fields)})"
