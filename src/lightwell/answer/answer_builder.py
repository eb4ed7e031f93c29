"""From supported sentences to an answer: citations are numbered as they come; without a sentence the evidence is insufficient."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lightwell.answer.nearest import missing_words, nearest_citations
from lightwell.answer.quotes import SupportedSentence, make_citation
from lightwell.domain.answers import (
    MOST_DOUBTFUL,
    Answer,
    Answered,
    Citation,
    CitedSentence,
    InsufficientEvidence,
    Outcome,
    agreeing_relevance,
)
from lightwell.domain.evidence import Retrieval


@dataclass(slots=True)
class CitationNumbers:
    """Numbers citations from 1 in the order in which they come; each quotation has one number."""

    _by_place: dict[tuple[str, int], Citation] = field(
        default_factory=dict[tuple[str, int], Citation]
    )

    def cite(self, sentence: SupportedSentence) -> CitedSentence:
        """Return the sentence with numbered citations in place of its quotes."""
        for quote in sentence.quotes:
            if quote.place not in self._by_place:
                self._by_place[quote.place] = make_citation(len(self._by_place) + 1, quote)
        citations = dict.fromkeys(self._by_place[quote.place] for quote in sentence.quotes)
        return CitedSentence(
            text=sentence.text,
            citations=tuple(citations),
            context=sentence.context,
            highlight=sentence.highlight,
        )


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

    @property
    def _relevance(self) -> float:
        """That of the evidence and of what systems state."""
        stated = [commitment.evidence.relevance for commitment in self.retrieval.owed or ()]
        return max(self.retrieval.best_relevance, *(() if self.is_empty else stated), 0.0)

    def add(self, sentences: Iterable[SupportedSentence]) -> list[CitedSentence]:
        """Return the sentences with their citations, without those that the answer has already."""
        added: list[CitedSentence] = []
        for sentence in sentences:
            if sentence.text not in self._sentences:
                self._sentences[sentence.text] = self._numbers.cite(sentence)
                added.append(self._sentences[sentence.text])
        return added

    def finish(
        self, author: str | None, *, relevance: float | None = None, remarks: Sequence[str] = ()
    ) -> Answer:
        """Return the answer; `relevance` is that of what is said where nothing has judged it."""
        retrieval = self.retrieval
        relevance = self._relevance if relevance is None else relevance
        outcome: Outcome = (
            InsufficientEvidence(
                nearest=nearest_citations(retrieval), missing_words=missing_words(retrieval)
            )
            if self.is_empty
            else Answered(sentences=tuple(self._sentences.values()))
        )
        return Answer(
            query_id=retrieval.query_id,
            question=retrieval.question.as_read,
            outcome=outcome,
            relevance=agreeing_relevance(
                min(relevance, MOST_DOUBTFUL) if retrieval.is_elsewhere else relevance,
                is_answered=not self.is_empty,
            ),
            author=author,
            metrics=retrieval.metrics,
            context_tokens=self.context_tokens,
            remarks=(*retrieval.notes, *remarks),
            ambiguous_names=retrieval.ambiguous_names,
            filters=retrieval.understood,
        )
