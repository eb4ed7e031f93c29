"""Telegram's way to count, and the entities that it finds in what people type."""

import re
from typing import Any

_FOUND = (
    ("mention", re.compile(r"@\w{4,32}")),
    ("bot_command", re.compile(r"(?<!\S)/\w{1,32}(?:@\w+)?")),
)


def units(text: str) -> int:
    """Return how many UTF-16 units a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def entities_of(text: str) -> list[dict[str, Any]]:
    """Return the mentions and commands of a text, in their order."""
    found = [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match[0])}
        for kind, pattern in _FOUND
        for match in pattern.finditer(text)
        if kind != "mention"
        or not text[: match.start()].endswith(tuple("abcdefghijklmnopqrstuvwxyz_"))
    ]
    return sorted(found, key=lambda entity: entity["offset"])
