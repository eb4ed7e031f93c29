"""Prompt injection: text in a document that tells a machine what to do or to say. It is never evidence.

An instruction makes its whole block suspect: its paragraph, its item or its quoted lines. A manual instructs too ("Ignore the warning
light"), but it speaks to a person about a thing. Instructions are recognised by a few wordings that everybody knows and by the fitted
signals of `signals`, also in base64, in look-alike letters, with letters apart or digits for letters. Of new wordings less than
half are (`benchmarks/README.md`).
"""

import re
from collections.abc import Iterator

from lightwell.text.injection.disguises import (
    decode_base64_runs,
    normalize_lookalikes,
    plain_spellings,
)
from lightwell.text.injection.signals import contains_instruction
from lightwell.text.regex import regex
from lightwell.text.word_lists import any_of, load_word_lists, whole_words

_LISTS = load_word_lists("lightwell.text.injection")
_BEGINS = r"(?:^(?:[ \t]{0,20}:{3,9}[ \t]{0,9}[\w-]{1,30}[ \t]{1,9})?|[.!?:;,*#|•(\[\]\"“„«»–—-]\s*|\b(?:and|then|so|please|now|must|should|und|bitte|dann|jetzt|et)\s+)"


def _order_pattern() -> str:
    """Return a pattern of an order to override earlier instructions, another well-known order, or the marks of a prompt twice."""
    part = {name: any_of(alternatives) for name, alternatives in _LISTS["orders"].items()}
    between = r"\s+(?:\w+\s+){0,3}?"
    ends = rf"(?:(?=\s*(?:[.!,;:]|$))|\s+{part['goes_on']}\b)"
    override = (
        rf"{part['override']}(?:{between}{part['earlier']}{between}{part['rules']}\b"
        rf"|{between}{part['rules']}\s+{part['earlier']}\b|\s+(?:{part['the']}\s+)?{part['rules']}{ends})"
    )
    mark = r"(?:\[/?INST\]|<\|(?:im_start|system|im_end|eot_id|end)\|?>|<</?SYS>>)"
    return rf"{_BEGINS}(?:{override}|{part['whole']})|{mark}.{{0,500}}?{mark}"


_ORDER = regex(_order_pattern(), re.IGNORECASE | re.MULTILINE)
_REPORTED = regex(whole_words(_LISTS["statements"]["reports"]), re.IGNORECASE)
_ASKED = regex(
    rf"^\W*{any_of(_LISTS['questions']['which'])}\b(?=.*\b{any_of(_LISTS['questions']['message'])}\b)"
    rf".*\b{any_of(_LISTS['questions']['says'])}\b",
    re.IGNORECASE | re.DOTALL,
)

_MENTIONED = regex(r"((?:\b\w+\W+){2})[\"“„«][^\"“”„«»]{1,300}[\"”“»]")
_QUOTING, _QUOTE_MARKS = regex(r"[ \t]*>"), regex(r"^(?:[ \t]*>)+")
_ITEM = regex(r"[ \t]*(?:[-*+•]\s|\d+[.)]\s|\||#{1,6}\s|\[?\d{1,2}[:.]\d\d\b)")
_LINE = regex(r"[^\n]*\n?")


def is_inside_injection(text: str, start: int) -> bool:
    """Return whether what begins at `text[start]` is an order to a machine, or stands in one block with one."""
    return any(first <= start < last for first, last in find_injections(text))


def asks_for_message_content(question: str) -> bool:
    """Return whether a question asks what a message says, and gives no order itself."""
    return _ASKED.search(question) is not None and not find_injections(question)


def is_reported_speech(statement: str) -> bool:
    """Return whether a statement tells what somebody says or wants, and does not say it by itself."""
    return _REPORTED.search(statement) is not None


def find_injections(text: str) -> tuple[tuple[int, int], ...]:
    """Return where the blocks stand that order something of a machine."""
    return tuple((start, end) for start, end in _blocks(text) if _is_order(text[start:end]))


def _is_order(block: str) -> bool:
    spellings = (block, *decode_base64_runs(block), *plain_spellings(block))
    lines = map(_normalize_block, spellings)
    return any(_ORDER.search(line) or contains_instruction(line) for line in lines)


def _normalize_block(block: str) -> str:
    """Return a block on one line, without the marks of quoting and without what its sentences only mention."""
    lines = normalize_lookalikes(block).splitlines()
    unquoted = " ".join(_QUOTE_MARKS.sub("", line, count=1).strip() for line in lines)
    return _MENTIONED.sub(r"\1", " ".join(unquoted.split()))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs, items and rows, and whole what is quoted with `>`, however many paragraphs that has."""
    start, was_quoting = 0, False
    for match in _LINE.finditer(text):
        line, line_start = match[0], match.start()
        quoting = _QUOTING.match(line) is not None
        begins = not quoting and (not line.strip() or _ITEM.match(line) is not None)
        if line_start > start and (begins or quoting != was_quoting):
            yield start, line_start
            start = line_start
        was_quoting = quoting
    if start < len(text):
        yield start, len(text)
