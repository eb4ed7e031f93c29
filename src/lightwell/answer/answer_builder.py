"""From supported sentences to an answer: citations are numbered as they come; without a sentence the evidence is insufficient."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lightwell.answer.extractive import list_quotable_units, trusted_evidence
from lightwell.answer.quotes import (
    NEAREST_PIECE,
    Quote,
    SupportedSentence,
    holds,
    make_citation,
    make_nearest_citation,
    piece_quote,
)
from lightwell.domain.answers import (
    Answer,
    Answered,
    Citation,
    CitedSentence,
    InsufficientEvidence,
    Outcome,
)
from lightwell.domain.evidence import Retrieval
from lightwell.text.terms import terms, words

_MAX_NEAREST = 5
_MAX_UNRELATED = 3
_LEAST_SHARE = 0.5
"""A unit that scores less than this share of the best one's score is not possibly relevant."""

_QUESTION_WORDS = frozenset(
    terms("much many long often soon far fast quickly viel viele lange oft combien quel quelle")
)
"""Words that ask for something, and that no passage needs to have."""


@dataclass(slots=True)
class CitationNumbers:
    """Numbers citations from 1 in the order in which they come; each quotation has one number."""

    _by_place: dict[tuple[str, int], Citation] = field(
        default_factory=dict[tuple[str, int], Citation]
    )

    def cite(self, sentence: SupportedSentence) -> CitedSentence:
        """Return the sentence with numbered citations in place of its quotes."""
        citations = dict.fromkeys(self._citation(quote) for quote in sentence.quotes)
        return CitedSentence(
            text=sentence.text, citations=tuple(citations), highlight=sentence.highlight
        )

    def _citation(self, quote: Quote) -> Citation:
        if quote.place not in self._by_place:
            self._by_place[quote.place] = make_citation(len(self._by_place) + 1, quote)
        return self._by_place[quote.place]


@dataclass(slots=True, kw_only=True)
class AnswerBuilder:
    """An answer to `retrieval` while its sentences come."""

    retrieval: Retrieval
    context_tokens: int = 0
    _numbers: CitationNumbers = field(default_factory=CitationNumbers)
    _sentences: dict[str, CitedSentence] = field(default_factory=dict[str, CitedSentence])

    @property
    def is_empty(self) -> bool:
        return not self._sentences

    def add(self, sentences: Iterable[SupportedSentence]) -> list[CitedSentence]:
        """Return the sentences with their citations, without those that the answer has already."""
        added: list[CitedSentence] = []
        for each in sentences:
            if each.text not in self._sentences:
                self._sentences[each.text] = self._numbers.cite(each)
                added.append(self._sentences[each.text])
        return added

    def finish(
        self, author: str | None, *, relevance: float | None = None, remarks: Sequence[str] = ()
    ) -> Answer:
        """Return the answer; `relevance` is that of the retrieval where no model has judged it."""
        found = self.retrieval
        return Answer(
            query_id=found.query_id,
            question=found.question.text,
            outcome=self._outcome(),
            relevance=found.best_relevance if relevance is None else relevance,
            author=author,
            metrics=found.metrics,
            context_tokens=self.context_tokens,
            remarks=(*found.notes, *remarks),
            ambiguous_names=found.ambiguous_names,
        )

    def _outcome(self) -> Outcome:
        if self._sentences:
            return Answered(sentences=tuple(self._sentences.values()))
        return InsufficientEvidence(
            nearest=nearest_citations(self.retrieval), missing_words=missing_words(self.retrieval)
        )


def nearest_citations(retrieval: Retrieval) -> tuple[Citation, ...]:
    """Return citations of up to five pieces around the units that match best, by their passages' relevance, numbered from 1.

    Where no unit bears on the question, they are of the best units of the three best passages, without injected instructions.
    """
    units = sorted(list_quotable_units(retrieval), key=lambda each: -each.score)
    found: list[Quote] = []
    for unit in units:
        if unit.score < _LEAST_SHARE * units[0].score or len(found) == _MAX_NEAREST:
            break
        if not holds(found, unit.quote):
            found.append(piece_quote(unit.quote, retrieval, NEAREST_PIECE))
    if found:
        found.sort(key=lambda each: -each.evidence.relevance)
        return tuple(make_citation(number, each) for number, each in enumerate(found, 1))
    trusted = trusted_evidence(retrieval)
    best = sorted(trusted, key=lambda entry: -entry.relevance)[:_MAX_UNRELATED]
    return tuple(make_nearest_citation(number, entry) for number, entry in enumerate(best, 1))


def missing_words(retrieval: Retrieval) -> tuple[str, ...]:
    """Return the words of the question that no passage found has, in order; () without passages."""
    if not retrieval.evidence:
        return ()
    known = frozenset(
        term
        for entry in retrieval.evidence
        for term in terms(f"{entry.chunk.title}\n{entry.chunk.text}")
    )
    return tuple(
        word
        for word in dict.fromkeys(words(retrieval.analysis.text))
        if (own := frozenset(terms(word)) - _QUESTION_WORDS) and known.isdisjoint(own)
    )
