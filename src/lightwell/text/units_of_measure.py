"""Units of measure: which words name them, and how one converts to another."""

from decimal import Decimal

from lightwell.text.terms import terms

UNIT_NAMES = {
    name: unit
    for unit, names in {
        "percent": "% percent prozent pour",
        "eur": "€ eur euro euros",
        "usd": "$ usd dollar dollars",
        "gbp": "£ gbp pound pounds",
        "chf": "chf franken francs",
        "cent": "cent cents pence rappen centimes",
        "second": "second seconds sec secs sekunde sekunden seconde secondes",
        "minute": "minute minutes minuten min mins",
        "hour": "hour hours hrs stunde stunden heure heures",
        "day": "day days tag tage tagen jour jours",
        "week": "week weeks woche wochen semaine semaines",
        "month": "month months monat monate monaten mois",
        "year": "year years yrs jahr jahre jahren an ans année années",
        "byte": "byte bytes octet octets",
        "kilobyte": "kb kilobyte kilobytes",
        "megabyte": "mb megabyte megabytes",
        "gigabyte": "gb gigabyte gigabytes",
        "terabyte": "tb terabyte terabytes",
        "millimetre": "mm millimetre millimetres millimeter millimeters",
        "centimetre": "cm centimetre centimetres centimeter centimeters",
        "metre": "metre metres meter meters metern mètre mètres",
        "kilometre": "km kilometre kilometres kilometer kilometers kilometern kilomètre kilomètres",
        "gram": "gram grams gramm gramme grammes",
        "kilogram": "kg kilogram kilograms kilogramm kilogramme kilogrammes kilo kilos",
        "tonne": "tonne tonnes tonnen",
        "millilitre": "ml millilitre millilitres milliliter milliliters",
        "litre": "litre litres liter liters litern",
        "watt": "watt watts",
        "kilowatt": "kw kilowatt kilowatts",
        "megawatt": "mw megawatt megawatts",
        "kilowatt hour": "kwh",
        "megawatt hour": "mwh",
        "gigawatt hour": "gwh",
    }.items()
    for name in names.split()
}
"""The unit that each word or sign names."""

ABBREVIATIONS = {"h": "hour", "s": "second", "m": "metre", "g": "gram", "t": "tonne", "l": "litre"}
"""Letters that name a unit only directly after a number."""

CURRENCIES = frozenset({"eur", "usd", "gbp", "chf"})
_KINDS = {
    "time": {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800},
    "calendar": {"month": 1, "year": 12},
    "data": {"byte": 1, "kilobyte": 10**3, "megabyte": 10**6, "gigabyte": 10**9, "terabyte": 10**12},
    "length": {"millimetre": 1, "centimetre": 10, "metre": 1000, "kilometre": 10**6},
    "mass": {"gram": 1, "kilogram": 1000, "tonne": 10**6},
    "volume": {"millilitre": 1, "litre": 1000},
    "power": {"watt": 1, "kilowatt": 1000, "megawatt": 10**6},
    "energy": {"kilowatt hour": 1, "megawatt hour": 1000, "gigawatt hour": 10**6},
    "money": {"cent": 1, **dict.fromkeys(CURRENCIES, 100)},
}  # fmt: skip
_CONVERSIONS = {
    unit: (kind, Decimal(factor))
    for kind, units in _KINDS.items()
    for unit, factor in units.items()
}


def are_equal_quantities(value: str, unit: str, other_value: str, other_unit: str) -> bool:
    """Return whether two amounts in different units are the same: 36 months are three years, 80 cents are 0.80 dollars."""
    conversion, other = _CONVERSIONS.get(unit), _CONVERSIONS.get(other_unit)
    if (
        conversion is None
        or other is None
        or conversion[0] != other[0]
        or {unit, other_unit} <= CURRENCIES
    ):
        return False
    try:
        return Decimal(value) * conversion[1] == Decimal(other_value) * other[1]
    except ArithmeticError:
        return False


def possible_units(word: str) -> frozenset[str]:
    """Return the units that a figure before this word may have; none for a stop word."""
    return frozenset({UNIT_NAMES.get(word.casefold()) or next(iter(terms(word)), "")} - {""})
