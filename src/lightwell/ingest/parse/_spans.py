"""Finds formulas, and guesses code and tables in formats without markup for them."""

import re
from bisect import bisect
from collections.abc import Callable, Sequence

from lightwell.domain.documents import Span, SpanKind
from lightwell.text.regex import regex

_FORMULA = regex(
    r"""
    (?P<code>(?<!`)(?P<ticks>`{1,3})(?!`)[^`]{1,500}(?P=ticks)(?!`))
    | \$\$ (?: (?!\$\$) . ){1,2000}+ \$\$
    | \\\[ (?: (?!\\[\[\]]) . ){1,2000}+ \\\]
    | \\\( (?: (?!\\[()]|\n\n) . ){1,500}+ \\\)
    | \\begin\{(?P<name>equation|align|gather|multline|eqnarray)\*?\}
      (?: (?!\\(?:begin|end)\{(?P=name)\*?\}) . ){1,4000}+ \\end\{(?P=name)\*?\}
    | (?<![\\$\w]) \$ (?=[^\s$]) (?P<inline>[^$\n]{1,200}) (?<=[^\s\\$]) \$ (?![\d$\w])
    """,
    re.VERBOSE | re.DOTALL,
)
_MATHEMATICAL = regex(r"[\\^_=+<>{}|*/]|^\w{1,3}$")
_CODE_LINE = regex(
    r"""(?:
        \s*(?:def|class|import|from|return|public|private|static|const|let|var|function|func|fn|void|int|\#include|package|use)\b
            .*[(){};:=<>"]
        | .*[;{}]\s*$
        | \s*(?:\$|>>>)\s\S+
        | \s{0,3}(?:```|~~~)
    )""",
    re.VERBOSE,
)


def find_formulas(text: str, code: Sequence[Span] = ()) -> list[Span]:
    """Return the LaTeX formulas outside the given code spans, which must be sorted and must not overlap."""
    if "$" not in text and "\\" not in text:
        return []
    candidates = [
        Span(kind=SpanKind.FORMULA, start=match.start(), end=match.end())
        for match in _FORMULA.finditer(text)
        if match["code"] is None
        and (match["inline"] is None or _MATHEMATICAL.search(match["inline"]))
    ]
    ends = [span.end for span in code]

    def is_outside(span: Span) -> bool:
        following = bisect(ends, span.start)
        return following == len(code) or code[following].start >= span.end

    return list(filter(is_outside, candidates))


def guess_spans(text: str) -> list[Span]:
    """Return the probable code, tables and formulas of plain text."""
    code = _line_runs(text, SpanKind.CODE, lambda line: bool(_CODE_LINE.match(line)), least=3)
    tables = _line_runs(text, SpanKind.TABLE, _is_row, least=2)
    return sort_spans([*code, *tables, *find_formulas(text, code)])


def sort_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the spans by start, longer ones first."""
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _is_row(line: str) -> bool:
    return line.count("|") >= 2 or line.strip().count("\t") >= 1 or line.startswith("+--")


def _line_runs(
    text: str, kind: SpanKind, is_match: Callable[[str], bool], *, least: int
) -> list[Span]:
    """Return runs of at least `least` matching lines; the spans exclude the final newline."""
    spans: list[Span] = []
    position = start = count = 0
    for line in [*text.split("\n"), ""]:
        if is_match(line):
            start = position if count == 0 else start
            count += 1
        else:
            if count >= least:
                spans.append(Span(kind=kind, start=start, end=position - 1))
            count = 0
        position += len(line) + 1
    return spans
