"""The first date in a sentence."""

from datetime import UTC, datetime

from lightwell.text import facts


def find_first_date(text: str) -> datetime | None:
    """Return the first day or month with a year that the text names, its beginning in UTC; None for none."""
    for day in facts.find_dates(text):
        try:
            return datetime(day.year, day.month, day.day or 1, tzinfo=UTC)
        except ValueError:
            continue
    return None
