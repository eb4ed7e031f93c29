"""Text that is hidden in base64."""

import base64
import binascii
import re
from collections.abc import Iterator

from lightwell.text.lookalikes import as_read

_MAX_CHARACTERS = 65_536
"""Of one text; what follows is not decoded."""

_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}+={0,2}")
_TAIL = re.compile(r"\s+([A-Za-z0-9+/_-]{1,15}={0,2})(?![\w+/=-])")
_URL_SAFE = str.maketrans("-_", "+/")


def decoded_base64(text: str) -> list[str]:
    """Return what the base64 runs of a text say that decode to UTF-8 text, in order; time and size are linear in the text.

    A run has at least sixteen characters. Runs with only white space between them, such as the lines of an e-mail attachment, are also
    decoded as one, with the shorter last line. Of a long text only the first 65,536 characters are looked at.
    """
    found: list[str] = []
    for runs, tail in _runs(as_read(text[:_MAX_CHARACTERS])):
        whole = "".join(runs)
        several = [*runs, whole] if len(runs) > 1 else runs
        found += map(_decoded, [*several, whole + tail] if tail else several)
    return [each for each in found if each]


def _runs(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the runs, those together that only white space parts, and what short run follows them, "" for none."""
    together: list[str] = []
    end = 0
    for match in _RUN.finditer(text):
        if together and text[end : match.start()].strip():
            yield together, _tail(text, end)
            together = []
        together.append(match[0])
        end = match.end()
    if together:
        yield together, _tail(text, end)


def _tail(text: str, end: int) -> str:
    tail = _TAIL.match(text, end)
    return tail[1] if tail else ""


def _decoded(run: str) -> str:
    """Return the text that a run encodes, "" where it encodes none; characters that fill no byte are left out."""
    bare = run.rstrip("=").translate(_URL_SAFE)
    whole = bare[: len(bare) - (len(bare) % 4 == 1)]
    try:
        text = base64.b64decode(whole + "=" * (-len(whole) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return text if all(sign.isprintable() or sign.isspace() for sign in text) else ""
