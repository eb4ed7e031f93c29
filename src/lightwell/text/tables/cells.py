"""Figures and days in the cells of a column, each read once: `1,234.50`, `1.234,50`, `€58`, `12 %`, `(300)`, `3 May 2026`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from lightwell.text.dates import find_date_places, mask_dates
from lightwell.text.figures import SCALES, UNIT_NAMES
from lightwell.text.regex import regex

DAY = "date"
"""The unit of a day, whose figure is `20261127`."""

_AMOUNT = regex(
    r"(?P<open>\()?(?P<minus>[-−–])?\s?(?P<before>[€$£¥]|[A-Z]{3}(?=[\s\d]))?\s?(?P<sign>[-−])?"
    r"(?P<digits>\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,6})?|\d[\d.,]{0,24})"
    r"\s?(?P<scale>k|K|m|M|mn|bn|[Mm]io|[Mm]illionen|[Mm]illions?|[Mm]rd|thousand|billions?)?(?![^\W\d_])\.?"
    r"\s?(?P<after>[€$£¥%]|[^\W\d_]{1,12})?(?P<close>\))?"
)
_SPACES = regex(r"[ \u00a0\u202f'’]")
_GROUPS = regex(r"\d{1,3}(?:[.,]\d{3})+")
_LONGEST = 40
_SCALED = {
    "k": 1000, "m": 10**6, "mn": 10**6, "mio": 10**6, "bn": 10**9, "mrd": 10**9, "thousand": 1000,
}  # fmt: skip
_MONEY = frozenset(UNIT_NAMES[name] for name in ("€", "$", "£", "chf"))
_OTHER_MONEY = {"¥": "jpy"}
_CODES = frozenset(
    "jpy cny inr sek nok dkk pln czk huf cad aud nzd brl mxn zar try krw sgd".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A figure with its unit, "" where the cell and its column name none."""

    value: Decimal
    unit: str


def read_column(header: str, cells: Sequence[str]) -> list[Amount | None]:
    """Return what each cell of a column says; None for a cell that is no amount and no day.

    Whether a comma separates thousands or decimals is told by the cells of the column that leave no doubt, else by English custom.
    """
    unit = header_unit(header)
    commas = {sign for sign in map(_decimal_sign, cells) if sign}
    decimal = commas.pop() if len(commas) == 1 else "." if not commas else ""
    return [read_cell(cell, decimal=decimal, unit=unit) for cell in cells]


def header_unit(header: str) -> str:
    """Return the unit that the name of a column states: `Amount (EUR)`, `Preis in €`; "" for none."""
    bare = header.strip()
    if bare.endswith((")", "]")):
        inside = bare[:-1].replace("[", "(").rpartition("(")[2].strip()
        return unit_of(inside.removeprefix("in "))
    before, _, last = bare.rpartition(" ")
    return unit_of(last) if before.endswith(" in") else ""


def unit_of(word: str) -> str:
    """Return the unit that a word or a sign names, "" where it names none that is known."""
    folded = word.casefold()
    unit = UNIT_NAMES.get(folded) or _OTHER_MONEY.get(folded)
    return unit or (folded if folded in _CODES else "")


def read_cell(
    cell: str, *, decimal: str = ".", unit: str = "", is_scaled: bool = False
) -> Amount | None:
    """Return the day or the amount that a cell is; `decimal` is the sign before its decimals where that is in doubt, "" where nothing tells.

    An amount of money may be in thousands or millions: `€1.2m`; others where `is_scaled`, as a question writes them.
    """
    bare = cell.strip()
    if not bare or len(bare) > _LONGEST:
        return None
    if day := read_day(bare):
        return Amount(value=Decimal(day.year * 10_000 + day.month * 100 + day.day), unit=DAY)
    match = _AMOUNT.fullmatch(bare)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    stated = unit_of(match["before"] or "") or unit_of(match["after"] or "")
    if (match["before"] or match["after"]) and not stated:
        stated = (match["after"] or "").casefold()
        if match["before"] or len(stated) < 2:  # a code that is no currency, as in `ABC 123`
            return None
    value = _value(match["digits"], decimal)
    scale = match["scale"]
    if value is None or (scale and not is_scaled and (stated or unit) not in _MONEY | _CODES):
        return None
    if scale:
        value *= _SCALED.get(scale.casefold()) or SCALES.get(scale.casefold(), 1)
    negative = bool(match["minus"] or match["sign"] or match["open"])
    return Amount(value=-value if negative else value, unit=stated or unit)


def read_day(text: str) -> date | None:
    """Return the day that a whole text is; None for another text, and for a month or a day without its year."""
    places = list(find_date_places(text))
    if len(places) != 1 or mask_dates(text).strip("| ") not in ("", "00:00"):
        return None
    (_, partial) = places[0]
    try:
        return date(partial.year, partial.month, partial.day)
    except ValueError:
        return None


def _decimal_sign(cell: str) -> str:
    """Return the sign before the decimals of an amount that leaves no doubt, "" for others."""
    match = _AMOUNT.fullmatch(cell.strip()) if len(cell) <= _LONGEST else None
    digits = match["digits"] if match else ""
    signs = [sign for sign in digits if sign in ".,"]
    if not signs:
        return ""
    if len(set(signs)) > 1:
        return signs[-1]
    if len(signs) > 1:
        return "," if signs[0] == "." else "."
    before, _, after = digits.partition(signs[0])
    return "" if len(after) == 3 and before != "0" and len(before) <= 3 else signs[0]


def _value(digits: str, decimal: str) -> Decimal | None:
    """Return the value of digits with signs between them; None where they are no number, or may be two."""
    bare = _SPACES.sub("", digits)
    if len(bare) > 1 and bare[0] == "0" and bare[1].isdigit():
        return None  # an identifier
    signs = {sign for sign in bare if sign in ".,"}
    if len(signs) > 1:
        last = max(signs, key=bare.rindex)
        whole, _, rest = bare.rpartition(last)
        other = "." if last == "," else ","
        if last in whole or not _GROUPS.fullmatch(whole.replace(last, "")) or not rest.isdigit():
            return None
        return Decimal(f"{whole.replace(other, '')}.{rest}")
    if not signs:
        return Decimal(bare)
    (sign,) = signs
    if bare.count(sign) > 1:
        return Decimal(bare.replace(sign, "")) if _GROUPS.fullmatch(bare) else None
    whole, _, rest = bare.partition(sign)
    if not rest.isdigit():
        return None
    if len(rest) == 3 and whole != "0" and len(whole) <= 3:
        if not decimal:
            return None
        return Decimal(f"{whole}.{rest}") if sign == decimal else Decimal(whole + rest)
    return Decimal(f"{whole}.{rest}")
