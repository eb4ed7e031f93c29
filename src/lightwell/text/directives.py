"""Lines by which site generators set a part of a page apart: admonitions, tabs, containers. Their titles are words, their marks are not."""

from lightwell.text.regex import regex

_DIRECTIVE = regex(
    r"[ \t]*+(?:>[ \t]?+){0,9}"
    r"(?::{3,}+|!{3}\+?+|\?{3}\+?+|={3}[!+]?+(?=[ \t]++[\"'])|(?:`{3,}+|~{3,}+)(?=\{))"
    r"[ \t]*+(?P<name>\{[^{}\n]{0,200}\}|[\w:+.-]{0,60}+)(?P<rest>[^\n]{0,300}+)\n?+"
)
_ALERT = regex(r"\[!([\w-]{1,40}+)\][+-]?+[ \t]*+([^\n]{0,300}+)")
_ATTRIBUTES = regex(r"\{[^{}\n]{0,200}\}")
_TITLE = regex(r"\[([^\[\]\n]{1,200}+)\]|\"([^\"\n]{1,200}+)\"|'([^'\n]{1,200}+)'")
_PATH = regex(r"[^\s/\\=]*+[/\\=]\S*+|[\w.-]++\.\w{1,5}")

ASIDES = frozenset(
    "abstract attention bug caution danger error example fail failure hint important info information note question quote seealso"
    " success summary tip todo warning".split()
)
"""Names of directives that say what the text below is."""
_CONTAINERS = frozenset(
    "admonition card details dropdown epigraph grid-item-card sidebar tab tab-item topic".split()
)
"""Directives whose argument is the title of the text below."""
_PROSE = ASIDES | _CONTAINERS | frozenset(("grid", "grid-item", "margin", "tab-set", "tabs"))
_ENDS = ("", ".", "!", "?", ":", "…")


def read_directive(line: str) -> str | None:
    """Return what people read of a line that is a directive: its title, or what it is, with a colon, "" for nothing; None for any other line.

    `::: warning`, `!!! note "Title"`, `=== "Linux"`, `:::{tip}` and a fence such as `{note}` are directives.
    """
    span = find_title(line)
    if span is None:
        return None
    return lead_in(name_aside(line[slice(*span)].rstrip(": ")))


def lead_in(words: str) -> str:
    """Return words that stand above a text with a colon, where they end with no sign of their own; "" for none."""
    return words if words[-1:] in _ENDS else f"{words}:"


def name_aside(name: str) -> str:
    """Return the name of a directive, or its title, as the words above a text."""
    words = "see also" if name.casefold() == "seealso" else name
    return words[:1].upper() + words[1:]


def find_title(line: str) -> tuple[int, int] | None:
    """Return where in a directive the words stand that are its title, or its name; (0, 0) for none, and None for any other line."""
    match = _DIRECTIVE.fullmatch(line)
    if match is None:
        return None
    name = match["name"].strip("{}").casefold()
    if titled := _TITLE.search(match["rest"]):
        return match.start("rest") + titled.start() + 1, match.start("rest") + titled.end() - 1
    title = _ATTRIBUTES.split(match["rest"], maxsplit=1)[0]
    is_bare = line.lstrip("> \t")[0] in "!?"  # what follows is classes
    if not is_bare and name in _PROSE and title.strip() and not _PATH.fullmatch(title.strip()):
        start = match.start("rest") + len(title) - len(title.lstrip())
        return start, start + len(title.strip())
    if name not in ASIDES:
        return 0, 0
    start = line.casefold().index(name, match.start("name"))
    return start, start + len(name)


def read_alerts(text: str) -> str:
    """Return a quotation in which `[!NOTE]` at its beginning, as GitHub and Obsidian write it, is read as a word."""
    match = _ALERT.match(text)
    return f"{match[2] or match[1].capitalize()}: {text[match.end() :].lstrip()}" if match else text


def holds_prose(fence: str) -> bool:
    """Return whether a line that opens a fence, as ```` ```{note} ````, opens text instead of code."""
    match = _DIRECTIVE.fullmatch(fence)
    return match is not None and match["name"].strip("{}").casefold() in _PROSE
