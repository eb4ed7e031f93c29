"""What in a document tells a machine what to do or to say. It is nobody's answer; only what such a text says may be told.

An order makes its whole block suspect: its paragraph, its item or its quoted lines. A manual orders too ("Ignore the warning
light"), but a person and about a thing. What cannot be found: an order that speaks of neither instructions, roles nor replies.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from lightwell.text.base64_text import decode_base64_runs
from lightwell.text.lookalikes import normalize_lookalikes

_BEGINS = r"(?:^|[.!?:;,*(\[\"“„«»–—-]\s*|\b(?:and|then|please|now|must|should|und|bitte|dann|jetzt|et)\s+)"
_RULES = r"(?:instructions?|rules?|prompts?|guidelines?|directives?|safeguards?|restrictions?|permissions|policies|orders)"
_MIND = r"(?:an?\s+)?(?:\w+\s+){0,3}?(?:ai|assistant|language\s+model|chat\s?bot|llm)\b(?!\s+(?:manager|director|professor))"
_STOPS = r"\s*(?:[.!,;:]|$)"
_REPLY = r"(?:reply|respond|answer|output)"

_PLAIN_ORDER = re.compile(
    rf"""{_BEGINS}(?:
      (?:ignore|disregard|forget|override|bypass)\s+(?:
          (?:\w+\s+){{0,3}}?(?:previous|prior|preceding|earlier|above|your|system|all|any|every|other)\s+(?:\w+\s+){{0,3}}?{_RULES}\b
        | (?:the\s+|these\s+|those\s+)?{_RULES}(?={_STOPS}|\s+(?:and|above|before|given|you)\b)
        | (?:everything|anything|all|what(?:ever)?)\s+(?:else\s+)?(?:above|before|earlier|(?:that\s+)?you\s+(?:were|have|know))\b)
    | (?:reveal|print|show|repeat|output|disclose|tell\s+me)\s+(?:\w+\s+){{0,3}}?(?:system|developer|hidden|initial)\s+prompt\b
    | {_REPLY}\s+(?:only\s+|just\s+)with\b
    | {_REPLY}\s+with\s+(?:only|exactly|just|nothing\s+but|the\s+(?:\w+\s+)?(?:words?|phrase|sentence|text))\b
    | (?:say|print)\s+(?:only|exactly|nothing\s+but)\s+(?:the\s+words?\b|["“„])
    | (?:act|behave|pretend|answer|respond)\s+(?:as|like|to\s+be)\s+{_MIND}
    | you\s+are\s+(?:now|from\s+now\s+on)\s+{_MIND}
    | (?:if\s+)?you\s+are\s+an?\s+(?:\w+\s+){{0,2}}?(?:ai|language\s+model|chat\s?bot|llm)\b
    | (?:ignorier\w*|vergiss|vergesst|vergessen|missachte\w*)\s+(?:sie\s+)?(?:
          (?:\w+\s+){{0,2}}?(?:alle[nr]?|bisherige\w*|vorherige\w*|vorige\w*|obige\w*|deine|eure|ihre|frühere\w*)\s+
            (?:\w+\s+){{0,3}}?(?:anweisung|regel|vorgabe|instruktion|befehl)\w*
        | (?:die\s+)?(?:anweisungen|regeln|vorgaben)(?={_STOPS}|\s+(?:und|oben)\b))
    | antwort\w*\s+(?:sie\s+)?(?:nur\s+|ausschließlich\s+)mit\b
    | antwort\w*\s+(?:sie\s+)?mit\s+(?:dem\s+wort|den\s+worten|nichts\s+als)\b
    | du\s+bist\s+(?:jetzt|nun|ab\s+sofort)\s+(?:ein\w*\s+)?(?:\w+\s+){{0,2}}?(?:ki|assistent\w*|sprachmodell|chatbot)\b
    | (?:ignore[rz]?|oublie[rz]?)\s+(?:toutes\s+)?(?:les|vos|tes)\s+(?:instructions|règles|consignes)
        (?={_STOPS}|\s+(?:et|précédentes|antérieures|ci-dessus)\b)
    | (?:ignor[ae]|olvida|omite|esque[çc]a|desconsidere|dimentica)\s+(?:(?:todas|tutte)\s+)?(?:(?:las|as|le)\s+)?
        (?:instrucciones|reglas|instruções|regras|istruzioni|regole)\s+(?:anteriores|previas|prévias|acima|precedenti)\b
    | (?:negeer|vergeet)\s+(?:alle\s+)?(?:de\s+)?(?:vorige|voorgaande|eerdere|bovenstaande)\s+(?:instructies|regels|opdrachten)\b
    | (?:以前|これまで|上記)の(?:指示|命令|ルール)を(?:すべて|全て)?(?:無視|忘れ)
    | (?:note|message|instructions?)\s+(?:to|for)\s+(?:(?:any|all|the)\s+)?(?:ai|llm|language)\s*(?:assistants?|models?|systems?|agents?)?\s*:
    | any\s+(?:ai|llm|language)\s+(?:\w+\s+){{0,2}}?reading\s+this\b
    | (?:from\s+now\s+on,?\s+)?you\s+(?:(?:must|will|now)\s+)?{_REPLY}\s+only\s+with\b
    | when(?:ever)?\s+(?:you\s+)?(?:answer|reply|respond)\w*\b.{{0,40}}?\b(?:append|include|add|insert)\b.{{0,40}}?(?:!\[|https?:)
    )""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_SIGNS = (
    re.compile(
        r"\byou\s+are\s+now\s+in\s+(?:\w+\s+){1,3}?mode\b|\b(?:du\s+bist|sie\s+sind)\s+(?:jetzt|nun)\s+im\s+\w*modus\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:permissions|access\s+r(?:ights|ules)|guidelines|safeguards|confidentiality)\s+(?:do(?:es)?\s+not|don't|no\s+longer)\s+apply\b"
        r"|\b(?:berechtigungen|zugriffsrechte)\s+(?:gelten|greifen)\s+nicht\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:do\s+not|don't|never|without)\s+(?:cite|citing|quot(?:e|ing)|mention(?:ing)?)\s+(?:\w+\s+){0,2}?"
        r"(?:sources?|citations?|instructions?|this\s+message)\b|\bnenn\w*\s+(?:sie\s+)?keine\s+quellen?\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_BEGINS}(?:(?:say|answer|reply|claim|pretend|tell\s+(?:everyone|everybody|the\s+(?:users?|readers?)|whoever\s+asks))\s+that"
        rf"|{_REPLY}\s+in\s+(?:plain\s+text|json)|(?:sage?n?|antworte?n?|behaupte?n?)(?:\s+sie)?,?\s+dass)\b",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(rf"{_BEGINS}(?:reveal|leak|verrat\w*)\s+\w+", re.IGNORECASE | re.MULTILINE),
    re.compile(
        r"(?:^|\s)(?:SYSTEM|ASSISTANT|DEVELOPER)\s*:|\[/?INST\]|<\|?(?:im_start|system)\b",
        re.MULTILINE,
    ),
    re.compile(r"<</?SYS>>|<\|(?:im_end|eot_id|end)\|>"),
)
"""What an honest manual may say once; two of them together are an order: a mode, rights lifted, sources hidden, words put into
the mouth, secrets, the marks of a prompt."""

_GOES_ON = re.compile(
    r"\W*(?:\d+[.)]\s+)?(?:(?:then|and|instead|now|also|finally|dann|und)\s+)*(?:reply|respond|answer|say|output|print|write|tell|repeat"
    r"|act|pretend|send|delete|reveal|antwort\w*|sage?n?|lösch\w*)\b",
    re.IGNORECASE,
)
"""How what comes after an order may go on with it."""

_MENTIONED = re.compile(r"((?:\b\w+\W+){2})[\"“„«][^\"“”„«»]{1,300}[\"”“»]")
_QUOTING, _QUOTE_MARKS = re.compile(r"[ \t]*>"), re.compile(r"^(?:[ \t]*>)+")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]\s|\d+[.)]\s|\||#{1,6}\s|\[?\d{1,2}[:.]\d\d\b)")
_LINE = re.compile(r"[^\n]*\n?")
_KEPT = 256

_ASKED = re.compile(
    r"^\W*(?:what|which|was|welche\w*|que|qu['’]est)\b(?=.*\b(?:messages?|letters?|texts?|e-?mails?|tickets?|notes?|requests?|senders?"
    r"|prompts?|attack(?:er)?s?|nachricht(?:en)?|brief(?:e|s)?|absenders?|anfragen?|lettres?|courriels?)\b)"
    r".*\b(?:say|said|asks?|asked|want(?:ed|s)?|demand(?:ed|s)?|tells?|told|contain(?:ed|s)?|instruct(?:ed|s)?|request(?:ed|s)?|read|orders?"
    r"|was\s+in|is\s+in|sagt\w*|verlangt\w*|fordert\w*|steht|stand|will|wollte|dit|demande|veut|contient)\b",
    re.IGNORECASE | re.DOTALL,
)
_REPORTED = re.compile(
    r"\b(?:says|said|asks|asked|demands|demanded|tells|told|orders|ordered|instructs|instructed|claims|claimed|wants|wanted|tries|tried"
    r"|requests|requested|according\s+to|sagt\w*|verlangt\w*|fordert\w*|behauptet\w*|bittet|bat|laut|will|wollte|dit|demande|exige|prétend|selon)\b",
    re.IGNORECASE,
)


def is_injection(text: str, start: int) -> bool:
    """Return whether what begins at `text[start]` is an order to a machine, or stands in one block with one."""
    return any(begun <= start < end for begun, end in _injection_blocks(text))


def has_injection(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` shares a sign with a block that orders something of a machine."""
    return any(begun < end and start < ended for begun, ended in _injection_blocks(text))


def asks_for_message_content(question: str) -> bool:
    """Return whether a question asks what a message says, and gives no order itself."""
    return _ASKED.search(question) is not None and not _injection_blocks(question)


def is_reported_speech(statement: str) -> bool:
    """Return whether a statement tells what somebody says or wants, and does not say it by itself."""
    return _REPORTED.search(statement) is not None


@lru_cache(maxsize=_KEPT)
def _injection_blocks(text: str) -> tuple[tuple[int, int], ...]:
    """Return where the blocks stand that order, or go on with the order before them."""
    found: list[tuple[int, int]] = []
    was_order = False
    for start, end in _blocks(text):
        said = _normalize_block(text[start:end])
        was_order = _is_order(text[start:end]) or (was_order and _GOES_ON.match(said) is not None)
        if was_order:
            found.append((start, end))
    return tuple(found)


def _is_order(block: str) -> bool:
    return any(
        _is_instruction(_normalize_block(text)) for text in (block, *decode_base64_runs(block))
    )


def _is_instruction(said: str) -> bool:
    signs = sum(sign.search(said) is not None for sign in _SIGNS)
    return signs > 1 or _PLAIN_ORDER.search(said) is not None


def _normalize_block(block: str) -> str:
    """Return a block on one line, without the marks of quoting and without what its sentences only mention."""
    read = normalize_lookalikes(block)
    said = " ".join(_QUOTE_MARKS.sub("", line, count=1).strip() for line in read.splitlines())
    return _MENTIONED.sub(r"\1", " ".join(said.split()))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs, items and rows, and whole what is quoted with `>`, however many paragraphs that has."""
    start, was_quoting = 0, False
    for match in _LINE.finditer(text):
        line, at = match[0], match.start()
        quoting = _QUOTING.match(line) is not None
        begins = not quoting and (not line.strip() or _ITEM.match(line) is not None)
        if at > start and (begins or quoting != was_quoting):
            yield start, at
            start = at
        was_quoting = quoting
    if start < len(text):
        yield start, len(text)
