"""What a file of source code declares: functions and types with their signatures, what is said of them, and their code."""

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from lightwell.ingest.parse._languages import Language
from lightwell.text.regex import regex

_LONGEST_DECLARATION = 400
_MOST_LINES_OF_SIGNATURE = 12
_DEEPEST = 12
"""Symbols in one another; what is deeper is code."""

_ANNOTATION = regex(r"@(?!interface\b)\w|#!?\[|\[\w|template[ \t]?<")
_CLOSER = regex(
    r"[)\]}{]|(?:catch|done|elif|else|elsif|end|ensure|esac|except|fi|finally|rescue)\b"
)
_PREPROCESSOR = regex(r"#[ \t]{0,9}(?:if|ifdef|ifndef|else|elif|endif|define|undef|pragma|error)\b")
_LICENCE = regex(r"copyright|spdx-license|licensed under|all rights reserved", re.I)
_STARS = regex(r"^(?:///?!?|/\*+!?|\*/|\*|#+|--+|<#|#>|;+)[ \t]?")
_RECEIVER = regex(r"[\w$]+")

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, kw_only=True)
class Symbol:
    """A declaration, or the file itself, which has no name; `code` are lines that belong to no symbol below it."""

    name: str = ""
    indent: int = -1
    is_container: bool = True
    signature: list[str] = field(default_factory=list[str])
    doc: list[str] = field(default_factory=list[str])
    code: list[str] = field(default_factory=list[str])
    symbols: list["Symbol"] = field(default_factory=list["Symbol"])


# ── Python, by its own parser, which runs nothing ──────────────────────────────────────────────────


