"""The bytes of an analysis: JSON, compressed: some six tenths of those of its text."""

import json
import zlib
from dataclasses import dataclass, fields
from functools import cached_property

from lightwell.text.analysis.chunk import ChunkAnalysis, analyse

VERSION = 5
"""What `analyse` says changes with the rules of `lightwell.text`; then this number does, and stored analyses are made again.

`tests/unit/test_analysis.py` fails where a rule has changed and this has not.
"""

_NAMES = tuple(field.name for field in fields(ChunkAnalysis))


@dataclass(frozen=True, kw_only=True)
class StoredAnalysis:
    """The stored analysis of a text, b"" for none; it is decoded once, when it is asked for."""

    text: str
    data: bytes = b""

    @cached_property
    def analysis(self) -> ChunkAnalysis:
        """The analysis, made now where none is stored that can be read."""
        return decode(self.data, self.text)


def encode(analysis: ChunkAnalysis) -> bytes:
    """Return an analysis as bytes of this `VERSION`."""
    values = [getattr(analysis, name) for name in _NAMES]
    return zlib.compress(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode())


def decode(data: bytes, text: str) -> ChunkAnalysis:
    """Return what `encode` has written for this text; where there is nothing, or nothing that can be read, the text is analysed."""
    if data:
        try:
            values = json.loads(zlib.decompress(data))
            analysis = ChunkAnalysis(**dict(zip(_NAMES, values, strict=True)))
            if analysis.length == len(text) and analysis.is_whole:
                return analysis
        except (zlib.error, ValueError, TypeError, AttributeError):
            pass
    return analyse(text)
