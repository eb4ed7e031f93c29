"""Prompt injection: text in a document that tells a machine what to do or to say. It is never evidence.

An instruction makes its whole block suspect: its paragraph, its item or its quoted lines. A manual instructs too ("Ignore the warning
light"), but it speaks to a person about a thing. Instructions in base64, in look-alike letters, with letters apart or digits for letters
are recognised, by patterns and by the fitted signals of `instruction_signals`. Of new wordings about half are (`benchmarks/README.md`).
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from lightwell.text.instruction_signals import contains_instruction

_BEGINS = r"(?:^|[.!?:;,*#|•(\[\"“„«»–—-]\s*|\b(?:and|then|please|now|must|should|und|bitte|dann|jetzt|et)\s+)"
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
_KEPT = 2048

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

_MAX_CHARACTERS = 65_536
"""Characters of one text that are examined."""

_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}+={0,2}")
_BASE64_TAIL = re.compile(r"\s+([A-Za-z0-9+/_-]{1,15}={0,2})(?![\w+/=-])")
_URL_SAFE = str.maketrans("-_", "+/")

_SPACED = re.compile(r"(?<!\w)[^\W\d_]([ .·_-])(?:[^\W\d_]\1){1,40}+[^\W\d_](?!\w)")
"""A word such as "i g n o r e"; words stand further apart."""
_GAPS = re.compile(r"[ .·_-]")
_WIDE_SPACES = re.compile(r"\s{2,}")
_DIGITS_FOR_LETTERS = re.compile(
    r"\b(?=[013457]{0,4}[a-z])[a-z]{0,20}[013457][a-z013457]{1,20}\b", re.IGNORECASE
)
_LETTERS = str.maketrans("013457", "oieast")

_LOOKALIKES = {
    "cyrillic small": ("авсеһіјкмнорѕтухԁԛԝьѵ", "abcehijkmhopstyxdqwbv"),
    "cyrillic capital": ("АВСЕНІЈКМОРЅТУХԚԜ", "ABCEHIJKMOPSTYXQW"),
    "greek small": ("αεικνορτυχγ", "aeiknoptuxy"),
    "greek capital": ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    "armenian": ("օսոհցԼ", "ouhhgL"),
    "latin": ("ıɑɡɩʟɴʀꞮ", "iagiLNRI"),
}
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_FOLDED = str.maketrans(
    {
        **{
            own: other
            for ours, theirs in _LOOKALIKES.values()
            for own, other in zip(ours, theirs, strict=True)
        },
        **dict.fromkeys(_INVISIBLE, ""),
    }
)


def is_inside_injection(text: str, start: int) -> bool:
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
        block = text[start:end]
        was_order = _is_order(block) or (was_order and _goes_on(block))
        if was_order:
            found.append((start, end))
    return tuple(found)


def _goes_on(block: str) -> bool:
    return _GOES_ON.match(_normalize_block(block)) is not None


def _is_order(block: str) -> bool:
    texts = (block, *decode_base64_runs(block), *_plain_spellings(block))
    return any(_is_instruction(_normalize_block(text)) for text in texts)


def _is_instruction(said: str) -> bool:
    if _PLAIN_ORDER.search(said) or sum(sign.search(said) is not None for sign in _SIGNS) > 1:
        return True
    return contains_instruction(said)


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


# ── disguises ───────────────────────────────────────────────────────────────────────────────────────


def decode_base64_runs(text: str) -> list[str]:
    """Return the texts that base64 runs of a text decode to, in order; only valid UTF-8 counts. Time is linear.

    A run has at least sixteen characters. Runs with only white space between them, such as the lines of an
    e-mail attachment, are also decoded as one, with the shorter last line. Only the first 65,536 characters are
    examined.
    """
    found: list[str] = []
    for runs, tail in _runs(normalize_lookalikes(text[:_MAX_CHARACTERS])):
        whole = "".join(runs)
        several = [*runs, whole] if len(runs) > 1 else runs
        found += map(_decoded, [*several, whole + tail] if tail else several)
    return [each for each in found if each]


def _runs(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield groups of runs separated by white space only, each with the short run that follows it, "" for none."""
    group: list[str] = []
    end = 0
    for match in _BASE64_RUN.finditer(text):
        if group and text[end : match.start()].strip():
            yield group, _tail(text, end)
            group = []
        group.append(match[0])
        end = match.end()
    if group:
        yield group, _tail(text, end)


def _plain_spellings(text: str) -> Iterator[str]:
    """Yield a text whose letters stood apart, and one whose letters were digits, where it has several such words."""
    if len([*_SPACED.finditer(text)]) > 1:
        yield _WIDE_SPACES.sub(" ", _SPACED.sub(lambda word: _GAPS.sub("", word[0]), text))
    if len(_DIGITS_FOR_LETTERS.findall(text)) > 1:
        yield _DIGITS_FOR_LETTERS.sub(lambda word: word[0].translate(_LETTERS), text)


def _tail(text: str, end: int) -> str:
    tail = _BASE64_TAIL.match(text, end)
    return tail[1] if tail else ""


def _decoded(run: str) -> str:
    """Return the text that a run encodes, "" for none; left-over characters that complete no byte are ignored."""
    bare = run.rstrip("=").translate(_URL_SAFE)
    whole = bare[: len(bare) - (len(bare) % 4 == 1)]
    try:
        text = base64.b64decode(whole + "=" * (-len(whole) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return text if all(sign.isprintable() or sign.isspace() for sign in text) else ""


def normalize_lookalikes(text: str) -> str:
    """Return the text in NFKC without format characters, with Cyrillic, Greek and other look-alikes as Latin
    letters.

    Use it only to search for Latin words: Russian or Greek words become nonsense.
    """
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", text)
    visible = (sign for sign in composed if not _is_invisible(sign))
    return "".join(visible).translate(_FOLDED)


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf" or "\ufe00" <= sign <= "\ufe0f"
