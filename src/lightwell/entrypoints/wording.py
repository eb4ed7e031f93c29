"""What is said around answers, briefs and passages: every door that shows text says it in these words."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lightwell.domain.answers import Confidence, StepKind

if TYPE_CHECKING:
    from lightwell.domain import answers, graph_views, questions
    from lightwell.entrypoints.operations import citations
    from lightwell.entrypoints.operations import questions as replies

SUPPLIED_BY_HAND = "passage supplied by hand, not read from its source"
DESCRIBED_BY_HAND = "written by a person, not taken from a document"
NO_PASSAGE = "No passage that you may see is relevant to this question."
BELOW_THRESHOLD = "None of these passages reaches the threshold of 0.60 for an answer."

ABOUT, LATELY, OPEN, PEOPLE, LINKS = "What it is", "Lately", "Open", "People", "Linked to"
"""The parts of a brief."""

_FILTER_WORDS: Final[Mapping[str, str]] = {
    "author": "by {}",
    "since": "since {}",
    "until": "until {}",
}


def confidence_line(confidence: Confidence | None) -> str:
    """Return what is said of an answer's confidence."""
    return f"confidence: {confidence}"


def step_line(step: "answers.Step | replies.StreamStep") -> str:
    """Return on one line what is done before the first sentence."""
    titles = ", ".join(step.titles)
    match step.kind:
        case StepKind.SEARCHING:
            where = f" in {titles}" if titles else ""
            return f"Searching{where}: {step.query}" if step.query else "Searching"
        case StepKind.READING:
            return f"Reading: {titles}"
        case StepKind.CHECKING:
            return f"Checking {step.count} passages"


def filters_line(
    filters: "Sequence[questions.UnderstoodFilter | replies.UnderstoodFilter]",
) -> str:
    """Return the filters that words of the question mean; "" for none."""
    texts = (_FILTER_WORDS.get(chosen.field, "{}").format(chosen.value) for chosen in filters)
    return f"Only: {', '.join(texts)}" if filters else ""


def candidates_line(named: "graph_views.Candidates | citations.AmbiguousName") -> str:
    """Return how many entities a name may mean."""
    if len(named.candidates) > 1:
        return f"{named.name!r} may mean {len(named.candidates)} different entities."
    return f"There is no entity named {named.name!r}. Did you mean this one?"


def passages_of(count: str) -> str:
    """Return `1 passage`, or `2 passages`."""
    return f"{count} passage{'' if count == '1' else 's'}"


def day(moment: datetime | None) -> str:
    """Return a day as it is shown; "" for none."""
    return f"{moment:%Y-%m-%d}" if moment else ""
