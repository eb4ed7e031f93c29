"""The parts of a question that asks several things: "How long is it, and who signs it?"."""

import re

from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS, terms, words

_MAX_PARTS = 3
_FEWEST_TERMS = 2

_BOUNDARY = regex(
    r"(?:[,;?]?\s(?:and|und|et)|\?)\s(?=(?:(?:otherwise|then|after|at|by|for|from|in|of|on|since|to|until|with|within"
    r"|ab|bis|für|in|mit|nach|seit|von|zu|à|dans|de|depuis|pour)\s){0,2}"
    r"(?:how|what|who|which|when|where|why|whose|whom|is|are|do|does|can|wie|was|wer|wen|wem|wann|wo|welche[mnrs]?"
    r"|qui|que|quand|quels?|quelles?|combien|comment|où)\b)",
    re.IGNORECASE,
)
"""Where one question ends and another begins."""

_REFERENCE = regex(r"\b(?:it|they|them|this|that|these|those|he|she)\b", re.IGNORECASE)
"""What stands for something that was named before."""

_SENTENCE_END = regex(r"(?<=[.!?:;])\s+")


def split_question(text: str) -> tuple[str, ...]:
    """Return the parts of a question that asks two or three things, in order; the whole question where it asks one, or more than three."""
    parts = tuple(part for part in _BOUNDARY.split(text) if part)
    return parts if len(parts) <= _MAX_PARTS else (text,)


def with_subjects(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts as each can be searched alone: one that speaks of what the first one names has the words of the first one's last sentence behind it."""
    first, *others = parts
    last_sentence = _SENTENCE_END.split(first)[-1]
    subject = " ".join(word for word in words(last_sentence) if word not in STOP_WORDS)
    return first, *(f"{part} {subject}" if _refers_back(part) else part for part in others)


def _refers_back(part: str) -> bool:
    return len(set(terms(part))) < _FEWEST_TERMS + bool(_REFERENCE.search(part))
