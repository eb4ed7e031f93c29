"""Writes the figures of spreadsheets with the signs of their formats: shares in percent, amounts with their currency."""

from dataclasses import dataclass
from decimal import Decimal

from lightwell.text.regex import regex

_QUOTED = regex(r'"([^"]*)"')
_CURRENCY = regex(r"\[\$([^\[\]-]*+)(?:-[^\[\]]*+)?+\]")
_ESCAPED = regex(r"\\(.)|_.|\*.|\[[^\[\]]*+\]")
_DIGITS = regex(r"[0#?][0#?,]*(?:\.([0#?]*))?")
_SIGNS = "€$£¥₹"
_CODES = frozenset("EUR USD GBP CHF JPY CNY INR SEK NOK DKK PLN CZK CAD AUD".split())
_BUILT_IN_MONEY = {5: 0, 6: 0, 7: 2, 8: 2, 42: 0, 44: 2}
_BUILT_IN_PERCENT = {9: 0, 10: 2}
_MOST_DIGITS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a figure is written: with so many decimals at least, in groups of three digits or not, with signs at its sides."""

    decimals: int = 0
    is_grouped: bool = False
    is_percent: bool = False
    before: str = ""
    after: str = ""


def read_style(number: int, code: str) -> Style | None:
    """Return the style of a number format by its number and, where it is no built-in one, its code; None for one that adds no sign."""
    if number in _BUILT_IN_PERCENT:
        return Style(decimals=_BUILT_IN_PERCENT[number], is_percent=True)
    if number in _BUILT_IN_MONEY and not code:
        return Style(decimals=_BUILT_IN_MONEY[number], is_grouped=True, before="$")
    positive = code.split(";", 1)[0]
    text = _ESCAPED.sub(r"\1", _CURRENCY.sub(r'"\1"', positive))
    bare = _QUOTED.sub(r"\1", text)
    digits = _DIGITS.search(_QUOTED.sub(lambda match: " " * len(match[0]), text))
    if digits is None or len(code) > 255:
        return None
    shape = _DIGITS.search(bare)
    if shape is None:
        return None
    before, after = bare[: shape.start()], bare[shape.end() :]
    sign = _money(before) or _money(after)
    if "%" not in bare and not sign:
        return None
    return Style(
        decimals=len(shape[1] or ""),
        is_grouped="," in shape[0],
        is_percent="%" in bare,
        before=sign if sign and _money(before) else "",
        after=f" {sign}" if sign and not _money(before) else "",
    )


def _money(text: str) -> str:
    """Return the sign or the code of a currency in a text, "" for none."""
    sign = next((sign for sign in text if sign in _SIGNS), "")
    return sign or next((word for word in text.upper().split() if word in _CODES), "")


def show_number(value: float, style: Style | None) -> str:
    """Return a figure with all its digits, so that what is added up is what is shown; 15 of them at most, as spreadsheets have."""
    exact = Decimal(f"{value:.{_MOST_DIGITS}g}") if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        return ""
    if style is None:
        return _plain(exact)
    shown = exact * 100 if style.is_percent else exact
    digits = max(style.decimals, -int(shown.normalize().as_tuple().exponent))
    if abs(shown.adjusted()) > 2 * _MOST_DIGITS:
        return _plain(exact)
    figure = f"{abs(shown):{',' if style.is_grouped else ''}.{digits}f}"
    space = " " if style.before.isalpha() else ""
    minus = "-" if shown < 0 else ""
    return f"{minus}{style.before}{space}{figure}{'%' if style.is_percent else ''}{style.after}"


def _plain(exact: Decimal) -> str:
    short = exact.normalize()
    return f"{short:f}" if abs(short.adjusted()) <= 2 * _MOST_DIGITS else str(short)
