"""Numbers the citations of a brief."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lightwell.answer.quotes import Quote, make_citation
from lightwell.domain.answers import Citation
from lightwell.domain.briefs import MAX_CITATIONS, BriefLine


@dataclass(slots=True)
class CitationMarks:
    """The numbers of a brief's citations: one for each passage, or each quote where there are too few passages."""

    by_quote: bool
    citations: list[Citation] = field(default_factory=list[Citation])
    _known: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])

    def key(self, quote: Quote) -> tuple[str, int]:
        """Return what the quotes of one citation have in common."""
        return str(quote.evidence.chunk.id), quote.start if self.by_quote else -1

    def knows(self, quote: Quote) -> bool:
        """Return whether the quote has a citation already."""
        return self.key(quote) in self._known

    @property
    def are_left(self) -> bool:
        return len(self._known) < MAX_CITATIONS

    def line(self, text: str, quotes: Sequence[Quote], said_at: datetime | None) -> BriefLine:
        """Return the line with its citations; new ones get the next number."""
        citations: list[Citation] = []
        for quote in quotes:
            number = self._known.setdefault(self.key(quote), len(self._known) + 1)
            citations.append(make_citation(number, quote))
            if number > len(self.citations):
                self.citations.append(citations[-1])
        return BriefLine(text=text, citations=tuple(citations), said_at=said_at)
