"""Text that a model is shown and must not obey: fenced, and without signs that end its turn."""

import re

_RUN, _SHORTEST = re.compile(r"~+"), 3


def neutralize_chat_marks(text: str) -> str:
    """Return the text with the signs by which servers mark turns (`<|im_end|>`) taken apart."""
    return text.replace("<|", "< |").replace("|>", "| >")


def fence(text: str) -> str:
    """Return the harmless text between two lines of tildes, longer than any run of tildes within it."""
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    fence = "~" * max(_SHORTEST, longest + 1)
    return f"{fence}\n{neutralize_chat_marks(text)}\n{fence}"
