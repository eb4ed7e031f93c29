"""Fences around text that a model reads but must not obey, and removal of chat control tokens from it."""

from lightwell.text.regex import regex

_RUN, _SHORTEST = regex(r"~+"), 3


def neutralize_chat_marks(text: str) -> str:
    """Return the text with the tokens that delimit chat turns (`<|im_end|>`) broken apart."""
    return text.replace("<|", "< |").replace("|>", "| >")


def fence(text: str) -> str:
    """Return the neutralised text between two lines of tildes that are longer than any run of tildes within it."""
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    fence = "~" * max(_SHORTEST, longest + 1)
    return f"{fence}\n{neutralize_chat_marks(text)}\n{fence}"
