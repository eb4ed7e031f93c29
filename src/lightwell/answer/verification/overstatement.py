"""Small words that say more than a source: a bound, a restriction, a cause, a whole or a past that it does not give.

The words stand in `words/`, for English, German and some French.
"""

import re

from lightwell.text.regex import regex
from lightwell.text.word_lists import WordLists, any_of, load_word_lists, whole_words

_NOT_DENIED = r"(?<!not )(?<!not be )(?<!no )(?<!nicht )"
_SIGNS = {"minimum": "[≥>]", "maximum": "[≤<]"}
"""What says a bound without a word."""


def _claims() -> list[tuple[str, str]]:
    """Return for each kind of claim a pattern of what makes it in a statement, and of what may say as much in a source."""
    kinds = dict(load_word_lists("lightwell.answer.verification"))
    numbers = kinds.pop("numbers")
    about = rf"(?:{any_of(numbers['about'])}\s+)?"
    number = rf"(?=\s+{about}(?:[€$£]|\d|{any_of(numbers['words'])})\w*)"
    return [
        (
            _claim(lists, number),
            rf"{whole_words(lists['source'])}|{_SIGNS.get(kind, '(?!)')}",
        )
        for kind, lists in kinds.items()
    ]


def _claim(lists: WordLists, number: str) -> str:
    before = any_of(lists["before_number"]) + number if "before_number" in lists else "(?!)"
    anywhere = any_of(lists["statement"]) if "statement" in lists else "(?!)"
    return rf"{_NOT_DENIED}\b(?:{before}|{anywhere}\b)"


_CLAIMS = [
    (regex(claim, re.IGNORECASE), regex(grounds, re.IGNORECASE)) for claim, grounds in _claims()
]


def is_overstated(statement: str, source: str) -> bool:
    """Return whether a statement has a bound, a restriction, a cause, a whole or a past of which its source says nothing."""
    return any(claim.search(statement) and not grounds.search(source) for claim, grounds in _CLAIMS)
