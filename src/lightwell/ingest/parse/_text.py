"""Decodes bytes and normalises text."""

import codecs
import re
import unicodedata
from datetime import UTC, datetime
from functools import cache

from lightwell.domain.errors import Unreadable
from lightwell.domain.texts import DROPPED
from lightwell.text.regex import regex

MAX_CHARACTERS = 20_000_000
"""Longer texts are rejected, because one would occupy a worker for minutes."""

_MAX_MARKS = 30
"""Combining marks in a row; after so many a COMBINING GRAPHEME JOINER begins another run."""

_NEWLINES = regex("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNWANTED = regex(f"[{DROPPED}]")
_EMPTY_LINES = regex(r"\n(?:[ \t]*\n){4,}")
_WIDE_BLANKS = regex(r"[ \t\xa0\u2000-\u200a\u3000]{65,}")
_BLANKS = regex(r"[ \t\xa0\u2000-\u200a\u202f\u205f\u3000]+")
_IGNORED_CODECS = frozenset(
    "undefined idna punycode unicode-escape raw-unicode-escape utf-7".split()
)
"""Python codecs that no file uses; broken scripts declare `undefined`."""

_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b\x08")


def clean(text: str) -> str:
    """Return the text in NFC with Unix line ends, without control characters, byte order marks, soft hyphens."""
    text = _UNWANTED.sub("", _NEWLINES.sub("\n", text))
    text = _EMPTY_LINES.sub("\n\n\n", _WIDE_BLANKS.sub(" " * 64, text))
    refuse_long(len(text))
    if not text.isascii():
        # Unicode's stream-safe format (UAX 15): the time to normalise grows with the square of a run of marks.
        text = _long_run_of_marks().sub("\\g<0>\u034f", text)
    return unicodedata.normalize("NFC", text)


@cache
def _long_run_of_marks() -> re.Pattern[str]:
    # A combining mark, or a character that decomposes into such.
    signs = (chr(code) for code in range(0x300, 0x20000))
    marks = "".join(
        sign for sign in signs if unicodedata.combining(unicodedata.normalize("NFD", sign)[0])
    )
    return re.compile(f"[{re.escape(marks)}]{{{_MAX_MARKS}}}(?=[{re.escape(marks)}])")


def refuse_long(characters: int) -> None:
    """Raise `Unreadable` for a text that is too long."""
    if characters > MAX_CHARACTERS:
        raise Unreadable("too_large", f"its text is over {MAX_CHARACTERS:,} characters; split it")


def to_utc(moment: datetime | None) -> datetime | None:
    """Return the moment in UTC; without a time zone it is taken as UTC. None if its year is out of range in UTC."""
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return None


def parse_datetime(text: str) -> datetime | None:
    """Return a date or a moment of ISO 8601 in UTC as `to_utc` does, None for any other text."""
    try:
        return to_utc(datetime.fromisoformat(text))
    except ValueError:
        return None


def collapse_whitespace(text: str) -> str:
    """Return the text as one line: every run of white space is one blank, none at the ends."""
    return " ".join(text.split())


def one_line(text: str) -> str:
    """Return the text clean, and as one line."""
    return collapse_whitespace(clean(text))


def collapse_blanks(text: str) -> str:
    """Return the text with runs of blanks within a line as one, and no blanks at line ends."""
    return "\n".join(_BLANKS.sub(" ", line).strip() for line in text.split("\n"))


def decode(content: bytes) -> str:
    """Return the bytes as text: by byte order mark, else UTF-8, else cp1252; raise `Unreadable`."""
    for mark, encoding in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    refuse_binary(content)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def decode_as(content: bytes, declared: str) -> str:
    """Return the bytes as text in the encoding that the file declares; where that is wrong or no encoding, the bytes decide."""
    try:
        name = codecs.lookup(declared).name if declared else "undefined"
        if name not in _IGNORED_CODECS:
            return content.decode(name)
    except (UnicodeError, LookupError, ValueError):
        pass
    return decode(content)


def refuse_binary(content: bytes) -> None:
    """Raise `Unreadable` when more than one byte in a hundred is a control character."""
    sample = content[:65_536]
    controls = len(sample) - len(sample.translate(None, bytes(_CONTROLS)))
    if controls * 100 > len(sample):
        raise Unreadable(
            "binary",
            "its content is not text; give the file the extension of its format, or save it as UTF-8 text",
        )
