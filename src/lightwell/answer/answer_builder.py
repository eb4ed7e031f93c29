"""An answer while it is put together: statements in, text with numbered citations out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lightwell.answer.generation import VerifiedSentence
from lightwell.answer.nearest import missing_words_notes, nearest_citations
from lightwell.answer.quotes import Quote, make_citation
from lightwell.answer.stream_events import Part
from lightwell.domain.evidence import (
    INSUFFICIENT,
    Answer,
    Citation,
    Confidence,
    Retrieval,
    confidence,
)


@dataclass(slots=True)
class CitationNumbers:
    """Citations in the order in which they come, each quotation numbered once, from 1."""

    citations: list[Citation] = field(default_factory=list[Citation])
    _places: dict[tuple[str, int], Citation] = field(
        default_factory=dict[tuple[str, int], Citation]
    )

    def cite(self, quotes: Sequence[Quote]) -> tuple[Citation, ...]:
        """Return the citations of these quotes, new ones numbered on."""
        for quote in quotes:
            if quote.place not in self._places:
                self._places[quote.place] = make_citation(len(self.citations) + 1, quote)
                self.citations.append(self._places[quote.place])
        return tuple(dict.fromkeys(self._places[quote.place] for quote in quotes))


@dataclass(slots=True, kw_only=True)
class AnswerBuilder:
    """What has been said so far; `text` is what was added, put together."""

    retrieval: Retrieval
    model: str
    context_tokens: int = 0
    text: str = ""
    _numbers: CitationNumbers = field(default_factory=CitationNumbers)
    _said: set[str] = field(default_factory=set[str])
    _highlights: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def count(self) -> int:
        return len(self._said)

    def add(self, statements: Iterable[VerifiedSentence]) -> list[Part]:
        """Return what statements add: each one's text with its marks, then its new citations.

        What was said before is not said again.
        """
        added: list[Part] = []
        for each in statements:
            if each.text not in self._said:
                self._said.add(each.text)
                added.extend(self._render(each))
        return added

    def finish(self, notes: Sequence[str] = ()) -> list[Part]:
        """Return what ends the answer: the whole of it, and before it what says that nothing can be said."""
        answer = self._answer(notes)
        return [answer] if self.text else [answer.text, answer]

    def _render(self, sentence: VerifiedSentence) -> list[Part]:
        known = len(self._numbers.citations)
        marks = "".join(each.id for each in self._numbers.cite(sentence.quotes))
        line = f"{sentence.text} {marks}"
        text = f"\n{line}" if self.text else line
        start = len(self.text) + len(text) - len(line)
        if any(sentence.highlight):
            self._highlights.append((start + sentence.highlight[0], start + sentence.highlight[1]))
        self.text += text
        return [text, *self._numbers.citations[known:]]

    def _answer(self, notes: Sequence[str]) -> Answer:
        found = self.retrieval
        return Answer(
            query_id=found.query_id,
            question=found.question.text,
            text=self.text or INSUFFICIENT,
            citations=tuple(self._numbers.citations),
            confidence=confidence(found.best_relevance) if self.text else Confidence.INSUFFICIENT,
            relevance=found.best_relevance,
            nearest=() if self.text else nearest_citations(found),
            model=self.model,
            metrics=found.metrics,
            context_tokens=self.context_tokens,
            notes=(*found.notes, *notes, *(() if self.text else missing_words_notes(found))),
            highlights=tuple(self._highlights),
        )
