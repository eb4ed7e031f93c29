"""The rule that decides whether an answer is right, from its text alone.

An answer is right where it has citations and each group of expected words is found in it by at least one of its alternatives. Case,
runs of white space, the marks `*`, `_` and backquote, and the form of quotation marks do not count. Half of what was asked is wrong.
"""

from collections.abc import Sequence

from lightwell.domain.answers import Answer

AnswerGroup = tuple[str, ...]
"""Alternatives; an answer must contain one of them."""

_FORMS = str.maketrans(
    {
        **dict.fromkeys("*_`", ""),
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("“”„‟", '"'),
    }
)


def normalize(text: str) -> str:
    """Return the text in the form that the rule compares."""
    return " ".join(text.translate(_FORMS).casefold().split())


def missing_groups(groups: Sequence[AnswerGroup], text: str) -> tuple[AnswerGroup, ...]:
    """Return the groups of which the text contains no alternative, in order."""
    normalized = normalize(text)
    return tuple(
        group for group in groups if not any(normalize(words) in normalized for words in group)
    )


def holds_answer(groups: Sequence[AnswerGroup], text: str) -> bool:
    """Return whether the text contains the whole answer; false if no answer is expected."""
    return bool(groups) and not missing_groups(groups, text)


def is_right(groups: Sequence[AnswerGroup], answer: Answer) -> bool:
    """Return whether the answer is right by the rule above."""
    return bool(answer.citations) and holds_answer(groups, answer.whole_text)
