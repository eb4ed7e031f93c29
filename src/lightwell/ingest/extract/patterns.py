"""Finds entities by their form: addresses, domains, identifiers, quoted titles, defined terms, speakers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lightwell.ingest.extract.commonness import Commonness, common_words, commonness
from lightwell.text.regex import regex

_BETWEEN_NAMES = regex(r"[._]")
_EMAIL = regex(r"(?<![\w.+-])[A-Za-z0-9][\w.+-]*@((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24})\b")
_URL = regex(
    r"\b(?:https?|ftp)://(?:[^\s/@]+@)?(?:www\.)?"
    r"([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24})(?![\w.])[^\s)>\]\"”]*",
    re.IGNORECASE,
)
_DOMAIN = regex(
    r"(?<![\w@%./\\-])(?:www\.)?((?:[A-Za-z0-9][A-Za-z0-9-]*\.)+"
    r"(?:com|org|net|edu|gov|mil|int|io|dev|app|ai|co|info|biz|eu|uk|de|fr|ch|nl|es|se|dk|fi|cz|jp|cn|kr|ru|br|au|ca|nz|us))"
    r"(?![\w(-]|\.\w)(?:/[^\s)>\]\"”]*)?"
)
_IDENTIFIER = regex(
    r"(?<![\w-])(?:[A-Z][A-Z0-9]{1,9}(?:-[A-Z0-9]{1,6})?-\d{1,8}(?:-\d{1,8})*(?![\w-])"
    r"|(?:RFC|PEP|ISO|IEC|IEEE|DIN|EN|NIST|BCP|ADR|SOC)[ -]?\d[\d.:-]*(?<=\d)(?!\w))"
)
_QUOTED = regex(r"[\"“]([^\"“”\n]{2,80})[\"”]|``([^`'\n]{2,80}?) ?''")
_BEFORE_WORK = regex(
    r"\b(?:films?|movie|songs?|albums?|books?|novels?|plays?|episodes?|singles?|series|poems?|essays?|articles?|papers?|reports?"
    r"|paintings?|musical|opera|magazine|show|titled|entitled|called|sang|wrote|read|watched|released),? $"
)
_LETTERS = regex(r"[^\W\d_][\w’'.-]*")
_DEFINED = regex(
    r"[\"“*_]{1,3}([^\"“”*_\n]{2,60})[\"”*_]{1,3},? "
    r"(?:means|shall mean|is defined as|refers to|stands for|denotes)\b"
)
_SPEAKER = regex(r"([^\W\d_][\w’'-]{1,30}(?: [^\W\d_][\w’'-]{0,30}){0,2}): ")
_CAMEL = regex(r"(?<=[a-z])(?<!\bMc)(?<!Mac)(?=[A-Z])")
_ARTICLE = regex(r"^(?:the|an?) ", re.IGNORECASE)


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
    matches: list[PatternMatch] = []
    if "@" in line:
        matches.extend(_emails(line))
    if "." in line:
        matches.extend(_domains(line))
    for match in _IDENTIFIER.finditer(line):
        start, end = match.span()
        matches.append(PatternMatch(text=match[0], kind="identifier", start=start, end=end))
    matches.extend(_quoted_titles(line))
    return matches


def find_defined_terms(text: str) -> Iterator[str]:
    """Yield the terms that a text defines, as in `"Core hours" means ten to three`."""
    for match in _DEFINED.finditer(text):
        yield _ARTICLE.sub("", match[1].strip())


def find_speaker(line: str) -> PatternMatch | None:
    """Return the speaker of a chat line ("LiHua: ..."), with a joined name split; None for other lines."""
    match = _SPEAKER.match(line)
    if not match or not all(word[0].isupper() for word in match[1].split()):
        return None
    if match[1].isupper() or any(
        commonness(word.casefold()) is Commonness.ORDINARY for word in match[1].split()
    ):
        return None
    name = _CAMEL.sub(" ", match[1])
    alias = {"aliases": match[1]} if name != match[1] else {}
    return PatternMatch(text=name, kind="term", start=0, end=match.end(), attributes=alias)


def _emails(line: str) -> Iterator[PatternMatch]:
    for match in _EMAIL.finditer(line):
        address = match[0].lower()
        parts = _BETWEEN_NAMES.split(address.partition("@")[0])
        has_two_names = (  # `jane.smith@`, not `people.ops@` or `debian-devel@`
            len(parts) > 1
            and all(part.isalpha() for part in parts)
            and any(commonness(part) is not Commonness.ORDINARY for part in parts)
        )
        yield PatternMatch(
            text=address,
            kind="person" if has_two_names else "address",
            start=match.start(),
            end=match.end(),
            attributes={"email": address},
        )


def _domains(line: str) -> Iterator[PatternMatch]:
    """Yield the domains that a line names; the address of a page names nothing, and is only covered."""
    for match in _URL.finditer(line):
        yield PatternMatch(text="", kind="", start=match.start(), end=match.end())
    for match in _DOMAIN.finditer(line):
        is_page = "/" in match[0]
        yield PatternMatch(
            text="" if is_page else match[1].lower(),
            kind="domain",
            start=match.start(),
            end=match.end(),
        )


def _quoted_titles(line: str) -> Iterator[PatternMatch]:
    """Yield the titles of works that a line quotes; quoted labels of buttons and fields are made of ordinary words only."""
    for match in _QUOTED.finditer(line):
        title = (match[1] or match[2]).strip(" .,;")
        is_work = _BEFORE_WORK.search(line[max(0, match.start() - 40) : match.start()]) is not None
        if _is_title(title) and (is_work or _is_uncommon(title)):
            kind = "work" if is_work else "term"
            yield PatternMatch(text=title, kind=kind, start=match.start(), end=match.end())


def _is_uncommon(title: str) -> bool:
    words = [word.casefold() for word in _LETTERS.findall(title)]
    return len(words) > 1 and any(commonness(word) <= Commonness.NAME_LIKE for word in words)


def _is_title(text: str) -> bool:
    words = _LETTERS.findall(text)
    if (
        not words
        or len(words) > 10
        or text[-1] in "!?"
        or ":" in text
        or not (text[0].isupper() or text[0].isdigit())
    ):
        return False
    if len(words) == 1:
        return words[0].casefold() not in common_words()
    long = [word for word in words if len(word) > 3]
    return sum(word[0].isupper() for word in long) * 3 >= len(long) * 2 and words[-1][0].isupper()
