"""Texts that hide what they say from patterns: in base64, in look-alike letters, with letters apart or digits for letters."""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator

from lightwell.text.regex import regex

_MAX_CHARACTERS = 65_536
"""Characters of one text that are examined."""

_BASE64_RUN = regex(r"[A-Za-z0-9+/_-]{16,}+={0,2}")
_BASE64_TAIL = regex(r"\s+([A-Za-z0-9+/_-]{1,15}={0,2})(?![\w+/=-])")
_URL_SAFE = str.maketrans("-_", "+/")

_SPACED = regex(r"(?<!\w)[^\W\d_]([ .·_-])(?:[^\W\d_]\1){1,40}+[^\W\d_](?!\w)")
"""A word such as "i g n o r e"; words stand further apart."""
_GAPS = regex(r"[ .·_-]")
_WIDE_SPACES = regex(r"\s{2,}")
_DIGITS_FOR_LETTERS = regex(
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
_JOINER = f"[{_INVISIBLE}\u200c\u200d\ufe00-\ufe0f]"
_UNSEEN = regex(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
    f"|(?<=[!-~]){_JOINER}++|(?<!{_JOINER}){_JOINER}++(?=[!-~])"
)
_WORD = regex(r"\w++")
_RAISED = regex(r"(?<=[a-zA-Z])[²³₀-₉]")
"""Signs of units and formulas, as in m² and CO₂."""

_FOLDED = str.maketrans(
    {
        **{
            lookalike: other
            for ours, theirs in _LOOKALIKES.values()
            for lookalike, other in zip(ours, theirs, strict=True)
        },
        **dict.fromkeys(_INVISIBLE, ""),
    }
)


def decode_base64_runs(text: str) -> list[str]:
    """Return the texts that base64 runs of a text decode to, in order; only valid UTF-8 counts. Time is linear.

    A run has at least sixteen characters. Runs with only white space between them, such as the lines of an
    e-mail attachment, are also decoded as one, with the shorter last line. Only the first 65,536 characters are
    examined.
    """
    texts: list[str] = []
    for runs, tail in _runs(normalize_lookalikes(text[:_MAX_CHARACTERS])):
        whole = "".join(runs)
        several = [*runs, whole] if len(runs) > 1 else runs
        texts += map(_decoded, [*several, whole + tail] if tail else several)
    return [decoded for decoded in texts if decoded]


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


def plain_spellings(text: str) -> Iterator[str]:
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


def strip_unseen(text: str) -> str:
    """Return the text without signs that nobody sees or that turn its direction; joiners stay where scripts need them."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def is_disguised(text: str, source: str) -> bool:
    """Return whether a word with Latin letters or digits reads otherwise than it is written, and does not stand so in the source."""
    if text.isascii():
        return False
    written = unicodedata.normalize("NFKC", source)
    for word in _WORD.findall(_RAISED.sub("", text)):
        if word.isascii():
            continue
        plain = unicodedata.normalize("NFKC", word)
        read = normalize_lookalikes(word)
        own_plain = plain.replace("ı", "i") if "ı" in written else plain  # Turkish writes it
        is_mixed = own_plain != read and any("a" <= sign <= "z" for sign in word.lower())
        is_number = any(unicodedata.category(sign) == "No" for sign in word)
        if (is_mixed or is_number) and plain not in written:
            return True
    return False


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf" or "\ufe00" <= sign <= "\ufe0f"
