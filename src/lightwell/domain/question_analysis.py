"""What rules read in a question, once for all stages."""

from dataclasses import dataclass, replace

from lightwell.domain.keywords import Keywords, rule_keywords
from lightwell.domain.question_names import (
    NameRun,
    capitalized_names,
    find_name_runs,
    proper_name_terms,
)
from lightwell.domain.questions import with_left_out
from lightwell.text.answer_types import (
    ExpectedAnswer,
    asks_what_is_open,
    expected_answer,
    speech_act_terms,
)
from lightwell.text.dates import PartialDate, find_dates
from lightwell.text.injection import asks_for_message_content
from lightwell.text.proper_names import find_names
from lightwell.text.terms import terms


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnalysis:
    """A question's words, taken apart.

    `terms` are distinct and in order. `name_runs` are all that may be names, to look up; `capitalized_names` those that
    are written as names, in order; `proper_name_terms` and `names` are the terms of names, for ranking and for
    verification. `expected` says which types of answer the question asks for, and which figures and dates it contains
    itself; `dates` are those dates as far as they belong to the calendar. `speech_acts` are the words for what the
    question asks whether somebody did in saying, such as promising. `asks_what_is_open` is whether it asks for all that is open with
    what it names. `keywords` are the question's own until a model has
    named others.
    """

    text: str
    terms: tuple[str, ...]
    name_runs: tuple[NameRun, ...]
    capitalized_names: tuple[str, ...]
    proper_name_terms: frozenset[str]
    names: tuple[frozenset[str], ...]
    expected: ExpectedAnswer
    dates: tuple[PartialDate, ...]
    speech_acts: frozenset[str]
    asks_what_is_open: bool
    asks_for_message_content: bool
    keywords: Keywords

    @property
    def candidate_names(self) -> tuple[str, ...]:
        """Every normalised name that the question may contain, each once, the longest first."""
        return tuple(dict.fromkeys(run.name for run in self.name_runs))

    def of_part(self, part: "QuestionAnalysis") -> "QuestionAnalysis":
        """Return the analysis of a part of this question, which alone must not unlock injected instructions: the whole question decides."""
        is_asked = self.asks_for_message_content and part.asks_for_message_content
        return replace(part, asks_for_message_content=is_asked)


def analyze_question(text: str, subject: str = "") -> QuestionAnalysis:
    """Return what the words of a question say, without a model and without a look at any document.

    A follow-up is searched for by the `subject` that it leaves out, too; what is asked for is told by its own words if they tell it.
    """
    if subject:
        alone, whole = analyze_question(text), analyze_question(with_left_out(text, subject))
        return replace(
            alone,
            terms=whole.terms,
            name_runs=whole.name_runs,
            proper_name_terms=whole.proper_name_terms,
            names=whole.names,
            keywords=whole.keywords,
            expected=alone.expected if alone.expected.kinds else whole.expected,
        )
    return QuestionAnalysis(
        text=text,
        terms=tuple(dict.fromkeys(terms(text))),
        name_runs=find_name_runs(text),
        capitalized_names=capitalized_names(text),
        proper_name_terms=proper_name_terms(text),
        names=find_names(text),
        expected=expected_answer(text),
        dates=find_dates(text),
        speech_acts=speech_act_terms(frozenset(terms(text))),
        asks_what_is_open=asks_what_is_open(text),
        asks_for_message_content=asks_for_message_content(text),
        keywords=rule_keywords(text),
    )