def read_python(text: str) -> Symbol | None:
    """Return the file, None where it is not in this version of Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = text.split("\n")
    root = Symbol()
    _fill(root, module, lines, (1, len(lines)))
    return root


def _fill(
    symbol: Symbol, node: ast.Module | Definition, lines: Sequence[str], span: tuple[int, int]
) -> None:
    """Add what stands in a body between two lines, counted from one."""
    place, last = span
    doc = ast.get_docstring(node)
    if doc is not None:
        symbol.doc += doc.split("\n")
        above = lines[place - 1 : node.body[0].lineno - 1]
        symbol.code += [] if _LICENCE.search("\n".join(above)) else above
        place = (node.body[0].end_lineno or place) + 1
    for statement in node.body if symbol.is_container else ():
        first = min([statement.lineno, *(word.lineno for word in _decorators(statement))])
        if isinstance(statement, Definition) and first >= place:
            remarks = _count_comments(lines, place, first)
            symbol.code += lines[place - 1 : first - remarks - 1]
            symbol.symbols.append(_define(statement, lines, (first, remarks)))
            place = (statement.end_lineno or first) + 1
    symbol.code += lines[place - 1 : last]


def _define(node: Definition, lines: Sequence[str], begin: tuple[int, int]) -> Symbol:
    first, remarks = begin
    body = node.body[0].lineno
    symbol = Symbol(name=node.name, is_container=isinstance(node, ast.ClassDef))
    symbol.doc += [line.strip().lstrip("# ") for line in lines[first - remarks - 1 : first - 1]]
    head = lines[first - 1 : max(body - 1, node.lineno)]
    symbol.signature += _signature([line.partition("  #")[0] for line in head])
    _fill(symbol, node, lines, (max(body, node.lineno + 1), node.end_lineno or body))
    return symbol


def _decorators(statement: ast.stmt) -> Sequence[ast.expr]:
    return statement.decorator_list if isinstance(statement, Definition) else ()


def _count_comments(lines: Sequence[str], place: int, first: int) -> int:
    """Return how many lines of comments stand right above a definition."""
    count = 0
    while first - count - 2 >= place - 1 and lines[first - count - 2].lstrip().startswith("#"):
        count += 1
    return count


# ── other languages, by lines ──────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Scanner:
    """Reads lines: what is indented further than a declaration belongs to it. `lead` is what stands above the next line."""

    language: Language
    lines: Sequence[str]
    root: Symbol = field(default_factory=Symbol)
    stack: list[Symbol] = field(default_factory=list[Symbol])
    remarks: list[str] = field(default_factory=list[str])
    annotations: list[str] = field(default_factory=list[str])
    is_beginning: bool = True

    def read(self) -> Symbol:
        self.stack = [self.root]
        place = 0
        while place < len(self.lines):
            place += self._count_remarks(place) or self._read_line(place)
        self._end_lead()
        return self.root

    def _count_remarks(self, place: int) -> int:
        """Take the comment that begins in a line, and return how many lines it has."""
        bare = self.lines[place].strip()
        if _ANNOTATION.match(bare):
            self.annotations.append(self.lines[place])
            return 1
        if place == 0 and bare.startswith("#!"):
            return 1
        if bare.startswith(self.language.opens):
            count, rest = 1, bare[len(self.language.opens) :]
            while self.language.closes not in rest and place + count < len(self.lines):
                rest = self.lines[place + count]
                count += 1
        else:
            count = sum(1 for _ in takewhile(self._is_remark, range(place, len(self.lines))))
        block = self.lines[place : place + count]
        if not (self.is_beginning and _LICENCE.search("\n".join(block))):
            self.remarks += block
        return count

    def _is_remark(self, place: int) -> bool:
        bare = self.lines[place].strip()
        return bare.startswith(self.language.lines) and not _ANNOTATION.match(bare)

    def _read_line(self, place: int) -> int:
        line = self.lines[place]
        bare = line.strip()
        if not bare:
            self._end_lead()
            self.stack[-1].code.append("")
            return 1
        indent = len(line) - len(line.lstrip())
        match = self.language.declaration.match(line[:_LONGEST_DECLARATION])
        is_closer = match is None and _CLOSER.match(bare) is not None
        if not _PREPROCESSOR.match(bare):
            while self.stack[-1].indent >= indent + is_closer:
                self.stack.pop()
        is_hidden = not self.stack[-1].is_container or len(self.stack) > _DEEPEST
        if match is None or is_hidden:
            self._end_lead()
            self.is_beginning = False
            self.stack[-1].code.append(line)
            return 1
        parts = match.groupdict()
        kind = (parts.get("kind") or "").lower()
        count = 1 if kind == "table" else _count_signature(self.lines, place)
        name = next(filter(None, (parts.get(key) for key in ("name", "typed", "assigned"))), "")
        receiver = _RECEIVER.findall(parts.get("receiver") or "")
        symbol = Symbol(
            name=".".join([*receiver[-1:], name.strip("`")]),
            indent=indent,
            is_container=kind in self.language.containers,
            signature=_signature([*self.annotations, *self.lines[place : place + count]]),
            doc=_words(self.remarks),
        )
        self.is_beginning = False
        self.stack[-1].symbols.append(symbol)
        self.stack.append(symbol)
        self.remarks, self.annotations = [], []
        return count

    def _end_lead(self) -> None:
        """Keep comments that stand above no declaration: the first of a file says what it is about, others are code."""
        if self.remarks and self.is_beginning:
            self.root.doc += _words(self.remarks)
            self.is_beginning = False
        else:
            self.stack[-1].code += self.remarks
        self.stack[-1].code += self.annotations
        self.remarks, self.annotations = [], []


def _count_signature(lines: Sequence[str], place: int) -> int:
    """Return how many lines a signature has: up to the parenthesis that closes its first one."""
    depth = 0
    for count, line in enumerate(lines[place : place + _MOST_LINES_OF_SIGNATURE], start=1):
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            return count
    return 1


def _signature(lines: Sequence[str]) -> list[str]:
    """Return a signature as one line, with a line for each annotation above it."""
    above = [line.strip() for line in lines[:-1] if _ANNOTATION.match(line.strip())]
    rest = [line for line in lines if line.strip() not in above]
    joined = " ".join(" ".join(rest).split()).replace("( ", "(").replace(", )", ")")
    return [*above, joined.rstrip("({: ")]


def _words(remarks: Sequence[str]) -> list[str]:
    """Return what comments say, without their signs."""
    bare = (line.strip() for line in remarks)
    ended = (line[:-2].rstrip("* ") if line.endswith("*/") else line for line in bare)
    return [_STARS.sub("", line, count=1) for line in ended]
