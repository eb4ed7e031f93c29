"""Markdown and HTML as people read it: words without link targets, tags and marks."""

import html
import re
from collections.abc import Iterator

from lightwell.text.directives import lead_in, read_alerts, read_directive
from lightwell.text.regex import regex

_COMMENT = regex(r"<!--(?:[^-]|-(?!->))*+(?:-->|$)|\{/\*(?:[^*]|\*(?!/)){0,2000}+\*/\}")
"""A comment of HTML or MDX."""
_TAG = regex(
    r"</?(?:a|abbr|article|aside|audio|b|blockquote|br|button|caption|center|cite|code|col|colgroup|dd|del|details|div|dl|dt|em"
    r"|embed|figcaption|figure|font|footer|h[1-6]|header|hr|i|iframe|img|input|ins|kbd|label|li|main|mark|math|nav|ol|p|picture|pre"
    r"|q|s|script|section|small|source|span|strong|style|sub|summary|sup|svg|table|tbody|td|textarea|tfoot|th|thead|tr|u|ul|video)"
    r"(?:[\s/][^<>]{0,2000})?>"
    r"|<[a-z][\w:.-]{0,40}[\s/][^<>]{0,2000}?(?<![\w-])(?:on[a-z]{1,30}|src|srcset|href|data|action|style)\s{0,9}=[^<>]{0,2000}>",
    re.IGNORECASE,
)
"""Tags of HTML, and whatever else would load, link or run something; other words in angle brackets are placeholders or code."""
_COMPONENT = regex(
    r"</?[A-Z][a-z][\w.]{0,60}+(?:\s++[:@#]?+[\w.:-]{1,60}+(?:=(?:\"[^\"<>]{0,500}+\"|\{[^{}<>]{0,500}+\}))?+)*+\s*+/>"
    r"|<[A-Z][a-z][\w.]{0,60}+(?:\s++[:@#]?+[\w.:-]{1,60}+=(?:\"[^\"<>]{0,500}+\"|\{[^{}<>]{0,500}+\}))++\s*+>"
    r"|</[A-Z][a-z][\w.]{0,60}+>|^[ \t]*+<[A-Z][a-z][\w.]{0,60}+>[ \t]*+$",
    re.MULTILINE,
)
"""A component of Vue or MDX; a placeholder such as `<Name>` within a line is none."""
_LABEL_OF_COMPONENT = regex(r"\s(?:label|title|summary)=\"([^\"<>]{1,200}+)\"")
_TEMPLATE_TAG = regex(
    r"`[^`\n]{1,300}+`"
    r"|\{%[-+]?\s{0,9}+(/?[a-z_][\w-]{0,60}+)([^%{}\n]{0,500}+)%\}"
    r"|\{\{[<%]\s{0,9}+(/?[a-z_][\w-]{0,60}+)([^<>%{}\n]{0,500}+)[>%]\}\}"
)
"""A tag of Liquid or Jinja, or a shortcode of Hugo; code between backquotes is matched first, and so kept."""
_STATEMENTS = frozenset(
    "assign block capture case elif else elsif extends for from if import include load macro render set static unless url when with".split()
)
"""Tags of which nothing is text."""
_VALUE = regex(r"(?:([\w-]{1,40})\s{0,3}=\s{0,3})?(?:\"([^\"]{1,200})\"|'([^']{1,200})')")
_READ = frozenset({"", "alt", "caption", "label", "name", "text", "title"})
"""Attributes of tags that people read; "" for a value alone."""
_PATH = regex(r"/|\.\w{1,5}$")
_BEGINS_MARKUP = regex(r"<(?=[A-Za-z/!?])|\](?=[(\[:])|!(?=\[)")
_LINKED = regex(r"//|@|www\.|[^\s.]\.[^\W\d_]{2}", re.IGNORECASE)
AROUND_ADDRESSES = "()[]<>{}\"'“”‘’«»*_~`.,;:!?…"
_LABEL = regex(r"(!?)(?<!\\)\[([^\[\]\n]{0,500}+(?:\n[^\[\]\n]{1,500}+){0,3}+)(?<!\\)\]")
_REFERENCE = regex(r"\[[^\[\]\n]{0,200}\]")
_PARENTHESIS = regex(r"[()\[\n]")
_NAME = regex(r"(?:\ufdd0|[^\W\d_](?=.*[a-z])).{2,}", re.DOTALL)
_LONGEST_TARGET = 4000
_ADDRESS = regex(r"<((?:https?://|mailto:)[^\s<>]{1,2000})>")
_ATTRIBUTES = regex(
    r"`[^`\n]{1,300}+`"
    r"|(?P<marks>\{(?:[ ]?[:#.][\w\s.#:=\"'%;-]{0,200}|data-[\w-]{1,40}+|[ ]?[\w-]{1,40}+=[^{}\n]{0,200}+)\})"
)
"""Attributes as Kramdown, Pandoc, MkDocs and VitePress write them; code between backquotes is matched first, and so kept."""
_PILCROW = regex(r"¶")
_ESCAPE = regex(r"\\([!-/:-@\[-`{-~])")
_HEADING = regex(r"^[ \t]*+#{1,6}[ \t]++|(?<![ \t])[ \t]++#++[ \t]*+$", re.MULTILINE)
_FIELD = regex(r"^[ \t]*+:([^\W\d_][\w -]{0,40}+):(?=[ \t]++\S)", re.MULTILINE)
"""The name of a field of reStructuredText."""
_QUOTING = regex(r"^[ \t]*+(?:>[ \t]?+)++", re.MULTILINE)
_BULLET = regex(r"^(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_STARS = regex(r"(?<![^\W_])(?<!\*)(\*{1,3})(?=[^\s*])(.{1,300}?)(?<=[^\s*])\1(?![^\W_]|\*)")
_LINES = regex(r"(?<![\w/\\])(_{1,3})(?=[^\s_])(.{1,300}?)(?<=[^\s_])\1(?![\w/]|\.\w)")
_CODE = regex(r"(?<!`)(`{1,3}+)([^`]{1,300}+)\1(?!`)")
_MASKED = regex("\ufdd0(\\d{1,6})\ufdd1")
"""The place of code; no reference such as `&#xe000;` stands for one of these two signs, which are no characters."""
_ROLE = regex(
    r"(?::[a-z][\w:+.-]{0,60}+(?<=:)|\{[a-z][\w:+.-]{0,60}+\})`([^`<>]{1,300}+)(?:<[^<>`]{1,300}+>)?+`_{0,2}+"
)
_FOOTNOTE = regex(r"\[\^[^\[\]\s]{1,60}+\]:?+")
_EMBEDDED = regex(r"!\[\[[^\[\]\n]{1,300}+\]\]")
_MARKED = regex(r"(?<![=\w])==(?=[^\s=])([^=\n]{1,300})(?<=\S)==(?![=\w])")
_DEFINED = regex(r"(?<=\S)[ \t]*+\n[ ]{0,3}:[ \t]++(?=\S)")
"""Between a term and its definition, as Pandoc and PHP Markdown Extra write them."""
_WIKI_LINK = regex(r"(?<!\[)\[\[(?![\s\[])(?:[^\[\]|\n]{1,200}+\|)?+([^\[\]|\n]{1,200}+)\]\]")
_ICON = regex(r"(?<![\w:]):[a-z]{1,30}+(?:[-_][a-z\d]{1,30}+){1,9}+:(?![\w:`])")
_CUT_LINK = regex(
    r"\]\((?=\S)[^()\s\[\]]{0,2000}+(?:\)|$)"
    r"|(?<![^\s(*_])!?\[(?=[^\W\d_][^\[\]]{0,600}+(?:$|\]\([^()\s]{0,2000}+$))"
)
"""What is left of a link that the end of a page or of a piece has cut."""


def strip_tags(text: str) -> str:
    """Return the text without HTML tags, components, comments and attributes; what stands in angle brackets otherwise stays.

    Of the tags of site generators, such as `{% channel "help-desk" %}`, only values that people read stay: those without a name, titles
    and labels, but no paths.
    """
    untagged = _TAG.sub(" ", _COMMENT.sub(" ", _TEMPLATE_TAG.sub(_read_tag, text)))
    bare = _COMPONENT.sub(_read_component, untagged) if "<" in untagged else untagged
    return _ATTRIBUTES.sub(_keep_code, bare) if "{" in bare else bare


def _keep_code(match: re.Match[str]) -> str:
    return "" if match["marks"] else match[0]


def _read_component(match: re.Match[str]) -> str:
    """Return the label of a component, such as a tab; it leads to what is in it."""
    label = _LABEL_OF_COMPONENT.search(match[0])
    if label is None:
        return " "
    return f" {label[1]} " if match[0].rstrip().endswith("/>") else f" {lead_in(label[1])} "


def _read_tag(match: re.Match[str]) -> str:
    name = match[1] or match[3]
    if not name:
        return match[0]
    if name in _STATEMENTS:
        return " "
    values = [
        double or single
        for key, double, single in _VALUE.findall(match[2] or match[4] or "")
        if key in _READ and not _PATH.search(double or single)
    ]
    text, start, end = match.string, match.start(), match.end()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    left = " " if before.isalnum() or before in "}>" else ""
    right = " " if after.isalnum() or after in "{<" else ""
    return f"{left}{' '.join(values)}{right}"


def strip_markup(text: str) -> str:
    """Return the words of a block on one line: links without targets; no images, tags, anchors, heading marks, emphasis.

    What stands between backquotes stays as it is. Of a directive, its title is read.
    """
    title = read_directive(text)
    text = text if title is None else title
    codes: list[str] = []

    def mask(match: re.Match[str]) -> str:
        codes.append(" ".join(match[2].split()))
        return f"\ufdd0{len(codes) - 1}\ufdd1"

    masked = text
    if "`" in text and "\ufdd0" not in text:
        masked = _CODE.sub(mask, _ROLE.sub(_read_role, text))
    bare = _PILCROW.sub("", _without_brackets(_ADDRESS.sub(r"\1", strip_tags(masked))))
    bare = _DEFINED.sub(": ", bare) if "\n" in bare else bare
    unmarked = _FIELD.sub(r"\1:", _HEADING.sub("", read_alerts(_QUOTING.sub("", bare))))
    words = " ".join(html.unescape(_ESCAPE.sub(r"\1", unmarked.replace("\\\n", "\n"))).split())
    marked = _MARKED.sub(r"\1", words) if "==" in words else words
    plain = _LINES.sub(r"\2", _STARS.sub(r"\2", marked))
    return _MASKED.sub(lambda match: f"`{codes[int(match[1])]}`", plain) if codes else plain


def _read_role(match: re.Match[str]) -> str:
    return match[1].strip().removeprefix("!").removeprefix("~")


def _without_brackets(text: str) -> str:
    """Return the text with links, references and icons as the words that people read, also where a link was cut."""
    if ":" in text:
        text = _ICON.sub("", text)
    if "]" not in text and "[" not in text:
        return text
    linked = _strip_links(_FOOTNOTE.sub("", _WIKI_LINK.sub(r"\1", _EMBEDDED.sub("", text))))
    return _CUT_LINK.sub("", linked)


def strip_active_markup(text: str) -> str:
    """Return what a model wrote as text that no renderer of markdown or HTML loads, runs or links anything for.

    Images and tags go, a link leaves its words. Where markup could begin all the same, a blank breaks it: so texts that are
    joined with a blank make none either.
    """
    return _BEGINS_MARKUP.sub(r"\g<0> ", _strip_links(_TAG.sub(" ", _COMMENT.sub(" ", text))))


def is_address(word: str) -> bool:
    """Return whether programs may make a link of a word in bare text: a URL, a host, an e-mail address; many names of files, too."""
    return _LINKED.search(word) is not None


def find_addresses(text: str) -> list[str]:
    """Return the addresses in a text, without the signs around them."""
    return [word.strip(AROUND_ADDRESSES) for word in text.split() if is_address(word)]


def strip_bullet(text: str) -> str:
    """Return a list item without its bullet or number, and without its box."""
    return _BULLET.sub("", text)


def find_links(text: str) -> list[tuple[int, int]]:
    """Return where links and images stand, in order, each as (start, end)."""
    return [(label.start(), end) for label, end in _labels(text) if end > label.end()]


def _strip_links(text: str) -> str:
    """Return the text with its links' words for the links, and without images; a link around an image goes with it."""
    kept: list[str] = []
    place = 0
    for match, end in _labels(text):
        is_link = end > match.end() or (
            _NAME.fullmatch(match[2]) is not None and not _is_glued(text, match.start())
        )
        label = "" if match[1] and end > match.end() else match[2]
        kept += [text[place : match.start()], label if is_link else match[0]]
        place = end
    return "".join((*kept, text[place:]))


def _is_glued(text: str, place: int) -> bool:
    """Return whether a bracket follows a word at once: of code, as in `list[float]` and `lightwell[ocr]`, and of no link."""
    before = text[place - 1 : place] if place else ""
    return before == "_" or (before.isascii() and before.isalnum())


def _labels(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield what stands in brackets, with where its target ends; where it ends itself, it has none."""
    place = 0
    while match := _LABEL.search(text, place):
        place = _target_end(text, match.end())
        yield match, place


def _target_end(text: str, place: int) -> int:
    """Return where the target of a link ends whose label ends at a place; that place where it has none."""
    if reference := _REFERENCE.match(text, place):
        return reference.end()
    if not text.startswith("(", place):
        return place
    depth = 0
    for match in _PARENTHESIS.finditer(text, place, place + _LONGEST_TARGET):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
        if match[0] in "[\n":
            break
    return place
