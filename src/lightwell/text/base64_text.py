"""Detection of text that is hidden in base64."""

import base64
import binascii
import re
from collections.abc import Iterator

from lightwell.text.lookalikes import normalize_lookalikes

_MAX_CHARACTERS = 65_536
"""Characters of one text that are examined."""

_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}+={0,2}")
_TAIL = re.compile(r"\s+([A-Za-z0-9+/_-]{1,15}={0,2})(?![\w+/=-])")
_URL_SAFE = str.maketrans("-_", "+/")


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
    for match in _RUN.finditer(text):
        if group and text[end : match.start()].strip():
            yield group, _tail(text, end)
            group = []
        group.append(match[0])
        end = match.end()
    if group:
        yield group, _tail(text, end)


def _tail(text: str, end: int) -> str:
    tail = _TAIL.match(text, end)
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
