"""Generates strings that make a badly written regular expression slow, from its parse tree."""

import importlib
import random
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

# The parser of `re` is not public, but nothing else says what a pattern accepts; it has this shape since Python 3.11.
codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

Pump = tuple[str, str]
"""A beginning, and what is repeated after it."""

GENERIC: Sequence[Pump] = tuple(
    ("", body)
    for body in (
        *"aA1_-.+*=#/|>~ \t\n[(<\"'`$\\:,@!?",
        "a ", "A ", "Aa ", "a.", "A.", "1.", "1 ", "1,", "[1]", "[1", "[a](", "<a", "<!--", "- ", "* ", "| ", "|a", " \n",
        "\n\n", "a\n", "a,\n", "\\[ ", "\\( ", "$$ ", "\\begin{align} ", "``", "**", "__", "a@", "a@a.", "a-", "a'", '"a', '\\"',
        "://", "http://", "and ", "reply ", "you are now ", "ignore all ", "of ", "Aa Bb ", "1 111", "\u00a0111", "-\n", "=\n", "x. ",
    )
)  # fmt: skip
SUFFIXES = ("\x00", "!\n")
_SIGNS = "aZ1_ \n.-,;:\"'()[]{}|*#>`~$\\/@<+=%!?&\u00e9\u00a0“"
_CATEGORIES: dict[object, str] = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS: tuple[object, ...] = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_MANY = 4


def pumps(pattern: "re.Pattern[str] | re.Pattern[bytes]", most: int) -> list[Pump]:
    """Return up to `most` pumps of a pattern: each repeated part, after a prefix that it needs, and both repeated."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    same = zlib.crc32(source.encode("utf-8", "surrogatepass"))
    seed = random.Random(same)
    tree: Iterable[Any] = parser.parse(source, pattern.flags)
    found: dict[Pump, None] = {}
    for _ in range(3):
        for before, body in _repeated(tree, "", seed):
            for start, repeated in ((before, body), ("", before + body), ("", before), ("", body)):
                if repeated:
                    found[start, _shortest(repeated)] = None
        found["", _shortest(_sample(tree, seed) or " ")] = None
    return list(found)[:most]


def _shortest(body: str) -> str:
    """Return the shortest text of which this one is a repetition: `ab` for `abab`."""
    return body[: (body + body).index(body, 1)]


def text(pump: Pump, size: int, suffix: str) -> str:
    """Return the pump at about this many characters, with an ending that should make the match fail."""
    before, body = pump
    return before + body * (size // len(body)) + suffix


def _repeated(tree: Iterable[Any], before: str, seed: random.Random) -> Iterator[Pump]:
    """Yield for each repetition in the tree what comes before it and something that it repeats."""
    for code, value in tree:
        for inner in _inside(code, value):
            yield from _repeated(inner, before, seed)
        if code in _REPEATS and (value[1] is codes.MAXREPEAT or value[1] > _MANY):
            bodies = [_sample(value[2], seed) for _ in range(_MANY)]
            for one, other in product(bodies[:2], bodies[2:]):
                yield before, one
                yield before, one + other
        before += _sample([(code, value)], seed)


def _inside(code: object, value: Any) -> Sequence[Any]:
    if code in _REPEATS:
        return (value[2],)
    if code is codes.SUBPATTERN:
        return (value[3],)
    if code is codes.ATOMIC_GROUP:
        return (value,)
    if code is codes.BRANCH:
        return value[1]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return (value[1],)
    return ()


def _sample(tree: Iterable[Any], seed: random.Random) -> str:
    """Return a short text that the tree matches; lookarounds are ignored."""
    made = ""
    for code, value in tree:
        if code is codes.LITERAL:
            made += chr(value)
        elif code is codes.NOT_LITERAL:
            made += "b" if value == ord("a") else "a"
        elif code is codes.ANY:
            made += seed.choice("a .1")
        elif code is codes.IN:
            made += seed.choice(_accepted(tuple(value)))
        elif code in _REPEATS:
            least = value[0] or seed.choice((0, 1))
            made += "".join(_sample(value[2], seed) for _ in range(min(least, 5)))
        elif code in (codes.SUBPATTERN, codes.ATOMIC_GROUP, codes.BRANCH):
            made += _sample(seed.choice(list(_inside(code, value))), seed)
    return made


@cache
def _accepted(items: tuple[Any, ...]) -> Sequence[str]:
    """Return some characters of a set."""
    named: list[str] = []
    for code, value in items:
        if code is codes.LITERAL:
            named.append(chr(value))
        elif code is codes.RANGE:
            named += [chr(value[0]), chr(value[1])]
    accepted = [sign for sign in dict.fromkeys((*_SIGNS, *named)) if _holds(items, sign)]
    return accepted or ["a"]


def _holds(items: Sequence[Any], sign: str) -> bool:
    held = any(
        (code is codes.LITERAL and chr(value) == sign)
        or (code is codes.RANGE and value[0] <= ord(sign) <= value[1])
        or (code is codes.CATEGORY and re.match(_CATEGORIES[value], sign) is not None)
        for code, value in items
    )
    return held is not (items[0][0] is codes.NEGATE)
