"""Text that people see as it is: nothing in it controls a terminal or a chat, turns the direction of what follows, or is there unseen."""

from lightwell.text.regex import regex

_UNSEEN = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"  # controls, and halves of characters
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]"
)
"""Joiners of emoji and of some scripts are not among them, nor what chooses the look of a letter."""


def clean(text: str) -> str:
    """Return the text without control characters (except line breaks and tabs), direction marks, surrogates and what nobody sees."""
    return _UNSEEN.sub("", text)
