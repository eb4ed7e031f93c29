"""Programming languages, as far as their declarations and comments are known by lines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from lightwell.text.regex import regex

_MODIFIERS = (
    "abstract|annotation|async|case|companion|const|constexpr|convenience|create|data|declare|default|export|extern|file|fileprivate"
    "|final|friend|global|implicit|inline|inner|internal|lazy|local|mutating|new|open|operator|or replace|override|partial|private"
    "|protected|pub|pub\\(\\w{1,20}\\)|public|readonly|required|sealed|static|suspend|temp|temporary|typedef|unique|unsafe|value|virtual"
)
_CONTROL = (
    "assert|await|case|catch|delete|do|else|elif|except|finally|for|foreach|function|go|if|import|in|lock|new|package|return|select"
    "|switch|throw|try|typeof|until|using|when|while|with|yield"
)
_NAME = r"[\w$.:`~!?]{1,100}+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How a language is read: `containers` hold declarations, others hide what is in them.

    `opens` and `closes` are of comments of several lines, `lines` of single ones; `assigned` functions are values of names.
    """

    declaration: re.Pattern[str]
    containers: frozenset[str]
    lines: tuple[str, ...]
    opens: str
    closes: str


def _language(
    containers: str,
    functions: str,
    *,
    lines: str = "//",
    block: tuple[str, str] = ("/*", "*/"),
    more: str = "",
) -> Language:
    """Return a language by its words that declare, and by another pattern of declarations."""
    words = "|".join(sorted(map(re.escape, f"{containers} {functions}".split())))
    pattern = (
        rf"[ \t]{{0,80}}+(?:(?:{_MODIFIERS})[ \t]{{1,9}}+){{0,6}}+(?P<kind>{words})(?:<[^<>\n]{{0,100}}>)?(?![\w(.=])[ \t]{{0,9}}"
        rf"(?:if not exists[ \t]{{1,9}})?(?:\((?P<receiver>[^()\n]{{0,100}})\)[ \t]{{0,9}})?(?P<name>{_NAME}(?:[ ]for[ ]{_NAME})?)"
    )
    return Language(
        declaration=regex(
            f"(?:{pattern}{more and '|'}{more})", re.I if containers == "schema" else 0
        ),
        containers=frozenset(containers.split()),
        lines=tuple(lines.split()),
        opens=block[0],
        closes=block[1],
    )


_TYPED = (
    rf"[ \t]{{0,80}}+(?!(?:{_CONTROL})\b)(?:[\w<>\[\],.?*&:~@]{{1,100}}[ \t]{{1,9}}){{0,8}}[*&]{{0,3}}"
    r"(?P<typed>[\w~$#]{1,100}(?:::[\w~]{1,100})?)[ \t]?\([^;]{0,400}$"
)
"""A function that begins with its type, as in C; a call ends with a semicolon."""

_BRACED = (
    rf"[ \t]{{0,80}}+(?!(?:{_CONTROL})\b)(?:(?:async|get|set|static|public|private|protected|override|readonly)[ \t]{{1,9}}|\*){{0,4}}"
    r"(?P<typed>[\w$#:-]{1,100})(?:<[^<>\n]{0,100}>)?[ \t]?\((?:(?!=>|\bfunction\b)[^;]){0,400}\{[ \t]{0,9}$"
)
_ARROW = (
    r"[ \t]{0,80}+(?:export[ \t]{1,9})?(?:default[ \t]{1,9})?(?:const|let|var)[ \t]{1,9}(?P<assigned>[\w$]{1,100})[^=\n]{0,200}=[ \t]{0,9}"
    r"(?:async\b|function\b|\(|[\w$]{1,100}[ \t]{0,9}=>)"
)
_ASSIGNED = r"[ \t]{0,80}+(?P<assigned>[\w.]{1,100})[ \t]{0,9}(?:<-|=)[ \t]{0,9}function\b"
_BEGIN, _NO_BLOCK = ("=begin", "=end"), ("\0", "\0")

PYTHON = _language("class", "def", lines="#", block=('"""', '"""'))

_C_LIKE = _language("class enum namespace struct union", "#define", more=_TYPED)
_JAVA_LIKE = _language("@interface class enum interface namespace record struct", "", more=_TYPED)
_TYPESCRIPT = _language(
    "class enum interface module namespace", "function function* type", more=f"{_BRACED}|{_ARROW}"
)
_KOTLIN_LIKE = _language(
    "actor class enum extension interface object package protocol struct trait",
    "def fun func given init subscript typealias",
)
_RUBY_LIKE = _language("class module package", "def macro sub", lines="#", block=_BEGIN)
_SHELL = _language("", "function", lines="#", block=_NO_BLOCK, more=_BRACED)

LANGUAGES: Mapping[str, Language] = {
    extension: language
    for extensions, language in (
        (".py .pyi", PYTHON),
        (".js .mjs .cjs .jsx .ts .mts .cts .tsx", _TYPESCRIPT),
        (".go", _language("type", "func")),
        (".rs", _language("enum impl mod struct trait union", "fn macro_rules! type")),
        (".java .cs .groovy .dart", _JAVA_LIKE),
        (".kt .kts .scala .swift", _KOTLIN_LIKE),
        (".c .h .cc .cpp .cxx .hh .hpp .hxx", _C_LIKE),
        (".rb .pl .pm", _RUBY_LIKE),
        (".php", _language("class enum interface namespace trait", "function", lines="// #")),
        (
            ".ex .exs",
            _language(
                "defimpl defmodule defprotocol", "def defmacro defp", lines="#", block=_BEGIN
            ),
        ),
        (".jl", _language("module struct", "function macro", lines="#", block=("#=", "=#"))),
        (".lua", _language("", "function", lines="--", block=("--[[", "]]"))),
        (".r", _language("", "function", lines="#", block=_NO_BLOCK, more=_ASSIGNED)),
        (".sh .bash .zsh .ksh", _SHELL),
        (".ps1 .psm1", _language("class", "filter function", lines="#", block=("<#", "#>"))),
        (
            ".sql",
            _language(
                "schema", "function index policy procedure table trigger type view", lines="--"
            ),
        ),
        (".proto", _language("enum message service", "rpc")),
        (".graphql .gql", _language("enum input interface type union", "directive", lines="#")),
    )
    for extension in extensions.split()
}
"""Languages by extensions of files."""


def language_of(name: str) -> Language:
    """Return the language of a file by its extension, and one that looks like C for another."""
    return LANGUAGES.get(PurePosixPath(name).suffix.lower(), _C_LIKE)
