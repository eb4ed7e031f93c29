"""Finds entities by their form: addresses, domains, identifiers, quoted titles, defined terms, speakers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lightwell.ingest.extract.names import common_words

_EMAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9][\w.+-]*@((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24})\b")
_URL = re.compile(
    r"\b(?:https?|ftp)://(?:[^\s/@]+@)?(?:www\.)?"
    r"([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24})(?![\w.])[^\s)>\]\"”]*",
    re.IGNORECASE,
)
_DOMAIN = re.compile(
    r"(?<![\w@./\\-])(?:www\.)?((?:[A-Za-z0-9][A-Za-z0-9-]*\.)+"
    r"(?:com|org|net|edu|gov|mil|int|io|dev|app|ai|co|info|biz|eu|uk|de|fr|ch|nl|es|se|dk|fi|cz|jp|cn|kr|ru|br|au|ca|nz|us))"
    r"(?![\w(-]|\.\w)(?:/[^\s)>\]\"”]*)?"
)
_IDENTIFIER = re.compile(
    r"(?<![\w-])(?:[A-Z][A-Z0-9]{1,9}(?:-[A-Z0-9]{1,6})?-\d{1,8}(?:-\d{1,8})*(?![\w-])"
    r"|(?:RFC|PEP|ISO|IEC|IEEE|DIN|EN|NIST|BCP|ADR|SOC)[ -]?\d[\d.:-]*(?<=\d)(?!\w))"
)
_NO_IDENTIFIER = re.compile(r"(?:COVID|UTF|SHA|HTTP|TLS|BASE|AES|RSA|GPT|PM|AM|US|UK)-\d+")
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]|``([^`'\n]{2,80}?) ?''")
_LETTERS = re.compile(r"[^\W\d_][\w’'.-]*")
_DEFINED = re.compile(
    r"[\"“*_]{1,3}([^\"“”*_\n]{2,60})[\"”*_]{1,3},? "
    r"(?:means|shall mean|is defined as|refers to|stands for|denotes)\b"
)
_LABELLED = re.compile(r"(?:[-*•] +)?(?:\*\*|__)([^*_\n]{2,60}?)(?::(?:\*\*|__)|(?:\*\*|__) ?:)")
_DEFINITION_LIST = re.compile(r"^([^\n:|#>]{2,60})\n:[ \t]+\S", re.MULTILINE)
_SPEAKER = re.compile(r"([^\W\d_][\w’'-]{1,30}(?: [^\W\d_][\w’'-]{0,30}){0,2}): ")
_CAMEL = re.compile(r"(?<=[a-z])(?<!\bMc)(?<!Mac)(?=[A-Z])")
_ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)
_MAIL_PROVIDERS = frozenset(
    "gmail.com googlemail.com outlook.com hotmail.com yahoo.com icloud.com gmx.de web.de proton.me".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMatch:
    """A match at `line[start:end]`; `text` is the entity's name."""

    text: str
    kind: str
    start: int
    end: int
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


def find_patterns(line: str) -> list[PatternMatch]:
    """Return a line's e-mail addresses, domains, identifiers and quoted titles, in this order."""
    found: list[PatternMatch] = []
    if "@" in line:
        found.extend(_emails(line))
    if "." in line:
        found.extend(_domains(line))
    found.extend(_identifiers(line))
    found.extend(_quoted_titles(line))
    return found


def find_defined_terms(text: str) -> Iterator[str]:
    """Yield the terms that a text defines: quoted or bold with "means", bold labels, definition lists."""
    for match in _DEFINED.finditer(text):
        yield _without_article(match[1].strip())
    for match in _DEFINITION_LIST.finditer(text):
        yield match[1].strip(" *_`")
    for line in text.split("\n"):
        if match := _LABELLED.match(line.lstrip()):
            yield match[1].strip()


def find_speaker(line: str) -> PatternMatch | None:
    """Return the speaker of a chat line ("LiHua: ..."), with a joined name split; None for other lines."""
    match = _SPEAKER.match(line)
    if not match or not all(word[0].isupper() for word in match[1].split()):
        return None
    if any(word.casefold() in common_words() for word in match[1].split()):
        return None
    name = _CAMEL.sub(" ", match[1])
    alias = {"aliases": match[1]} if name != match[1] else {}
    return PatternMatch(text=name, kind="name", start=0, end=match.end(), attributes=alias)


def _emails(line: str) -> Iterator[PatternMatch]:
    for match in _EMAIL.finditer(line):
        address, domain = match[0].lower(), match[1].lower()
        start, end = match.span()
        yield PatternMatch(
            text=address, kind="person", start=start, end=end, attributes={"email": address}
        )
        if domain not in _MAIL_PROVIDERS:
            yield PatternMatch(text=domain, kind="domain", start=start, end=end)


def _domains(line: str) -> Iterator[PatternMatch]:
    for pattern in (_URL, _DOMAIN):
        for match in pattern.finditer(line):
            yield PatternMatch(
                text=match[1].lower(), kind="domain", start=match.start(), end=match.end()
            )


def _identifiers(line: str) -> Iterator[PatternMatch]:
    for match in _IDENTIFIER.finditer(line):
        kind = "term" if _NO_IDENTIFIER.fullmatch(match[0]) else "identifier"
        yield PatternMatch(text=match[0], kind=kind, start=match.start(), end=match.end())


def _quoted_titles(line: str) -> Iterator[PatternMatch]:
    for match in _QUOTED.finditer(line):
        title = (match[1] or match[2]).strip(" .,;")
        if _is_title(title):
            yield PatternMatch(text=title, kind="work", start=match.start(), end=match.end())


def _is_title(text: str) -> bool:
    words = _LETTERS.findall(text)
    if (
        not words
        or len(words) > 10
        or text[-1] in "!?:"
        or not (text[0].isupper() or text[0].isdigit())
    ):
        return False
    if len(words) == 1:
        return words[0].casefold() not in common_words()
    long = [word for word in words if len(word) > 3]
    return sum(word[0].isupper() for word in long) * 3 >= len(long) * 2 and words[-1][0].isupper()


def _without_article(term: str) -> str:
    return _ARTICLE.sub("", term)
