"""No regular expression of ours takes longer than in proportion to its text: documents and questions are written by others."""

import ast
import dataclasses
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

import lightwell
from lightwell.text.regex import LatePattern
from tests.growth import Timed
from tests.pumps import GENERIC, Pump, pumps

pytestmark = pytest.mark.slow

SOURCE = Path(lightwell.__file__).parent
MAX_PUMPS = 40
WALKS = frozenset(("finditer", "findall", "sub", "subn", "split"))
ONCE = frozenset(("match", "fullmatch", "search"))
CALL = re.compile(rf"(?<![\w.])([^\W\d]\w*)\s*\.\s*({'|'.join(sorted(WALKS | ONCE))})\b")
"""A use of a method. Syntax trees of the whole package would take each worker three seconds when it collects."""
MADE_AT_RUN_TIME = {
    "answer.brief.cues._definition_score_for": "an entity's name between words of the text; in `test_long_texts.py`",
    "answer.brief.related.is_proper": "one word of a text; in `test_long_texts.py`",
    "connectors._file_settings._pieces": "signs of a glob, one by one; `test_files.py` tests it",
    "connectors._path_patterns._join": "stretches of fixed length with runs between them that are not retried; `test_files.py` tests it",
    "ingest.parse.pdf._headings": "the title of a bookmark, white space between its words: nothing overlaps",
    "ingest.parse._languages._language": "words that declare, as they are written there",
    "ingest.parse._text._long_run_of_marks": "combining marks, a fixed number of them: nothing overlaps",
    "ingest.extract.reply_parser._occurrences": "an entity's name, literally: nothing is repeated",
}
"""Functions that make a pattern out of words, all escaped, and why they may."""

KNOWN_SLOW = (
    (r"[\w.+-]*\w@(?:[\w-]+\.)+[^\W\d_]{2,}", "finditer"),
    (r"\w*[\dA-Z]\w*", "finditer"),
    (r"\b(?=[^\W\d_][^\s\d]*\d)[^\W\d_]\w*(?:[-./:]\w+)*", "finditer"),
    (r"(?:^|[.!?:;|\n(*•>#]|[-–—] )[\s*_]*$", "search"),
    (r"(?:\[\d+\])+$", "finditer"),
    (r"\s*\n\s*\|?[\s:|-]*-{2,}[\s:|-]*(?:\n|$)", "match"),
    (r"(?:a+)+b", "match"),
    (r"«([^»]+)»", "finditer"),
)
"""Patterns that once stood in the package, and a classic."""

AnyPattern = re.Pattern[str] | re.Pattern[bytes]


def module_names() -> list[str]:
    """Return the name of each module of the package, and import none: each worker collects these tests.

    Those for frameworks that are not installed here are left out; they have no pattern.
    """
    inside = (path for path in sorted(SOURCE.rglob("*.py")) if path.name != "__main__.py")
    names = (f"lightwell.{_module_of(path)}" for path in inside if path != SOURCE / "__init__.py")
    return [name for name in names if not name.startswith("lightwell.integrations.")]


@cache
def patterns() -> Mapping[str, Mapping[str, AnyPattern]]:
    """Return by module every compiled pattern that it holds, by where it stands, also in containers and dataclasses.

    A pattern that several modules hold is returned once.
    """
    found: dict[str, dict[str, AnyPattern]] = {}
    seen: set[tuple[str | bytes, int]] = set()
    for module in module_names():
        for name, value in vars(importlib.import_module(module)).items():
            for place, pattern in _held(value, f"{module}.{name}", 4):
                if (pattern.pattern, pattern.flags) not in seen:
                    seen.add((pattern.pattern, pattern.flags))
                    found.setdefault(module, {})[place] = pattern
    return found


