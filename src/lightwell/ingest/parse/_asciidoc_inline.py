"""The text of an AsciiDoc paragraph as Markdown has it: links, code, references; emphasis is written alike."""

import re
from collections.abc import Mapping

from lightwell.text.regex import regex

_LONGEST_VALUE = 200
"""Characters of an attribute that are put in for its name; a longer one stays a name, since each use would be as long."""

_SIGNS: Mapping[str, str] = {
    **{
        "nbsp": " ",
        "sp": " ",
        "empty": "",
        "blank": "",
        "zwsp": "",
        "wj": "",
        "plus": "+",
        "lt": "<",
        "gt": ">",
    },
    **{
        "amp": "&",
        "startsb": "[",
        "endsb": "]",
        "vbar": "|",
        "asterisk": "*",
        "backtick": "`",
        "cpp": "C++",
    },
    **{
        "apos": "'",
        "quot": '"',
        "tilde": "~",
        "caret": "^",
        "deg": "°",
        "ldquo": "“",
        "rdquo": "”",
        "lsquo": "‘",
    },
    **{"rsquo": "’", "backslash": "\\", "two-colons": "::", "two-semicolons": ";;", "brvbar": "¦"},
}
_BRACKETS = r"\[((?:[^\]\\]|\\.){0,300}+)\]"
_PASSED = regex(r"(?:\+{2,3}([^+\n]{1,300}+)\+{2,3}|pass:[a-z,]{0,20}\[([^\]]{0,300}+)\])")
_CODE = regex(
    r"(?<![\w`])(?:``([^`]{1,400}+)``|`([^`]{1,400}+)`)(?![\w`])|\[[.x-]?x-?\]`\+([^+`]{1,300}+)\+`"
)
_MACRO = regex(
    r"(?<![\w\\])(link|xref|mailto|image|icon|footnote|footnoteref|kbd|btn|menu|indexterm2?|anchor|stem|latexmath|asciimath"
    r"|term|ulink):(?!:)([^\s\[\]]{0,500}+)" + _BRACKETS
)
_URL = regex(
    r"(?<![\w(\[:])<?((?:https?|ftp|irc)://[^\s\[\]<>\"`]{1,500}+)(?:" + _BRACKETS + r"|>)?"
)
_REFERENCE = regex(r"<<#?([^<>,]{1,300}+)(?:,([^<>]{0,300}+))?>>")
_ANCHOR = regex(r"\[\[[^\[\]]{1,200}+\]\]|\(\(\([^()]{1,300}+\)\)\)")
_INDEXED = regex(r"\(\(([^()]{1,200}+)\)\)")
_MARKED = regex(r"(?:\[[^\[\]\n]{0,100}+\])?(?<![\w&#])#{1,2}([^\s#][^#\n]{0,200}+)#{1,2}(?![\w#])")
_ROLE = regex(r"\[[.#][\w. -]{1,60}+\](?=[_*`#])")
_LOWERED = regex(r"~([^\s~]{1,40}+)~")
_RAISED = regex(r"\^([^\s^]{1,40}+)\^")
_NAMED = regex(r"(\\?)\{(\w[\w-]{0,80}+)\}")
_CALLED = regex(r"\{(?:set|counter2?):[^{}\n]{0,100}+\}")
_BREAK = regex(r"[ ]\+$", re.M)
_QUOTES = regex(r"\"`([^`\"]{1,400}+)`\"|'`([^`']{1,400}+)`'")
_KEPT = regex("\ue000(\\d{1,6})\ue001")
_OPTION = regex(r",\s{0,3}[a-z]{1,20}=[^,]{0,100}+")
_ESCAPED = regex(r"\\([\]\[<{*_`#])")


def name_value(value: str) -> str | None:
    """Return what stands for an attribute, None where the value is too long for that."""
    return value if len(value) <= _LONGEST_VALUE else None


def fill_in(text: str, attributes: Mapping[str, str]) -> str:
    """Return the text with the values of attributes in place of their names; one that is not set stays a word."""

    def value(match: re.Match[str]) -> str:
        name = match[2]
        if match[1]:
            return match[0][1:]
        return attributes.get(name.lower(), _SIGNS.get(name, name))

    return _NAMED.sub(value, _CALLED.sub("", text)) if "{" in text else text


def to_inline(text: str, attributes: Mapping[str, str]) -> str:
    """Return a paragraph as Markdown."""
    kept: list[str] = []

    def restore(text: str) -> str:
        return _KEPT.sub(lambda match: kept[int(match[1])], text)

    def keep(words: str) -> str:
        kept.append(restore(words))
        return f"\ue000{len(kept) - 1}\ue001"

    def code(match: re.Match[str]) -> str:
        words = match[1] or match[2] or match[3]
        if len(words) > 2 and words[0] == words[-1] == "+":
            return keep(f"`{words[1:-1]}`")
        return keep(f"`{fill_in(words, attributes)}`")

    text = _QUOTES.sub(lambda match: f"“{match[1]}”" if match[1] else f"‘{match[2]}’", text)
    text = _CODE.sub(code, _ROLE.sub("", text))
    text = _PASSED.sub(lambda match: keep(match[1] or match[2] or ""), text)
    text = fill_in(text, attributes)
    text = _URL.sub(lambda match: keep(_link(match[1], match[2] or "")), text)
    text = _MACRO.sub(lambda match: keep(_macro(match[1], match[2], match[3])), text)
    text = _ANCHOR.sub("", _REFERENCE.sub(lambda match: _words_of(match[1], match[2] or ""), text))
    text = _MARKED.sub(r"\1", _INDEXED.sub(r"\1", text))
    text = _RAISED.sub(r"^\1", _LOWERED.sub(r"\1", _BREAK.sub("", text)))
    return restore(_ESCAPED.sub(r"\1", text))


def _link(url: str, words: str) -> str:
    words = _shown(words)
    return f"[{words}]({url})" if words and not set("()") & set(url) else words or url


def _macro(name: str, target: str, words: str) -> str:
    match name:
        case "link" | "ulink" if target.startswith(("http://", "https://")):
            return _link(target, words)
        case "link" | "ulink" | "mailto" | "term":
            return _shown(words) or target
        case "xref":
            return _words_of(target, words)
        case "kbd" | "stem" | "latexmath" | "asciimath":
            return f"`{words}`"
        case "btn":
            return words
        case "indexterm2":
            return words
        case "menu":
            return " > ".join(filter(None, [target, *map(str.strip, words.split(">"))]))
        case "footnote" | "footnoteref":
            return f" ({words})" if words else ""
        case _:
            return ""


def _shown(words: str) -> str:
    """Return the words of a link without its options."""
    return _OPTION.sub("", words).strip().removesuffix("^").strip('"').replace("\\]", "]")


def _words_of(target: str, words: str) -> str:
    """Return the words of a reference, or what its target is called."""
    if shown := _shown(words):
        return shown
    place = target.rpartition("#")[2] or target.rpartition("#")[0]
    last = place.rpartition("/")[2].rpartition(":")[2]
    return last.removesuffix(".adoc").strip("_").replace("_", " ").replace("-", " ")
