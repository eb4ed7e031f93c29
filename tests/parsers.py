"""Parsers whose child processes outlive a knowledge base: to start one takes half a second of the processor."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

import pytest

from lightwell.ingest.parser import Parser
from lightwell.ingest.parser_messages import ParserLimits
from lightwell.wiring import resources


class LentParser(Parser):
    """A parser that stays open when its borrower closes it."""

    def close(self) -> None:
        pass

    def end(self) -> None:
        super().close()


@dataclass(frozen=True)
class LentParsers:
    """Lends one parser for each set of limits; a call is what `Parser` is to `open_resources`."""

    by_limits: dict[ParserLimits, LentParser] = field(
        default_factory=dict[ParserLimits, LentParser]
    )

    def __call__(self, limits: ParserLimits | None = None) -> Parser:
        wanted = limits or ParserLimits()
        if wanted not in self.by_limits:
            self.by_limits[wanted] = LentParser(wanted)
        return self.by_limits[wanted]

    def end(self) -> None:
        for parser in self.by_limits.values():
            parser.end()


@cache
def lent_parsers() -> LentParsers:
    """Return the parsers of this process."""
    return LentParsers()


@contextmanager
def lending() -> Generator[None]:
    """Lend parsers to all that opens resources in this process, and end them at the end of the block."""
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(resources, "Parser", lent_parsers())
            yield
    finally:
        lent_parsers().end()