def _held(value: object, place: str, depth: int) -> Iterator[tuple[str, AnyPattern]]:
    if isinstance(value, LatePattern):
        value = value.compiled
    if isinstance(value, re.Pattern):
        yield place, value
        return
    inner: Iterable[tuple[object, object]] = ()
    if depth and isinstance(value, Mapping):
        pairs = list(cast("Mapping[object, object]", value).items())
        inner = [*pairs, *((f"key {key!r}", key) for key, _ in pairs)]
    elif depth and isinstance(value, tuple | list | set | frozenset):
        inner = enumerate(cast("Iterable[object]", value))
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        inner = [(each.name, getattr(value, each.name, None)) for each in fields]
    for key, each in inner:
        if not isinstance(each, str | int | float):  # vocabularies are long
            yield from _held(each, f"{place}[{key!r}]", depth - 1)


@cache
def methods_called() -> dict[tuple[str, str], set[str]]:
    """Return by module and name which methods of a pattern the module calls on something of that name."""
    found: dict[tuple[str, str], set[str]] = {}
    for module, text in _sources():
        for name, method in CALL.findall(text):
            found.setdefault((f"lightwell.{module}", name), set()).add(method)
    return found


def _sources() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield _module_of(path), path.read_text("utf-8")


def _module_of(path: Path) -> str:
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    return name.removesuffix(".__init__")


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for module, text in _sources():
        yield module, ast.parse(text)


def uses(module: str) -> list[tuple[str, AnyPattern, str]]:
    """Return each pattern of a module with each way in which it is used; where that cannot be seen, walking and matching."""
    known = methods_called()
    found: list[tuple[str, AnyPattern, str]] = []
    for place, pattern in patterns().get(module, {}).items():
        holder, _, name = place.rpartition(".")
        methods = known.get((holder, name), {"finditer", "match"})
        kept = (methods & ONCE) | ({"finditer"} if methods & WALKS else set[str]())
        found += [(place, pattern, method) for method in sorted(kept)]
    return found


def used(name: str, pattern: AnyPattern, method: str) -> Timed:
    call: Callable[[Any], Any] = getattr(pattern, method)

    def run(text: str) -> None:
        given = text.encode() if isinstance(pattern.pattern, bytes) else text
        if method == "finditer":
            for _ in call(given):
                pass
        else:
            call(given)

    return Timed(f"{name}.{method}", run)


@pytest.mark.parametrize("module", module_names())
def test_no_pattern_grows_faster_than_its_text(module: str) -> None:
    slow: list[tuple[str, Pump]] = []
    for place, pattern, method in uses(module):
        timed = used(place, pattern, method)
        given = dict.fromkeys((*pumps(pattern, MAX_PUMPS), *GENERIC))
        slow += [(timed.name, pump) for pump in given if timed.slow_at(pump)]
    assert slow == []


@pytest.mark.parametrize(("source", "method"), KNOWN_SLOW)
def test_a_slow_pattern_is_found(source: str, method: str) -> None:
    pattern = re.compile(source)
    timed = used("known", pattern, method)
    given = dict.fromkeys((*pumps(pattern, MAX_PUMPS), *GENERIC))
    assert any(timed.slow_at(pump) for pump in given)


def test_every_module_level_pattern_is_looked_at() -> None:
    """The walk over modules finds as many different patterns as the code compiles outside of functions, at least."""
    compiled = sum(
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("re.compile", "regex")
        for _, tree in _modules()
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(statement)
    )
    assert sum(map(len, patterns().values())) >= 0.9 * compiled > 100


def test_patterns_are_compiled_when_they_are_first_used() -> None:
    """An import compiles none, so that a command pays for those that it uses. Those of bytes are few."""
    at_import: set[str] = set()
    for module, tree in _modules():
        functions = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
        }
        at_import |= {
            f"{module}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
            if id(node) not in functions and not ast.unparse(node.args[0]).startswith("b'")
        }
    assert at_import == set()


def test_no_pattern_hides_in_a_function() -> None:
    """What `re` is called with inside a function is made of words at run time, and then it is listed above."""
    hidden: set[str] = set()
    for module, tree in _modules():
        if module.startswith("testing") or module == "text.regex":
            continue
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and _is_of_re(node.func):
                        hidden.add(f"{module}.{function.name}")
    assert hidden == set(MADE_AT_RUN_TIME)


def _is_of_re(called: ast.expr) -> bool:
    return (isinstance(called, ast.Name) and called.id == "regex") or (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "re"
        and called.attr in WALKS | ONCE | {"compile", "template"}
    )
