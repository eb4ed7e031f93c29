"""How much a sentence looks like an instruction to the machine that reads it: signals, and a weight for each.

A sentence may name machines ("the assistant must cite its sources") or give orders ("never mention the price") and mean people. Only
several signals together tell, so each has a weight, and another one beside the name of a machine. The words stand in `words/`; the
weights are fitted by `python benchmarks/fit_injection.py --write` (logistic regression).
"""

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lightwell.text.regex import regex
from lightwell.text.sentences import split_sentences
from lightwell.text.word_lists import any_of, load_word_lists, whole_words

WEIGHTS = Path(__file__).with_name("weights.toml")

MACHINE = "machine"


def _signal_patterns() -> dict[str, str]:
    lists = load_word_lists("lightwell.text.injection")
    part = {name: any_of(alternatives) for name, alternatives in lists["parts"].items()}
    composed = {
        "called": rf"(?:^|[,;:!–—]\s|\b{part['greeting']}\s)(?:[\w'’-]+\s){{0,2}}?{part['called']}(?:[\s-]\w+){{0,4}}\s?(?:[,:.!?–—]|$)",
        "your rules": rf"\b{part['your']}\s+(?:\w+\s+){{0,2}}?{part['rules']}\b",
        "your answer": rf"\b(?:{part['your']}|{part['every']})\s+(?:\w+\s+){{0,2}}?{part['answer']}\w{{0,3}}\b",
        "order": rf"(?:^|[:,;.!–—>]\s*)(?:{part['please']}\s+){{0,2}}{part['verb']}\b",
        "about": rf"\b{part['our']}\s+(?:\w+\s+)?(?:assistant|bot|chat\s?bot|model|agent)s?\b",
        "frame": r"<\|\w{2,20}\|>|</?(?:system|instructions?|context|documents?|docs?|retrieved_\w{1,20}|search_results|start_of_turn)>"
        r"|\[/?(?:inst|system)\]|###|<<sys>>|\"role\"|<!--|---\s*end|\b(?:system|user|human)\s*:",
        "web address": r"https?://|!\[|\bbase64\b",
        "mentioned": r"^[^\"“„«]*[\"“„«].{3,}[\"”“»]",  # from the first mark on, so that many marks cost no more than one
    }
    return {
        **{name: whole_words(alternatives) for name, alternatives in lists["signals"].items()},
        **composed,
    }


_SIGNALS: Mapping[str, re.Pattern[str]] = {
    name: regex(pattern, re.IGNORECASE) for name, pattern in _signal_patterns().items()
}
_OTHERS = tuple(name for name in _SIGNALS if name != MACHINE)
_DECISIVE = tuple(
    _SIGNALS[name] for name in (MACHINE, "your rules", "your answer", "user", "frame")
)
"""Without one of these no other signals suffice: most sentences need no further look."""


def signals(sentence: str) -> list[float]:
    """Return the signals of a sentence, on one line, and then the same where it names a machine, else 0."""
    machine = float(_SIGNALS[MACHINE].search(sentence) is not None)
    others = [float(_SIGNALS[name].search(sentence) is not None) for name in _OTHERS]
    return [machine, *others, *(machine * other for other in others)]


def signal_names() -> list[str]:
    """Return what each of `signals` is called."""
    return [MACHINE, *_OTHERS, *(f"{MACHINE} and {name}" for name in _OTHERS)]


def contains_instruction(text: str) -> bool:
    """Return whether a sentence of a text, on one line, probably tells the machine that reads it what to do or to say."""
    if not _may_instruct(text):
        return False
    return any(
        _may_instruct(sentence) and _weigh(sentence) > 0.0 for sentence in split_sentences(text)
    )


def _may_instruct(text: str) -> bool:
    return any(pattern.search(text) for pattern in _DECISIVE)


def _weigh(sentence: str) -> float:
    base, weights = load_weights()
    return base + sum(map(math.prod, zip(weights, signals(sentence), strict=True)))


@cache
def load_weights() -> tuple[float, tuple[float, ...]]:
    """Return the base, from which the threshold is subtracted already, and the weight of each signal."""
    page = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))
    return float(page["base"]), tuple(float(page["weights"][name]) for name in signal_names())
