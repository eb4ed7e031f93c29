"""What people type in Slack, as plain text; and which words are a command, since Slack keeps `/brief` for itself."""

from lightwell.text.regex import regex

_REFERENCE = regex(r"<([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

COMMANDS = frozenset("brief help link links new promises search start status unlink".split())
"""Words that are a command where nothing is written beside them: "New customers?" is a question."""

WITH_WORDS = frozenset("brief link links promises search".split())
"""Words that are a command also where others follow them that do not end with a question mark."""


def plain(text: str, bot: str = "") -> str:
    """Return what was typed: without the mention of the bot, links as their words, and `&lt;`, `&gt;` and `&amp;` as characters."""
    words = _REFERENCE.sub(lambda match: _words_of(match[1], match[2] or "", bot), text)
    for escape, character in _ESCAPES:
        words = words.replace(escape, character)
    return words.strip()


def escaped(text: str) -> str:
    """Return text that Slack shows as it is: nothing in it is a mention or a link."""
    for escape, character in reversed(_ESCAPES):
        text = text.replace(character, escape)
    return text


def as_typed(words: str) -> str:
    """Return a command with its slash: `brief Nordwind` is `/brief Nordwind`. Nothing at all asks for help."""
    first, _, rest = words.strip().partition(" ")
    name, rest = first.casefold(), rest.strip()
    if not name:
        return "/help"
    if name in (WITH_WORDS if rest else COMMANDS) and not rest.endswith("?"):
        return f"/{name} {rest}".rstrip()
    return words.strip()


def _words_of(target: str, label: str, bot: str) -> str:
    if target == f"@{bot}":
        return " "
    if target[0] in "@#!":  # a person, a channel, a group or everybody
        sign = "#" if target[0] == "#" else "@"
        return sign + (label or target[1:]).removeprefix(sign)
    return label or target.removeprefix("mailto:")
