"""The parts of a question that asks several things: "How long is it, and who signs it?"."""

import re

from lightwell.text.regex import regex

_MAX_PARTS = 3

_BOUNDARY = regex(
    r"(?:[,;?]?\s(?:and|und|et)|\?)\s(?=(?:(?:otherwise|then|after|at|by|for|from|in|of|on|since|to|until|with|within"
    r"|ab|bis|für|in|mit|nach|seit|von|zu|à|dans|de|depuis|pour)\s){0,2}"
    r"(?:how|what|who|which|when|where|why|whose|whom|is|are|do|does|can|wie|was|wer|wen|wem|wann|wo|welche[mnrs]?"
    r"|qui|que|quand|quels?|quelles?|combien|comment|où)\b)",
    re.IGNORECASE,
)
"""Where one question ends and another begins."""


def split_question(text: str) -> tuple[str, ...]:
    """Return the parts of a question that asks two or three things, in order; the whole question where it asks one, or more than three."""
    parts = tuple(part for part in _BOUNDARY.split(text) if part)
    return parts if len(parts) <= _MAX_PARTS else (text,)
