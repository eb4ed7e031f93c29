"""Answers by a model: the prompt it is sent, and the check of what it wrote."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from lightwell.answer.quotes import Quote, quotes, support
from lightwell.domain.evidence import Evidence
from lightwell.domain.units import units
from lightwell.ports import Message

LEAST_SUPPORT = 0.5
REFUSAL = "INSUFFICIENT"

_MARK = re.compile(r"\s*\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_FENCE = "<<<>>>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence that stood the check, without marks, and the quotes it stands on."""

    text: str
    quotes: tuple[Quote, ...]


def messages(question: str, evidence: Sequence[Evidence]) -> list[Message]:
    """Return what the model is sent; `evidence` is numbered from 1."""
    rules = (resources.files("lightwell.answer") / "prompts" / "answer.md").read_text("utf-8")
    blocks = "\n\n".join(_block(number, entry) for number, entry in enumerate(evidence, 1))
    return [
        Message(role="system", content=rules),
        Message(role="user", content=f"Evidence:\n\n{blocks}\n\nQuestion: {question}"),
    ]


def checked(reply: str, evidence: Sequence[Evidence]) -> list[Statement]:
    """Return the statements of the reply that its citations carry, in order.

    Numbers that stand for no evidence are removed; a sentence without a citation left, or that none of its cited
    texts supports, is dropped.
    """
    known = {number: quotes(entry) for number, entry in enumerate(evidence, 1)}
    statements: list[Statement] = []
    for text, numbers in _cited(reply):
        carrying = [
            quote
            for number in numbers
            if number in known
            for score, quote in [support(text, known[number])]
            if quote is not None and score >= LEAST_SUPPORT
        ]
        if carrying:
            statements.append(Statement(text=text, quotes=tuple(carrying)))
    return statements


def _block(number: int, entry: Evidence) -> str:
    place = " › ".join((entry.chunk.title, *entry.chunk.locator.section))
    text = entry.chunk.text.replace(_FENCE, " ")
    return f"[{number}] {place}\n{_FENCE}\n{text}\n{_FENCE}"


def _cited(reply: str) -> list[tuple[str, list[int]]]:
    """Return each sentence of the reply without its marks, with the numbers in them."""
    moved = re.sub(r"([.!?])((?:\s*\[\d[\d,;\s]*\])+)", r"\2\1", reply)
    found: list[tuple[str, list[int]]] = []
    for unit in units(moved):
        sentence = moved[unit.start : unit.end]
        numbers = [int(n) for mark in _MARK.findall(sentence) for n in re.findall(r"\d+", mark)]
        found.append((_MARK.sub("", sentence).strip(), list(dict.fromkeys(numbers))))
    return found
